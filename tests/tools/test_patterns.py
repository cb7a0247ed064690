"""Patterns from outside: what they mean, what is refused, and that none of them takes long."""

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralclaw.errors import ToolError
from neuralclaw.tools.patterns import LineSearch, path_matcher
from tests.growth import assert_linear

TEXT = "Grüße an Übung\nüber\nfoo-bar\nbarfoo\n  x = 1\r\nÄpfel 12\n\nend\xa0here\n٣ drei\nnaïve café-bar\na|foo\n"
LINES = [line.rstrip("\r") for line in TEXT.split("\n")]


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bÜb",
        r"\büber\b",
        r"foo\b",
        r"\bfoo\b",
        r"\bbar",
        r"gr\w+e",
        r"(?i)gr\w+e",
        r"^\w+$",
        r"\d",
        r"[\W_]foo",
        r"\s\S+$",
        r"^$",
        r"\Aend",
        r"here\Z",
        r"\u00e4|\u00c4",
        r"\b(Über|foo)",
        r"\b[ÄÖ]\w+",
        r"caf\w\b",
        r"a\|\bfoo",
        r"foo\b|\bÄpfel",
        r"[^\W\d]+ \d",
        r"x\n",
        r"(?s).",
        r"[]x]",
        r"[:x:]\d?\b",
        r"\D{4}\b",
    ],
)
def test_a_pattern_means_what_it_means_in_python_in_every_language(pattern: str) -> None:
    search = LineSearch(pattern)
    assert not search.plain
    assert list(search.hits(TEXT)) == [(number, line) for number, line in enumerate(LINES, 1) if re.search(pattern, line)]


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("(?=a)", "look-ahead: (?="),
        ("a(?!b)", "look-ahead: (?!"),
        ("(?<=a)b", "look-behind: (?<="),
        ("(?<!a)b", "look-behind: (?<!"),
        (r"(a)\1", r"a back reference: \1"),
        (r"(?P<n>a)\k<n>", r"a back reference: \k"),
        ("(?P<n>a)(?P=n)", "a back reference by name: (?P"),
        ("(?>a)", "an atomic group: (?>"),
        ("(?(1)a|b)", "a condition: (?("),
        ("a++", "a possessive repetition: ++"),
        ("a{1001}", "a repetition of more than 1,000: {1001}"),
        (r"a\Cb", r"a single byte: \C"),
        (r"(\w{1,100}x{1,9}){1,9}", "a pattern as large as this"),
    ],
)
def test_what_would_need_more_than_linear_time_is_refused_by_name(pattern: str, named: str) -> None:
    with pytest.raises(ToolError, match="the search does not know") as caught:
        LineSearch(pattern)
    assert named in caught.value.text


@pytest.mark.parametrize(
    ("pattern", "why"), [("f(", "missing ): f("), ("a**", "bad repetition operator: **"), (r"C:\Users", r"invalid escape sequence: \U"), ("a{2,1}", "{2,1}")]
)
def test_what_is_no_pattern_at_all_is_plain_text_and_says_why(pattern: str, why: str) -> None:
    search = LineSearch(pattern)
    assert search.plain
    assert why in search.why_plain
    assert list(search.hits(f"a\n>{pattern}<\n")) == [(2, f">{pattern}<")]


def test_half_a_character_is_found_nowhere_and_fails_nowhere() -> None:
    assert list(LineSearch(".\ud800").hits("a\n")) == []
    with pytest.raises(ToolError, match="not a pattern for file names"):
        path_matcher("*\ud800")


def test_matching_says_nothing_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    LineSearch("f(")
    with pytest.raises(ToolError):
        LineSearch("(?=a)")
    with pytest.raises(ToolError):
        path_matcher("[z-a]")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|aa)+$", r"(a*)*b", r"^(a?){300}a{300}b", r"(.*)(.*)(.*)(.*)(.*)[^a]q", r"(\w+\s?)+!$"])
def test_time_grows_no_faster_than_the_text(pattern: str) -> None:
    search = LineSearch(pattern)
    assert list(search.hits("a" * 100_000 + "?")) == []
    assert_linear(lambda length: list(search.hits("a" * length + "?")), 400_000)


@given(st.text(alphabet="ab \n\r.é", max_size=40), st.sampled_from(["a", "a.b", "^b", "b$", "[^a]", r"\w", "a|é", "^$", "(?i)A+B"]))
def test_lines_are_counted_as_they_stand(text: str, pattern: str) -> None:
    lines = [line.rstrip("\r") for line in text.split("\n")]
    assert list(LineSearch(pattern).hits(text)) == [(number, line) for number, line in enumerate(lines, 1) if re.search(pattern, line)]


@given(st.text(alphabet="ab*?[]{},!/.\\^", min_size=1, max_size=12), st.text(alphabet="ab/\n.", min_size=1, max_size=12))
def test_any_text_is_a_pattern_for_names_or_is_refused(pattern: str, path: str) -> None:
    with suppress(ToolError):
        assert path_matcher(pattern)(path) in (True, False)
