"""Models without tool calls of their own do whole tasks: the calls are found in what they write, and nothing else is."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neuralclaw import Agent
from neuralclaw.providers.plain_tools.call_parser import ToolNames
from neuralclaw.providers.plain_tools.reply_reader import AnswerReader, CallReader
from neuralclaw.providers.plain_tools.wrapper import PlainTools
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types import messages as m
from tests.growth import assert_linear

pytestmark = [pytest.mark.anyio, pytest.mark.full]

TOOLS = (
    m.ToolDef("read_file", "Reads a file. Only text.", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
    m.ToolDef(
        "set_level",
        "Sets it.",
        {"type": "object", "properties": {"level": {"enum": ["low", "high"]}, "at": {"type": "array", "items": {"type": "integer"}}}, "required": ["level"]},
    ),
    m.ToolDef("files::list_files", "Lists.", {"type": "object", "properties": {}}),
)
NAMES = ToolNames([tool.name for tool in TOOLS])
CALL = '{"tool": "read_file", "arguments": {"path": "a.txt"}}'
READ = ("read_file", {"path": "a.txt"})


def read(*pieces: str, held: bool = False, whole: bool = True) -> tuple[str, list[tuple[str, dict[str, Any]]], list[str | None]]:
    reader = AnswerReader(NAMES) if held else CallReader(NAMES)
    text = "".join(reader.feed(piece) for piece in pieces) + reader.close(whole=whole)
    return text, [(call.name, call.arguments) for call in reader.calls], [call.error for call in reader.calls]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (CALL, ""),
        (f"```json\n{CALL}\n```", ""),
        (f"```\n{CALL}\n```\n", ""),
        (f"<tool_call>\n{CALL}\n</tool_call>", ""),
        (f"Let me look.\n\n{CALL}", "Let me look."),
        (f"Let me look:\n```json\n{CALL}\n```\nThen I go on.", "Let me look:\n\nThen I go on."),
        ("{'tool': 'read_file', 'arguments': {'path': 'a.txt',},}", ""),
        ("{tool: read_file, arguments: {path: 'a.txt'}}", ""),
        ('{"tool": "read_file", "arguments": {"path": "a.txt"}', ""),
        ('{"tool": "read_file", "arguments": {"path": "a.txt"', ""),
        ("{“tool”: “read_file”, “arguments”: {“path”: “a.txt”}}", ""),
        ('{"tool": "read_file", // the file\n "arguments": {"path": "a.txt" /* here */}}', ""),
        ('{"name": "read_file", "parameters": {"path": "a.txt"}}', ""),
        ('{"name": "functions.read-file", "arguments": "{\\"path\\": \\"a.txt\\"}"}', ""),
        ('{"type": "function", "function": {"name": "read_file", "arguments": {"path": "a.txt"}}}', ""),
        ('{"tool_calls": [{"id": "1", "name": "read_file", "arguments": {"path": "a.txt"}}]}', ""),
        ('{"read_file": {"path": "a.txt"}}', ""),
        ('{"tool": "read_file", "path": "a.txt"}', ""),
        ('{"action": "read_file", "action_input": {"path": "a.txt"}}', ""),
        (f"[TOOL_CALLS] [{CALL}]", ""),
        (CALL + "}", ""),
        ("{tool" + CALL, "{tool"),
    ],
)
def test_every_spelling_of_a_call_is_the_call(said: str, text: str) -> None:
    assert read(said) == (text, [READ], [None])


def test_several_calls_keep_their_order() -> None:
    other = '{"tool": "set_level", "arguments": {"level": "low"}}'
    both = [READ, ("set_level", {"level": "low"})]
    for said in (f"[{CALL}, {other}]", f"{CALL}\n{other}", f"{CALL},\n{other}", f"<tool_call>{CALL}</tool_call>\n<tool_call>{other}</tool_call>"):
        assert read(said)[1] == both, said


@pytest.mark.parametrize(
    "said",
    [
        "No JSON at all.",
        'As JSON: {"name": "Alice", "age": 3}',
        '```json\n{"name": "Alice", "tool": 4}\n```',
        '[{"name": "read_file"}, 3] and [a link](http://x) and `{code}` and ```python\nprint({"tool": 1})\n```',
        "if (x) { return {tool: 1}; }",
        '{"tool": "hammer"}',
        "<b>bold</b> <tool_call> is a tag",
        "An open brace { and [ and ``` and <tool_ca",
        "   spaces around   \n",
        "",
    ],
)
def test_what_is_no_call_stays_text_letter_by_letter(said: str) -> None:
    assert read(said) == (said, [], [])
    assert read(*said) == (said, [], [])


@pytest.mark.parametrize("argument", ['echo "it\'s {fine}" }', "line\nbreak", "```json\n{}\n```", "C:\\dir\\ü🌧", "</tool_call>", '{"tool": "x"}'])
def test_what_stands_in_an_argument_ends_no_call(argument: str) -> None:
    call = json.dumps({"tool": "read_file", "arguments": {"path": argument}}, ensure_ascii=False)
    assert read(*f"Look: {call} Done") == ("Look: Done", [("read_file", {"path": argument})], [None])


def test_a_name_that_no_tool_has_in_the_form_of_a_call_is_a_call() -> None:
    """The loop answers that there is no such tool; as text it would be the turn's end."""
    assert read('{"tool": "open_file", "arguments": {"path": "a"}}')[1] == [("open_file", {"path": "a"})]


