"""The offline provider as the loop sees it: requests in, proposals and answers out."""

import asyncio
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralclaw.providers.offline import OfflineProvider
from neuralclaw.types.messages import AssistantMessage, ChatMessage, Finished, ModelEvent, ModelReply, Request, TextPart, ToolDef, ToolMessage, UserMessage
from tests.agent.kit import agent
from tests.agent.kit import events as turn_events
from tests.growth import assert_linear

pytestmark = [pytest.mark.anyio, pytest.mark.full]

TOOLS = (
    "list_files read_file search_files find_files write_file edit_file delete_file terminal calculate"
    " system_info disk_info network_info process_list echo about_me"
).split()
LATER = "web_fetch web_search http_check remember recall forget".split()


def request(*messages: ChatMessage, tools: list[str] | None = None) -> Request:
    names = TOOLS + LATER if tools is None else tools
    return Request(model="grammar", messages=messages, tools=tuple(ToolDef(n, "", {"type": "object"}) for n in names))


async def events(asked: Request) -> list[ModelEvent]:
    async with OfflineProvider().stream(asked) as stream:
        return [event async for event in stream]


async def reply(asked: Request) -> ModelReply:
    finished = (await events(asked))[-1]
    assert isinstance(finished, Finished)
    return finished.reply


async def ask(text: str, *, tools: list[str] | None = None) -> ModelReply:
    return await reply(request(UserMessage(text), tools=tools))


async def proposals(text: str) -> list[tuple[str, dict[str, object]]]:
    """The calls of a whole turn in which every call goes well."""
    messages: list[ChatMessage] = [UserMessage(text)]
    calls: list[tuple[str, dict[str, object]]] = []
    while (answer := await reply(request(*messages))).stop == "tools":
        calls += [(call.name, call.arguments) for call in answer.tool_calls]
        messages += [AssistantMessage(answer.text, answer.tool_calls), *(ToolMessage(c.id, c.name, "done", True) for c in answer.tool_calls)]
    assert answer.failure is None, answer.failure
    return calls


def took(answer: ModelReply, *contents: str, ok: bool | None = None) -> list[ChatMessage]:
    """The reply and the results of its calls as the next request holds them."""
    results = [ToolMessage(call.id, call.name, content, ok) for call, content in zip(answer.tool_calls, contents, strict=True)]
    return [AssistantMessage(answer.text, answer.tool_calls), *results]


PROMISED = [
    ("list src", "list_files", {"path": "src"}),
    ("list .", "list_files", {"path": "."}),
    ("read notes.md", "read_file", {"path": "notes.md"}),
    ("search TODO in src", "search_files", {"pattern": "TODO", "path": "src"}),
    ("write hello world to a.txt", "write_file", {"path": "a.txt", "content": "hello world"}),
    ("run ls -la | grep x", "terminal", {"command": "ls -la | grep x"}),
    ("fetch https://example.com/a?b=c", "web_fetch", {"url": "https://example.com/a?b=c"}),
    ("remember the boiler is old", "remember", {"text": "the boiler is old"}),
    ("recall the boiler", "recall", {"query": "the boiler"}),
    ("calculate (2+3)*4", "calculate", {"expression": "(2+3)*4"}),
    ("system info", "system_info", {}),
]

