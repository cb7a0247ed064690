"""The offline provider: the sentences of INTERFACE.md and their everyday variants, through the real agent where it matters."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralclaw.providers.offline import OfflineProvider
from neuralclaw.providers.offline.grammar import NotUnderstood, parse
from neuralclaw.providers.offline.provider import answer
from neuralclaw.types.messages import AssistantMessage, Finished, Reply, Request, ToolDef, ToolMessage, UserMessage
from tests.agent.kit import agent, events

TOOLS = ("list_files", "read_file", "search_files", "find_files", "write_file", "edit_file", "delete_file", "terminal", "calculate", "echo", "system_info")

SENTENCES = [
    ("list .", "list_files", {"path": "."}),
    ("list the files in src", "list_files", {"path": "src"}),
    ("ls", "list_files", {"path": "."}),
    ("What files are in src?", "list_files", {"path": "src"}),
    ("read notes.md", "read_file", {"path": "notes.md"}),
    ("Please show me the file Notes.md.", "read_file", {"path": "Notes.md"}),
    ('cat "my notes.md"', "read_file", {"path": "my notes.md"}),
    ("what is in notes.md?", "read_file", {"path": "notes.md"}),
    ("search TODO in src", "search_files", {"pattern": "TODO", "path": "src"}),
    ('search for "a (b)" in .', "search_files", {"pattern": r"a \(b\)", "path": "."}),
    ('find "x" in docs', "search_files", {"pattern": "x", "path": "docs"}),
    ("find files *.py in src", "find_files", {"pattern": "*.py", "path": "src"}),
    ("write hello to a.txt", "write_file", {"path": "a.txt", "content": "hello"}),
    ("write 'one to two' to a.txt", "write_file", {"path": "a.txt", "content": "one to two"}),
    ("create a file a.txt with hello world", "write_file", {"path": "a.txt", "content": "hello world"}),
    ('replace "old" with "new" in a.txt', "edit_file", {"path": "a.txt", "old": "old", "new": "new"}),
    ('edit a.txt: replace "old" with "new"', "edit_file", {"path": "a.txt", "old": "old", "new": "new"}),
    ("delete a.txt", "delete_file", {"path": "a.txt"}),
    ("run ls -la | wc -l", "terminal", {"command": "ls -la | wc -l"}),
    ("run `git status`", "terminal", {"command": "git status"}),
    ("run echo 'a then b'", "terminal", {"command": "echo 'a then b'"}),
    ("run if true; then echo yes; fi", "terminal", {"command": "if true; then echo yes; fi"}),
    ("calculate 6*7", "calculate", {"expression": "6*7"}),
    ("what is 6 times 7?", "calculate", {"expression": "6 * 7"}),
    ("6*7", "calculate", {"expression": "6*7"}),
    ("echo hello", "echo", {"text": "hello"}),
    ("show me the system info", "system_info", {}),
    ("fetch https://example.com/a?b=c", "web_fetch", {"url": "https://example.com/a?b=c"}),
    ("remember that the boiler is old", "remember", {"text": "the boiler is old"}),
    ("recall 'the boiler'", "recall", {"query": "the boiler"}),
    ("who are you?", "about_me", {}),
]


@pytest.mark.parametrize(("sentence", "tool", "arguments"), SENTENCES)
def test_a_sentence_stands_for_one_call(sentence: str, tool: str, arguments: dict[str, str]) -> None:
    assert [(s.tool, s.arguments) for s in parse(sentence)] == [(tool, arguments)]


def test_then_joins_sentences_and_quotes_hold_it_back() -> None:
    steps = parse("List . then write 'now then' to a.txt, and then read a.txt. Then calculate 1+1")
    assert [s.tool for s in steps] == ["list_files", "write_file", "read_file", "calculate"]
    assert steps[1].arguments["content"] == "now then"


def request(text: str, results: Sequence[str] = (), tools: Sequence[str] = TOOLS) -> Request:
    done = [m for i, r in enumerate(results) for m in (AssistantMessage(""), ToolMessage(f"c{i}", "x", r))]
    return Request(model="grammar", messages=(UserMessage(text), *done), tools=tuple(ToolDef(t, "", {}) for t in tools))


def test_steps_are_proposed_one_after_the_other_and_the_answer_is_their_results() -> None:
    text = "calculate 1+1 then calculate 2+2"
    assert [c.arguments for c in answer(request(text)).tool_calls] == [{"expression": "1+1"}]
    assert [c.arguments for c in answer(request(text, ["2"])).tool_calls] == [{"expression": "2+2"}]
    assert answer(request(text, ["2", "4"])) == Reply(text="2\n4", model="grammar", usage=answer(request(text)).usage)


def test_after_a_failed_step_the_rest_is_not_run_and_that_is_said() -> None:
    reply = answer(request("read a then read b", ["ERROR: there is no file a"]))
    assert not reply.tool_calls
    assert "ERROR: there is no file a" in reply.text
    assert "read b" in reply.text


def test_many_steps_fit_into_one_turn() -> None:
    text = " then ".join(f"calculate {n}+{n}" for n in range(20))
    replies, results = 0, []
    while (reply := answer(request(text, results))).tool_calls:
        results += ["ok"] * len(reply.tool_calls)
        replies += 1
    assert len(results) == 20
    assert replies < 10


def test_a_request_whose_tool_does_not_stand_is_answered_by_saying_so() -> None:
    reply = answer(request("fetch https://example.com"))
    assert "web_fetch" in reply.text
    assert "does not stand" in reply.text


def test_what_it_does_not_understand_is_a_failure_that_points_to_help() -> None:
    reply = answer(request("compose a sonnet about list files"))
    assert reply.stop == "error"
    assert reply.failure is not None
    assert "help" in reply.failure.text


def test_help_says_that_it_is_no_language_model() -> None:
    assert "no language model" in answer(request("help")).text


@given(st.text(max_size=200))
def test_any_text_gives_one_reply_and_the_same_one_again(text: str) -> None:
    assert answer(request(text)) == answer(request(text))


@given(st.lists(st.sampled_from([s for s, _, _ in SENTENCES]), min_size=1, max_size=5))
def test_joined_sentences_keep_their_calls(sentences: list[str]) -> None:
    try:
        joined = parse(" then ".join(s.rstrip("?.") for s in sentences))
    except NotUnderstood as part:
        raise AssertionError(str(part)) from part
    assert [s.tool for s in joined] == [parse(s)[0].tool for s in sentences]


@pytest.mark.anyio
async def test_it_streams_and_ends_with_the_finished_reply() -> None:
    async with OfflineProvider().stream(request("help")) as stream:
        parts = [event async for event in stream]
    assert isinstance(parts[-1], Finished)
    assert "".join(p.text for p in parts[:-1]) == parts[-1].reply.text


@pytest.mark.anyio
async def test_it_drives_the_same_loop_and_tools(home: Path) -> None:
    async with agent(home, provider=None, model="offline") as a:
        seen = await events(a, "write 'milk, bread' to shopping.txt then read shopping.txt then calculate 6*7")
        refused = await events(a, "read /etc/shadow")
    assert seen.one("turn.finished").text.splitlines()[-2:] == ["milk, bread", "42"]
    assert seen.one("turn.started").model == "offline:grammar"
    assert refused.one("turn.finished").status == "denied"