def test_a_call_that_cannot_be_mended_or_was_cut_is_a_call_with_an_error_and_no_arguments() -> None:
    for said in ('{"tool": "read_file", "arguments": [1, 2]}', '{"tool": "read_file", "arguments": {"path": "a.t', '{"tool": "read_file", "arguments": "xx"}'):
        text, calls, errors = read(said)
        assert (text, calls) == ("", [("read_file", {})])
        assert errors[0]
    assert read('{"tool": "read_file", "arguments": {"path": "a.txt"}', whole=False)[2][0]


def test_a_held_answer_is_shown_while_it_arrives() -> None:
    reader = AnswerReader(NAMES)
    assert [reader.feed(piece) for piece in ('{ "ans', 'wer": "He', "llo \\", "n w", "\\ud83c", '\\udf27!"', "}")] == ["", "He", "llo ", "\n w", "", "🌧!", ""]
    assert (reader.close(), reader.calls) == ("", ())


def test_a_model_that_is_held_to_nothing_after_all_is_read_like_any_other() -> None:
    assert read(*CALL, held=True)[1] == [READ]
    assert read(*"Just text {x}.", held=True) == ("Just text {x}.", [], [])
    assert read(*'{"answer": {"x": [1]}}', held=True)[0] == '{"x":[1]}'
    assert read(*'{"answer": "done"} And more.', held=True)[0] == "done\nAnd more."


@pytest.mark.parametrize("unit", ["[", '{"name":', '{"tool":"x"}', "```json\n", "x\n"])
def test_the_cost_of_a_hostile_reply_grows_no_faster_than_its_length(unit: str) -> None:
    begin = '{"tool": "read_file", "arguments": {"path": "' if unit == "x\n" else ""

    def reply(length: int) -> None:
        said = begin + unit * (length // len(unit))
        read(*(said[place : place + 7] for place in range(0, len(said), 7)))

    assert_linear(reply, 12_000)


BROKEN = "{'tool': 'read_file', 'arguments': {'path': 'x'}"
MARKS = ["{", "}", "[", "]", '"', "'", "```", "```json\n", "<tool_call>", "</tool_call>", ":", ",", " ", "\n", "\\", "//", "“"]
PIECES = st.sampled_from([CALL, BROKEN, *MARKS, "tool", '"name": ', "read_file", "text"])


@given(st.lists(PIECES, max_size=14).map("".join), st.data())
@example("``` ```json\n" + CALL, None)
def test_any_cutting_gives_the_same_reply_and_no_text_is_lost(said: str, data: Any) -> None:
    whole = read(said)
    assert read(*said) == whole
    if data is not None:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=6)))
        assert read(*(said[a:b] for a, b in zip([0, *cuts], [*cuts, len(said)], strict=True))) == whole
    if not whole[1]:
        assert whole[0] == said