EVERYDAY = [
    ("show me the file notes.md", "read_file", {"path": "notes.md"}),
    ("Could you please read Notes.MD for me?", "read_file", {"path": "Notes.MD"}),
    ("cat notes.md", "read_file", {"path": "notes.md"}),
    ('read "my notes.md"', "read_file", {"path": "my notes.md"}),
    ("read the first 5 lines of log.txt", "read_file", {"path": "log.txt", "limit": 5}),
    ("What is in notes.md?", "read_file", {"path": "notes.md"}),
    ("what is in src?", "list_files", {"path": "src"}),
    ("ls", "list_files", {"path": "."}),
    ("list the files in the folder src", "list_files", {"path": "src"}),
    ("list ..", "list_files", {"path": ".."}),
    ("delete FILE", "delete_file", {"path": "FILE"}),
    ("ls -la src", "terminal", {"command": "ls -la src"}),
    ("cat a b", "terminal", {"command": "cat a b"}),
    ("git status", "terminal", {"command": "git status"}),
    ("what's 6 times 7?", "calculate", {"expression": "6 * 7"}),
    ("what is 6*7?", "calculate", {"expression": "6*7"}),
    ("sqrt(16) + 1", "calculate", {"expression": "sqrt(16) + 1"}),
    ('find "x" in .', "search_files", {"pattern": "x", "path": "."}),
    ("search src for TODO", "search_files", {"pattern": "TODO", "path": "src"}),
    ("search for x+y in src", "search_files", {"pattern": "x\\+y", "path": "src"}),
    ("find files *.py", "find_files", {"pattern": "*.py", "path": "."}),
    ("find all *.py files in src", "find_files", {"pattern": "*.py", "path": "src"}),
    ("create a file a.txt with hello", "write_file", {"path": "a.txt", "content": "hello"}),
    ("create an empty file a.txt", "write_file", {"path": "a.txt", "content": ""}),
    ("save 'hello then bye' as a.txt", "write_file", {"path": "a.txt", "content": "hello then bye"}),
    ("delete the file x.txt please", "delete_file", {"path": "x.txt"}),
    ('edit f.txt replace "a" with "b"', "edit_file", {"path": "f.txt", "old": "a", "new": "b"}),
    ("in f.txt replace all a with b", "edit_file", {"path": "f.txt", "old": "a", "new": "b", "all": True}),
    ("echo Hello!", "echo", {"text": "Hello!"}),
    ("run echo it's fine", "terminal", {"command": "echo it's fine"}),
    ('RUN "ls -la"', "terminal", {"command": "ls -la"}),
    ("who are you?", "about_me", {}),
    ("What can you do?", "about_me", {}),
    ("how much disk space is left?", "disk_info", {}),
    ("fetch example.com.", "web_fetch", {"url": "https://example.com"}),
    ("search the web for boilers", "web_search", {"query": "boilers"}),
    ("what do you know about boilers?", "recall", {"query": "boilers"}),
    ("give me the system info", "system_info", {}),
    ("show me the processes", "process_list", {}),
    ('cat "my notes.md"', "read_file", {"path": "my notes.md"}),
    ('edit a.txt: replace "old" with "new"', "edit_file", {"path": "a.txt", "old": "old", "new": "new"}),
    ("run `git status`", "terminal", {"command": "git status"}),
    ("remember that the boiler is old", "remember", {"text": "the boiler is old"}),
    ("recall 'the boiler'", "recall", {"query": "the boiler"}),
    ("work out 3 squared", "calculate", {"expression": "3 **2"}),
    ("create a folder docs", "terminal", {"command": "mkdir -p -- docs"}),
]


@pytest.mark.parametrize(("sentence", "tool", "arguments"), PROMISED + EVERYDAY, ids=lambda value: value if isinstance(value, str) else "")
async def test_a_sentence_proposes_its_call(sentence: str, tool: str, arguments: dict[str, object]) -> None:
    assert await proposals(sentence) == [(tool, arguments)]


@pytest.mark.parametrize(
    "sentence",
    [
        "make me a sandwich",
        "what is the capital of France?",
        "delete everything",
        "delete a b",
        "read it",
        "read my diary about cats",
        "2026",
        "sudo reboot",
        "write x",
    ],
)
async def test_what_is_not_understood_proposes_nothing_fails_and_points_to_help(sentence: str) -> None:
    answer = await ask(sentence)
    assert answer.stop == "error"
    assert answer.tool_calls == ()
    assert answer.failure is not None
    assert answer.failure.kind == "LLMError"
    assert not answer.failure.retryable
    assert sentence in answer.failure.text
    assert "help" in (answer.failure.hint or "")
    assert "neuralclaw init" in answer.failure.hint


async def test_a_tool_is_called_by_its_name_with_json_arguments() -> None:
    assert await proposals('call echo {"text": "now then {what}"}') == [("echo", {"text": "now then {what}"})]
    assert await proposals("call system_info") == [("system_info", {})]
    assert await proposals("list . then call system_info") == [("list_files", {"path": "."}), ("system_info", {})]
    answer = await ask('call calculate {"expression": "1+1"} then call echo {"text": "x"}, then list .')
    first = answer.tool_calls[0]
    assert (first.name, first.arguments) == ("calculate", {"expression": "1+1"})


