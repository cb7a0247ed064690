"""Markdown that streams: the same lines however it is cut, nothing lost, nothing obeyed, and never too wide."""

import re
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from neuralclaw.channels.markdown.stream import StreamedMarkdown
from tests.growth import assert_linear

pytestmark = pytest.mark.full

SGR = re.compile(r"\x1b\[[0-9;]*m")
SAMPLE = """\
# Heading *one*

A **bold** word, `code`, ~~gone~~, [a link](https://example.com/a_b "T") and 日本語のとても長いテキスト。
Second line &amp; more\\* text.

1. first
   - nested **x**
   - [x] done
2. second

   ```python
   def f():
       '''doc
       more'''
       return 1
   ```

> quote
> - list
lazy

| A | B |
|---|--:|
| one | 1 |
| two `x` | 22 |

Under
=====
---
    indented

    code

<b>html</b> ![i](u.png) 👩‍👩‍👧 ❤️ e\u0301
"""
FRAGMENTS = [
    *"#>-*_`~|[]()!<&\\:= \n\n\n\t1.x\r",
    *("- ", "  ", "    ", "**", "```", "```py\n", "\n\n", "| a | b |\n", "|---|---|\n", "word ", "日本", "👩‍👧", "❤️", "é", "[t](u)", "http://x.y/z_a"),
    *("\x1b[31m", "\x07", "\u202e", "\u2028", "&#27;", "&lt;", "---\n", "1. ", "> ", "/* c\n", "</a>", "\ud83d"),
]
TEXTS = st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join), st.text(max_size=200), st.just(SAMPLE))
SOME = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def shown(text: str, width: int = 60, *, colour: bool = False) -> str:
    """What all of a text gives when it comes at once."""
    markdown = StreamedMarkdown(lambda: width, colour=colour)
    return markdown.feed(text) + markdown.close()


def letters(text: str) -> str:
    return "".join(c for c in text if c.isalnum())


@SOME
@given(TEXTS, st.data())
def test_the_lines_are_the_same_however_the_text_is_cut(text: str, data: st.DataObject) -> None:
    width = data.draw(st.integers(4, 90))
    step = data.draw(st.integers(1, 7))
    markdown = StreamedMarkdown(lambda: width)
    out = ""
    for at in range(0, len(text), step):
        out += markdown.feed(text[at : at + step])
        markdown.tail(5)
    assert out + markdown.close() == shown(text, width, colour=True)