@given(st.text(max_size=60), st.text(max_size=60))
def test_text_around_a_call_is_never_lost(before: str, after: str) -> None:
    before, after = (part.translate({ord(c): None for c in "{}[]<>`\"'"}) for part in (before, after))
    text, calls, _ = read(*f"{before}\n{CALL}\n{after}")
    assert calls == [READ]
    assert text.replace(" ", "").split() == (before + "\n" + after.lstrip(",; \t\r\n")).replace(" ", "").split()


@given(st.text(), st.booleans())
def test_a_held_answer_is_whole_however_it_is_cut(answer: str, ascii_only: bool) -> None:
    assert read(*json.dumps({"answer": answer}, ensure_ascii=ascii_only), held=True) == (answer, [], [])


async def ask(provider: Any, **request: Any) -> list[m.ModelEvent]:
    asked = m.Request(**{"model": "x", "messages": (m.UserMessage("hi"),), "tools": TOOLS, "system": "You.", **request})
    async with provider.stream(asked) as events:
        return [event async for event in events]


def reply_of(events: list[m.ModelEvent]) -> m.ModelReply:
    last = events[-1]
    assert isinstance(last, m.Finished)
    assert "".join(event.text for event in events if isinstance(event, m.TextPart)) == last.reply.text
    return last.reply


def says(*replies: Reply | str, **info: Any) -> FunctionProvider:
    left = list(replies)

    async def reply(request: m.Request) -> Reply | str:
        return left.pop(0) if len(left) > 1 else left[0]

    return FunctionProvider(reply, info=m.ModelInfo(**{"tools": False, "price": m.Price(0, 0), **info}))


async def test_native_tools_pass_untouched() -> None:
    inner = says(Reply("", [{"name": "read_file"}]), tools=True)
    assert reply_of(await ask(PlainTools(inner))).tool_calls
    assert inner.requests[0].tools == TOOLS


async def test_the_history_is_told_as_text_in_turns() -> None:
    inner = says("done")
    history = (
        m.UserMessage("look"),
        m.AssistantMessage("Sure.", (m.ToolCall("1", "read_file", {"path": "a"}),)),
        m.ToolMessage("1", "read_file", "AAA", True),
        m.UserMessage("quick", "steering"),
    )
    await ask(PlainTools(inner), messages=history, environment="cwd /")
    sent = inner.requests[0]
    assert [type(message) for message in sent.messages] == [m.UserMessage, m.AssistantMessage, m.UserMessage]
    assert sent.messages[1] == m.AssistantMessage('Sure.\n{"tool": "read_file", "arguments": {"path":"a"}}')
    assert isinstance(sent.messages[2], m.UserMessage)
    assert sent.messages[2].text == "Result of read_file:\nAAA\n\nquick\n\ncwd /"
    assert (sent.tools, sent.environment) == ((), "")
    assert 'set_level(level: "low" | "high", at?: [integer])' in sent.system


async def test_a_service_that_refuses_tools_is_asked_again_once_and_remembered() -> None:
    refusal = m.Failure("LLMError", "x does not support tools", lacks="tools")
    inner = says(Reply(failure=refusal), CALL, tools=True)
    provider = PlainTools(inner)
    events = await ask(provider)
    assert [type(event) for event in events] == [m.Notice, m.Finished]
    assert reply_of(events).tool_calls[0].name == "read_file"
    assert reply_of(events).stop == "tools"
    assert [type(event) for event in await ask(provider)] == [m.Finished]
    assert [bool(request.tools) for request in inner.requests] == [True, False, False]


async def test_a_model_that_can_be_held_is_held_to_an_answer_or_a_call() -> None:
    inner = says('{"answer": "Paris is it."}', schema=True)
    assert reply_of(await ask(PlainTools(inner))).text == "Paris is it."
    schema = inner.requests[0].answer_schema
    assert schema is not None
    assert [sorted(part["properties"]) for part in schema["anyOf"]] == [["answer"]] + [["arguments", "tool"]] * 3