@pytest.mark.parametrize("arguments", ["{bad}", "[1]", '{"a": 1', "{} and more", "{" * 5000])
async def test_arguments_of_a_call_that_are_no_object_are_told_so_and_nothing_is_done(arguments: str) -> None:
    answer = await ask(f"call echo {arguments}")
    assert not answer.tool_calls
    assert answer.failure is not None
    assert "one JSON object" in answer.failure.text


async def test_the_call_of_a_tool_that_is_not_there_names_it() -> None:
    answer = await ask('call no_such {"a": 1}')
    assert not answer.tool_calls
    assert answer.failure is not None
    assert "there is no tool no_such" in answer.failure.text


async def test_where_a_language_model_is_needed_one_sentence_names_init() -> None:
    answer = await ask("write me a poem about rain")
    assert answer.failure is not None
    assert answer.failure.text.endswith("that needs a language model")
    assert answer.failure.hint == "neuralclaw init sets one up; neuralclaw run help shows what offline understands"


async def test_a_slip_of_the_key_gets_the_nearest_verb() -> None:
    answer = await ask("lst .")
    assert answer.failure is not None
    assert "did you mean list?" in answer.failure.text


async def test_a_known_verb_with_a_name_that_is_not_clear_is_told_to_quote_it() -> None:
    answer = await ask("read my notes.txt")
    assert answer.failure is not None
    assert "read my notes.txt (put quotes around a name or text of several words)" in answer.failure.text


async def test_a_sentence_of_a_megabyte_is_not_understood_in_a_few_words() -> None:
    answer = await ask("run echo " + "x " * 500_000)
    assert answer.failure is not None
    assert len(answer.failure.text) < 1_000


def test_the_cost_of_a_command_line_grows_no_faster_than_its_length() -> None:
    assert_linear(lambda words: asyncio.run(ask("run echo " + "x " * words)), 500_000)


async def test_one_step_that_is_not_understood_keeps_all_of_them_from_being_done() -> None:
    answer = await ask("delete a.txt then frobnicate")
    assert answer.stop == "error"
    assert answer.failure is not None
    assert "frobnicate" in answer.failure.text


async def test_a_tool_that_is_not_available_is_named_before_anything_is_done() -> None:
    answer = await ask("list . then fetch https://example.com", tools=TOOLS)
    assert answer.tool_calls == ()
    assert answer.failure is not None
    assert "web_fetch is not among the tools of this turn" in answer.failure.text


@pytest.mark.parametrize(
    ("sentence", "commands"),
    [
        ('run echo "a then b" then list .', ['echo "a then b"', "."]),
        ("run if true; then echo hi; fi then list src", ["if true; then echo hi; fi", "src"]),
        ("run echo a\\ then\\ b, then list src", ["echo a\\ then\\ b", "src"]),
        ("run make and then run ls", ["make", "ls"]),
        ("list a; then list b, Then: list c", ["a", "b", "c"]),
        ("list then.d then list b", ["then.d", "b"]),
        ("echo \"one then two\" then echo 'three then four'", ["one then two", "three then four"]),
    ],
)
async def test_then_divides_steps_but_not_inside_quotes_or_a_shells_own(sentence: str, commands: list[str]) -> None:
    calls = await proposals(sentence)
    assert [next(iter(arguments.values())) for _, arguments in calls] == commands


async def test_steps_are_proposed_one_by_one_and_the_answer_is_their_results_one_after_the_other() -> None:
    messages: list[ChatMessage] = [UserMessage("list . then read README.md then calculate 6*7")]
    for content in ("README.md (3 bytes)", "hi\n", "42"):
        answer = await reply(request(*messages))
        assert len(answer.tool_calls) == 1
        messages += took(answer, content)
    answer = await reply(request(*messages))
    assert answer.stop == "end"
    assert answer.text == "README.md (3 bytes)\nhi\n42"
    assert answer.usage.usd == 0.0