@pytest.mark.parametrize("around", ["", "```\n", "- ", "> ", "# ", "|a|b|\n|-|-|\n|"])
@pytest.mark.parametrize("unit", ["word ", "x", "**b** `c` ", "日本、", "*a "])
def test_a_line_longer_than_any_buffer_is_the_same_however_it_is_cut(around: str, unit: str) -> None:
    text = around + unit * (5_000 // len(unit)) + "\nnext"
    for step in (1, 255, 1_024, 1_025):
        markdown = StreamedMarkdown(lambda: 50)
        out = ""
        for at in range(0, len(text), step):
            out += markdown.feed(text[at : at + step])
            if at % 7 == 0:
                markdown.tail(3)
        assert out + markdown.close() == shown(text, 50, colour=True)
    assert letters(shown(text, 50)) == letters(text)


@pytest.mark.parametrize("length", [255, 256, 257, 1_023, 1_024, 1_025, 1_280, 1_281, 4_096, 4_097])
@pytest.mark.parametrize("begin", ["```py\n", "|a|b|\n|-|-|\n|x|", "# "])
def test_a_line_as_long_as_a_buffer_is_the_same_however_it_is_cut(begin: str, length: int) -> None:
    for text in (begin + "1" * length + "\n|2|", begin + "1" * (length - len(begin.rpartition("\n")[2])) + "\n|2|"):
        markdown = StreamedMarkdown(lambda: 50)
        assert "".join(markdown.feed(c) for c in text) + markdown.close() == shown(text, 50, colour=True)


def test_a_return_is_the_same_wherever_the_text_is_cut_around_it() -> None:
    for text in ("a\r\nb", "a\rb", "a\r", "a\r\r\n\rb"):
        markdown = StreamedMarkdown(lambda: 50, colour=False)
        assert "".join(markdown.feed(c) for c in text) + markdown.close() == shown(text, 50)
    assert shown("a\rb\r\nc\r") == "a\\x0db\nc\\x0d\n"


@SOME
@given(TEXTS, st.integers(2, 100), st.booleans())
def test_no_line_is_wider_than_the_screen(text: str, width: int, colour: bool) -> None:
    for line in SGR.sub("", shown(text, width, colour=colour)).split("\n"):
        assert cell_len(line) <= width


@SOME
@given(TEXTS, st.integers(2, 100), st.integers(0, 30))
def test_nothing_that_a_terminal_would_obey_gets_out(text: str, width: int, lines: int) -> None:
    markdown = StreamedMarkdown(lambda: width)
    out = markdown.feed(text)
    tail = markdown.tail(lines)
    out += markdown.close()
    for part in (out, tail):
        bare = SGR.sub("", part)
        assert not [c for c in bare if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c != "\n"]
        part.encode()
    assert len(tail.split("\n")) <= max(lines, 1)
    assert "\x1b" not in shown(text, width)


@SOME
@given(TEXTS)
def test_every_style_ends_on_its_own_line(text: str) -> None:
    for line in shown(text, 40, colour=True).split("\n"):
        found = SGR.findall(line)
        assert len(found) % 2 == 0
        assert all(code == "\x1b[0m" for code in found[1::2])


@SOME
@given(TEXTS, st.integers(1, 9))
def test_the_tail_is_what_would_be_handed_out_next(text: str, step: int) -> None:
    text = re.sub(r"[`*~]", "", text)  # marks that are still open show as closed
    markdown = StreamedMarkdown(lambda: 60)
    for at in range(0, len(text), step):
        markdown.feed(text[at : at + step])
    tail = markdown.tail(10_000)
    end = markdown.close().removesuffix("\n")
    if text.endswith("\n"):
        assert tail == end


@SOME
@given(st.lists(st.text(alphabet="abcxyz019 *_`#>-|~[]()\n", max_size=30), max_size=20).map("".join), st.integers(20, 90))
def test_no_letter_is_lost(text: str, width: int) -> None:
    text = re.sub(r"(`{3,}|~{3,}).*", "", text)  # the name of a language is not shown
    text = re.sub(r"^[ >]*\[[xX ]\]", "", re.sub(r"[-*] +\[[xX ]\]", "-", text), flags=re.MULTILINE)
    text = re.sub(r"\.? \[x\]", "", text)
    listed = "|" in text  # a narrow table repeats its header
    was, now = letters(text), letters(shown(text, width))
    assert sorted(set(was)) == sorted(set(now)) if listed else was == now


def test_each_kind_of_block_has_its_look() -> None:
    assert shown(SAMPLE, 40).split("\n") == [
        "Heading one",
        "",
        "A bold word, `code`, gone, a link",
        '(https://example.com/a_b "T") and 日本語',
        "のとても長いテキスト。",
        "Second line & more* text.",
        "",
        "1. first",
        "   ◦ nested x",
        "   ☑ done",
        "2. second",
        "",
        "     def f():",
        "         '''doc",
        "         more'''",
        "         return 1",
        "",
        "│ quote",
        "│ • list",
        "│   lazy",
        "",
        "A         B",
        "───────────",
        "one       1",
        "two `x`  22",
        "",
        "Under",
        "─" * 40,
        "  indented",
        "",
        "  code",
        "",
        "<b>html</b> i (u.png) 👩‍👩‍👧 ❤️ e\u0301",
        "",
    ]


def test_a_line_break_within_a_paragraph_stays_one() -> None:
    assert shown("Milk, **2\n  litres**  \nbread<br>\neggs") == "Milk, 2\nlitres\nbread\neggs\n"
    assert shown("- a\n  b\n> c\n> d") == "• a\n  b\n│ c\n│ d\n"
    verse = "".join(f"line {i}\n" for i in range(1_000))
    assert shown(verse) == verse


def test_a_table_begins_right_below_a_line_of_text() -> None:
    markdown = StreamedMarkdown(lambda: 40, colour=False)
    text = "Prices:\n**all** of them\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert "".join(markdown.feed(c) for c in text) + markdown.close() == "Prices:\nall of them\na  b\n────\n1  2\n"
    assert shown("word\n" * 500 + "| a | b |\n|---|---|\n| 1 | 2 |\n").endswith("word\na  b\n────\n1  2\n")


def test_colours_say_what_the_marks_said() -> None:
    assert shown("# H\n**b** *i* `c` ~~s~~ ***x***", colour=True) == (
        "\x1b[1;4mH\x1b[0m\n\x1b[1mb\x1b[0m \x1b[3mi\x1b[0m \x1b[36mc\x1b[0m \x1b[9ms\x1b[0m \x1b[1;3mx\x1b[0m\n"
    )


def test_code_is_coloured_also_where_a_string_or_comment_goes_over_lines() -> None:
    python = shown('```python\nx = """a\nb"""\nreturn\n```', colour=True)
    assert '\x1b[32mb"""\x1b[0m' in python
    assert "\x1b[35mreturn\x1b[0m" in python
    script = shown("```js\n/* a\nreturn */ let y\n```", colour=True)
    assert "\x1b[2mreturn */\x1b[0m" in script
    assert "\x1b[35mlet\x1b[0m" in script


@pytest.mark.parametrize(
    "name", ["python", "js", "html", "yaml", "json", "bash", "c", "diff", "markdown", "php", "erb", "console", "sml", "mcschema", "no-such", "PY{.x}"]
)
def test_code_in_any_language_keeps_its_text(name: str) -> None:
    code = "a = {'x': [1, 2.5]} # c\n\n<a href='b'>&amp; $x `y` ${z}</a>\n/* open\n-- x */\n\t@d def f(): pass \\\n<?php echo 1 ?>\n"
    assert shown(f"```{name}\n{code}```", 200) == "".join(f"  {line}".rstrip() + "\n" for line in code.expandtabs(4).split("\n")[:-1])


def test_escape_sequences_of_a_model_are_shown() -> None:
    assert shown("a\x1b[2Jb &#27;[2J \x07\r\nc\rd\u202e") == "a\\x1b[2Jb &#27;[2J \\x07\nc\\x0dd\\u202e\n"
    assert shown("```\n\x1b]8;;x\x07\n```") == "  \\x1b]8;;x\\x07\n"


def test_what_only_rich_would_understand_stays_as_written() -> None:
    assert shown("[red]x[/red] :smile: [link=http://a]b[/link]") == "[red]x[/red] :smile: [link=http://a]b[/link]\n"


def test_an_address_stands_beside_the_words_that_hide_it() -> None:
    assert shown("[https://bank.example](https://evil.example)") == "https://bank.example (https://evil.example)\n"
    assert shown("[https://a.example](https://a.example) <https://b.example>") == "https://a.example https://b.example\n"


def test_a_finished_block_comes_out_while_the_next_one_grows() -> None:
    markdown = StreamedMarkdown(lambda: 40, colour=False)
    assert markdown.feed("one **tw") == ""
    assert markdown.tail(5) == "one tw"
    assert markdown.feed("o**\n\n") == "one two\n"
    assert markdown.tail(5) == ""
    assert markdown.feed("- a\n- b") == "\n"[:0] + ""
    assert markdown.tail(5) == "\n• a\n• b"
    assert markdown.feed("\n- c") == "\n• a\n"
    assert markdown.tail(1) == "• c"
    assert markdown.close() == "• b\n• c\n"


def test_lines_of_code_come_out_one_by_one() -> None:
    markdown = StreamedMarkdown(lambda: 40, colour=False)
    assert markdown.feed("```sh\nls\necho") == "  ls\n"
    assert markdown.tail(5) == "  echo"
    assert markdown.feed(" x\n``") == "  echo x\n"
    assert markdown.tail(5) == ""
    assert markdown.feed("`\nafter") == ""
    assert markdown.close() == "after\n"


def test_a_mark_that_is_not_complete_does_not_flicker() -> None:
    markdown = StreamedMarkdown(lambda: 40)
    markdown.feed("Items:\n")
    before = markdown.tail(5)
    for mark in ("-", "--", "\n"):
        markdown.feed(mark[-1:])
        if mark != "\n":
            assert markdown.tail(5) == before


def test_a_discarded_rest_is_gone_and_the_next_text_starts_afresh() -> None:
    markdown = StreamedMarkdown(lambda: 40, colour=False)
    assert markdown.feed("done\n\n- void **vo") == "done\n"
    markdown.discard()
    assert markdown.tail(5) == ""
    assert markdown.feed("id** text\n\n") == "id** text\n"
    assert markdown.close() == ""


def test_a_resize_changes_only_what_is_not_final() -> None:
    widths = [20]
    markdown = StreamedMarkdown(lambda: widths[-1], colour=False)
    first = markdown.feed("word " * 6 + "\n\n" + "word " * 6)
    assert first == "word word word word\nword word\n"
    assert markdown.tail(9) == "\nword word word word\nword word"
    widths.append(10)
    assert markdown.tail(9) == "\nword word\nword word\nword word"
    assert markdown.close() == "\nword word\nword word\nword word\n"


@SOME
@given(st.lists(st.tuples(TEXTS, st.integers(2, 90)), max_size=8))
def test_any_resize_is_obeyed_at_once(parts: list[tuple[str, int]]) -> None:
    width = 80
    markdown = StreamedMarkdown(lambda: width, colour=False)
    for text, wanted in parts:
        width = wanted
        shown = markdown.feed(text) + markdown.tail(99)
        assert all(cell_len(line) <= width for line in shown.split("\n"))
    width = 30
    assert all(cell_len(line) <= width for line in markdown.close().split("\n"))


@pytest.mark.parametrize("begin", ["", "```\n", "- ", "> 1. "])
def test_a_resize_within_a_long_line_is_obeyed_at_once(begin: str) -> None:
    width = 80
    markdown = StreamedMarkdown(lambda: width, colour=False)
    markdown.feed(begin + "word " * 1_000)
    width = 20
    assert all(cell_len(line) <= width for line in (markdown.feed("x\n\n") + markdown.close()).split("\n"))


def test_a_table_on_a_narrow_screen_is_a_list_of_its_rows() -> None:
    assert shown("| Name | Size | Kind |\n|---|---|---|\n| a.txt | 12 | text |", 12) == "────────\nName: a.txt\nSize: 12\nKind: text\n"


def test_a_long_table_comes_out_before_it_ends() -> None:
    markdown = StreamedMarkdown(lambda: 40, colour=False)
    out = markdown.feed("| n | text |\n|--:|---|\n" + "".join(f"| {i} | row |\n" for i in range(200)))
    assert out.count("\n") == 202
    assert markdown.feed("| 200 | much longer than any before |\n") == "   200  much\n        longer\n        than any\n        before\n"


LONG = {
    "paragraph": ("lorem **ipsum** dolor `sit` amet, consetetur *sadipscing* elitr, " * 2_000)[:100_000],
    "code": "```python\n" + ("    def f(self, x): return self.y[x] + 'abc'  # why\n" * 2_000)[:100_000],
    "open brackets": "```js\n" + "let x = `${a+`${b}` } ${ `${ {{{{ ((( \n" * 2_600,
    "table": "| a | b | c |\n|---|---|---|\n" + "".join(f"| {i} | word **b** | `x` |\n" for i in range(5_000)),
    "list": "".join(f"- item {i} with **bold** text\n" for i in range(10_000)),
    "no space": "x" * 100_000,
    "wide": "日本語のテキスト、" * 11_111,
}


@pytest.mark.parametrize("name", LONG)
def test_the_cost_of_a_block_grows_no_faster_than_its_length(name: str) -> None:
    def show(length: int) -> None:
        text = LONG[name][:length]
        markdown = StreamedMarkdown(lambda: 80)
        for count, at in enumerate(range(0, len(text), 4)):
            markdown.feed(text[at : at + 4])
            if count % 10 == 9:
                markdown.tail(20)
        markdown.close()

    assert_linear(show, 24_000)