async def test_a_number_that_a_held_model_may_write_has_an_end() -> None:
    parameters = {"type": "object", "properties": {"n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "few": {"type": "integer", "maximum": 5}}}
    inner = says('{"answer": "yes"}', schema=True)
    await ask(PlainTools(inner), tools=(m.ToolDef("count", "Counts.", parameters),))
    schema = inner.requests[0].answer_schema
    assert schema is not None
    held = schema["anyOf"][1]["properties"]["arguments"]["properties"]
    assert (held["n"]["anyOf"][0]["maximum"], held["few"]["maximum"]) == (999_999_999, 5)


async def test_examples_are_not_told_in_the_prompt_and_descriptions_are_whole_where_the_window_is_large() -> None:
    tool = m.ToolDef("read_file", 'Reads a file. Only text.\nExample: {"path": "src/x"}', {"type": "object", "properties": {}})
    for window, told in ((100_000, "Reads a file. Only text."), (1_000, "Reads a file")):
        inner = says("yes", context=window)
        await ask(PlainTools(inner), tools=(tool,))
        assert inner.requests[0].system.endswith(f"- read_file(): {told}")


@pytest.mark.parametrize(("info", "words"), [({"tools": "none"}, "cannot use tools"), ({"context": 100}, "too small")])
async def test_a_model_that_cannot_even_that_answers_without_tools_and_says_so_once(info: dict[str, Any], words: str) -> None:
    inner = says("An answer {x}.", **info)
    provider = PlainTools(inner)
    events = await ask(provider)
    assert isinstance(events[0], m.Notice)
    assert words in events[0].text
    assert reply_of(events).text == "An answer {x}."
    assert not isinstance((await ask(provider))[0], m.Notice)
    assert (inner.requests[0].tools, inner.requests[0].system) == ((), "You.")


async def test_what_a_discarded_attempt_said_is_forgotten() -> None:
    class Twice(FunctionProvider):
        async def _events(self, request: m.Request) -> Any:
            yield m.TextPart("Half of it " + CALL[:20])
            yield m.Retrying(1, 0, "cut", "x", True)
            yield m.TextPart("Whole.")
            yield m.Finished(m.ModelReply(text="Whole."))

    events = await ask(PlainTools(Twice(lambda _: None, info=m.ModelInfo(tools=False))))  # type: ignore[arg-type, return-value]
    last = events[-1]
    assert isinstance(last, m.Finished)
    assert (last.reply.text, last.reply.tool_calls) == ("Whole.", ())


async def test_a_failure_in_the_middle_of_a_call_has_no_call() -> None:
    failure = m.Failure("LLMUnavailableError", "cut")
    reply = reply_of(await ask(PlainTools(says(Reply(CALL, failure=failure)))))
    assert (reply.tool_calls, reply.failure) == ((), failure)


async def test_a_whole_task_with_real_tools_by_a_model_that_only_writes(home: Path, tmp_path: Path) -> None:
    """It writes a file, lists, sums, makes a mistake, mends it and answers."""
    script = [
        'I will write it.\n```json\n{"tool": "write_file", "arguments": {"path": "sum.txt", "content": "17 + 25\\n"}}\n```',
        "{'tool': 'list_files', 'arguments': {'path': '.'}}",
        '<tool_call>{"name": "calculate", "arguments": {"expression": 5}}</tool_call>',
        '{"tool": "calculate", "arguments": {"expression": "17 + 25"}}',
        "It is 42.",
    ]

    async def model(request: m.Request) -> str:
        assert request.tools == ()
        return script.pop(0)

    provider = PlainTools(FunctionProvider(model, info=m.ModelInfo(tools=False, price=m.Price(0, 0))))
    (work := tmp_path / "work").mkdir()
    finished = []
    shown = ""
    async with (
        Agent.open(home=home, workspace=work, provider=provider, environ={}, settings={"safety.default_permission_level": "write"}) as agent,
        agent.turn("sum it up") as events,
    ):
        async for event in events:
            if event.body.type == "tool.finished":
                finished.append((event.body.name, event.body.ok))
            elif event.body.type == "text.delta":
                shown += event.body.text
            elif event.body.type == "turn.finished":
                end = event.body
    assert (end.status, end.text) == ("done", "It is 42.")
    assert finished[0] == ("write_file", True)
    assert finished[-1] == ("calculate", True)
    assert "tool" not in shown
    assert (work / "sum.txt").read_text() == "17 + 25\n"
    assert msgspec.json.encode(end.usage)