@pytest.mark.parametrize(("content", "ok"), [("ERROR: no such file", None), ("no such file", False), ("Exit code: 2\nbad", None)])
async def test_a_failed_step_stops_those_after_it_and_the_answer_says_so(content: str, ok: bool | None) -> None:
    task = UserMessage("read a.txt then delete b.txt")
    answer = await reply(request(task))
    answer = await reply(request(task, *took(answer, content, ok=ok)))
    assert (answer.stop, answer.text) == ("error", content)
    assert answer.failure is not None
    assert (answer.failure.kind, answer.failure.answered, answer.failure.retryable) == ("ToolExecutionError", True, False)
    assert answer.failure.text == "offline: `read a.txt` failed, so what follows was not done: delete b.txt"


async def test_a_file_that_only_looks_like_an_error_stops_nothing_where_its_success_is_known() -> None:
    task = UserMessage("read app.log then list .")
    answer = await reply(request(task))
    answer = await reply(request(task, *took(answer, "ERROR: disk full", ok=True)))
    assert [call.name for call in answer.tool_calls] == ["list_files"]


async def test_an_earlier_turn_is_not_gone_on_with() -> None:
    first = UserMessage("list a then list b")
    answer = await reply(request(first))
    later = await reply(request(first, *took(answer, "ERROR: not run: cancelled"), UserMessage("calculate 1+1")))
    assert [call.name for call in later.tool_calls] == ["calculate"]
    ended = await reply(request(UserMessage("frobnicate"), UserMessage("calculate 1+1")))
    assert ended.failure is None


async def test_a_message_during_the_turn_is_done_after_the_task_and_answered_with_it() -> None:
    messages: list[ChatMessage] = [UserMessage("read a then read b")]
    answer = await reply(request(*messages))
    messages += [*took(answer, "ERROR: a: not found"), UserMessage("calculate 6*7", "steering"), UserMessage("frobnicate", "steering")]
    answer = await reply(request(*messages))
    assert [call.name for call in answer.tool_calls] == ["calculate"]
    answer = await reply(request(*messages, *took(answer, "42")))
    assert (answer.stop, answer.text) == ("error", "ERROR: a: not found\n42")
    assert answer.failure is not None
    assert answer.failure.text.startswith("offline: `read a` failed, so what follows was not done: read b; offline: not understood: frobnicate")


@pytest.mark.parametrize("kind", ["nudge", "notice"])
async def test_the_loops_own_word_gets_the_same_answer_again(kind: Literal["nudge", "notice"]) -> None:
    task = UserMessage("read a.txt")
    called = await reply(request(task))
    messages = [task, *took(called, "I will do it.")]
    answer = await reply(request(*messages))
    again = await reply(request(*messages, AssistantMessage(answer.text), UserMessage("calculate 6*7", kind)))
    assert again == answer


async def test_many_steps_that_only_read_fit_into_the_loops_model_calls() -> None:
    sentence = " then ".join(f"read f{i}" for i in range(30))
    messages: list[ChatMessage] = [UserMessage(sentence)]
    replies = 0
    while (answer := await reply(request(*messages))).stop == "tools":
        replies += 1
        messages += took(answer, *(str(call.arguments["path"]) for call in answer.tool_calls))
    assert replies < 10
    assert answer.text.split() == [f"f{i}" for i in range(30)]


@pytest.mark.parametrize("sentence", ["write {0} to f{0}", "write {0} to f{0} then read f{0}"])
async def test_many_steps_that_write_fit_too_one_by_one_but_for_the_last(sentence: str) -> None:
    messages: list[ChatMessage] = [UserMessage(" then ".join(sentence.format(i) for i in range(20)))]
    names: list[str] = []
    sizes = []
    while (answer := await reply(request(*messages))).stop == "tools":
        names += [call.name for call in answer.tool_calls]
        sizes.append(len(answer.tool_calls))
        messages += took(answer, *("done" for _ in answer.tool_calls))
    assert sizes == [1] * 7 + [len(names) - 7]
    assert names == (["write_file", "read_file"] if "read" in sentence else ["write_file"]) * 20


async def test_help_names_every_promised_sentence_is_honest_and_marks_what_is_not_here() -> None:
    answer = await ask("help", tools=TOOLS)
    for words in (
        "list DIR",
        "read FILE",
        "search TEXT in PATH",
        "write TEXT to FILE",
        "run COMMAND",
        "fetch URL",
        "remember TEXT",
        "recall TEXT",
        "calculate EXPR",
        "system info",
    ):
        assert words in answer.text
    assert "no language model" in answer.text
    assert "neuralclaw init" in answer.text
    lines = {line.strip() for line in answer.text.splitlines()}
    assert "fetch URL   (not available yet)" in lines
    assert "list DIR" in lines


async def test_an_answer_is_streamed_line_by_line() -> None:
    streamed = await events(request(UserMessage("help")))
    parts = [event.text for event in streamed if isinstance(event, TextPart)]
    assert len(parts) > 5
    assert isinstance(streamed[-1], Finished)
    assert "".join(parts) == streamed[-1].reply.text


async def test_it_costs_nothing_and_knows_one_model() -> None:
    provider = OfflineProvider()
    assert provider.count(request(UserMessage("x"))) == 0
    price = provider.info("grammar").price
    assert price is not None
    assert (price.input, price.output) == (0.0, 0.0)


VERBS = [
    "list",
    "read",
    "write",
    "run",
    "then",
    "to",
    "in",
    "with",
    "replace",
    "for",
    "search",
    "find",
    "edit",
    "calculate",
    "what is",
    "please",
    "the",
    "all",
    "6*7",
]
SENTENCES = st.lists(
    st.one_of(st.sampled_from([*VERBS, '"', "'", "`", "a.txt", ".", "..", ";", "if", "\\", "*.py", "-r", "“", "İ"]), st.text(max_size=6)), max_size=12
)


@settings(max_examples=300, deadline=None)
@given(text=st.one_of(st.text(max_size=80), SENTENCES.map(" ".join)), content=st.text(max_size=20))
async def test_any_text_gives_exactly_one_finished_reply_and_the_same_one_again(text: str, content: str) -> None:
    messages: list[ChatMessage] = [UserMessage(text)]
    for _ in range(14):
        streamed = await events(request(*messages))
        assert [type(e) for e in streamed].count(Finished) == 1
        assert isinstance(streamed[-1], Finished)
        answer = streamed[-1].reply
        assert msgspec.json.encode(streamed) == msgspec.json.encode(await events(request(*messages)))
        assert (answer.failure is not None) == (answer.stop == "error")
        assert bool(answer.tool_calls) == (answer.stop == "tools")
        if answer.stop != "tools":
            return
        messages += took(answer, *(content for _ in answer.tool_calls))
    raise AssertionError("the turn does not end")


@settings(deadline=None)  # each example has an event loop of its own
@given(sentences=st.lists(st.sampled_from([words for words, _, _ in PROMISED + EVERYDAY if "it's" not in words]), min_size=1, max_size=5))
async def test_sentences_joined_by_then_propose_what_each_proposes(sentences: list[str]) -> None:
    each = [call for sentence in sentences for call in await proposals(sentence)]
    assert await proposals(" then ".join(sentences)) == each


async def test_it_drives_the_same_loop_tools_and_gate_as_a_model(home: Path) -> None:
    async with agent(home, provider=None, model="offline") as a:
        seen = await turn_events(a, "write 'milk, bread' to shopping.txt then read shopping.txt then calculate 6*7")
        refused = await turn_events(a, "read /etc/shadow then list .")
    assert seen.one("turn.finished").text.splitlines()[-2:] == ["milk, bread", "42"]
    assert seen.one("turn.started").model == "offline:grammar"
    ended = refused.one("turn.finished")
    assert (ended.status, ended.error.kind) == ("denied", "ToolExecutionError")
    assert "so what follows was not done: list ." in ended.error.text


async def test_a_file_that_promises_work_is_shown_once(home: Path) -> None:
    async with agent(home, provider=None, model="offline") as a:
        seen = await turn_events(a, "echo I will do it now.")
    assert seen.one("turn.finished").text == "I will do it now."
    assert len(seen.of("message")) == 2


@pytest.mark.parametrize("piece", ["then ", "'a ", '"', "run if ; ", "x", "( ", "list a then "])
def test_the_cost_of_a_sentence_grows_no_faster_than_its_length(piece: str) -> None:
    assert_linear(lambda count: asyncio.run(ask("list " + piece * count)), 2_000)
