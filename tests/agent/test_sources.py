"""What the model is told before its last message: read anew before each call, bounded, labelled, and kept with the reply."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from neuralclaw import lookups, tool
from neuralclaw.agent.redaction import NO_REDACTION, NoStream
from neuralclaw.agent.sources import TurnSource, fit_texts, read_sources
from neuralclaw.errors import StoreError
from neuralclaw.ports import TextStream
from neuralclaw.testing import Reply, ScriptedProvider
from neuralclaw.types.entries import blob_digest
from neuralclaw.types.events import Message, Passing, StatusEvent
from neuralclaw.types.labels import AGENT, NONE, Labels, external
from neuralclaw.types.messages import Failure

from ..store.kit import opened
from .kit import call, calls
from .turns import whole_turn

pytestmark = pytest.mark.anyio

WEB = external("web")


def source(name: str, *texts: str, labels: Labels = AGENT, room: int | None = None) -> TurnSource:
    async def read() -> Sequence[tuple[str, Labels]]:
        return [(text, labels) for text in texts]

    return TurnSource(name=name, read=read, room=room)


def failing(error: Exception) -> TurnSource:
    async def read() -> Sequence[tuple[str, Labels]]:
        raise error

    return TurnSource(name="feeds", read=read)


@tool(risk="LOW", effect="pure")
async def look() -> str:
    "Look."
    return "seen"


class Hidden:
    """Takes the word `secret` out."""

    def redact(self, text: str) -> str:
        return text.replace("secret", "[X]")

    def stream(self) -> TextStream:
        return NoStream()


async def test_sources_are_read_anew_before_each_call_in_their_order(home: Path) -> None:
    count = 0

    async def read() -> Sequence[tuple[str, Labels]]:
        nonlocal count
        count += 1
        return [(f"reading {count}", AGENT)]

    provider = ScriptedProvider(calls(call("look")), "done")
    async with opened(home) as store:
        entries = await whole_turn(store, provider, tools=[look], before_last=(TurnSource(name="n", read=read), source("fixed", "a", "b")))
        told = ["reading 1\n\na\n\nb", "reading 2\n\na\n\nb"]
        assert [request.environment for request in provider.requests] == told
        assert [e.body.environment for e in entries if isinstance(e.body, Message)] == [blob_digest(text.encode()) for text in told]
        kept = await lookups.blobs(store, [blob_digest(text.encode()) for text in told])
        assert {data.decode() for data in kept.values()} == set(told)


async def test_one_source_stands_in_the_request_byte_for_byte(home: Path) -> None:
    provider = ScriptedProvider("done")
    async with opened(home) as store:
        await whole_turn(store, provider, before_last=(source("machine", "<environment>\n{}\n</environment>\n"), source("silent", "")))
    assert provider.requests[0].environment == "<environment>\n{}\n</environment>\n"


@pytest.mark.invariant("journal.labels-kept")
async def test_the_labels_of_what_was_read_mark_the_reply_and_all_that_follows(home: Path) -> None:
    provider = ScriptedProvider(calls(call("look")), "done")
    async with opened(home) as store:
        entries = await whole_turn(store, provider, tools=[look], before_last=(source("feed", "it rains", labels=WEB),))
    outside = [(e.header.kind, "external:web" in e.header.labels) for e in entries]
    assert outside[:2] == [("inbound", False), ("turn.started", False)]
    assert [kind for kind, marked in outside if marked] == ["message", "decision", "tool.started", "tool.finished", "message", "turn.finished"]


@pytest.mark.invariant("journal.labels-kept")
async def test_an_error_of_a_call_that_held_it_is_marked_too(home: Path) -> None:
    provider = ScriptedProvider(Reply(failure=Failure("LLMError", "the service quotes: it rains")))
    async with opened(home) as store:
        entries = await whole_turn(store, provider, before_last=(source("feed", "it rains", labels=WEB),))
    assert [e.header.kind for e in entries if "external:web" in e.header.labels] == ["error", "turn.finished"]


async def test_what_is_left_out_for_want_of_room_marks_nothing() -> None:
    told = await read_sources([source("small", "12345", "678", room=5), source("none", "x", labels=WEB, room=0)], NO_REDACTION)
    assert (told.text, told.labels) == ("12345", AGENT)


def test_a_text_is_cut_behind_a_whole_character() -> None:
    assert fit_texts(["aé", "b"], 2) == ["a", ""]
    assert fit_texts(["aé", "b"], 4) == ["aé", "b"]
    assert fit_texts(["aé", "b" * 10_000], None) == ["aé", "b" * 10_000]


@pytest.mark.invariant("secrets.nowhere")
async def test_a_secret_is_taken_out_before_the_text_is_cut() -> None:
    told = await read_sources([source("note", "my secret", room=6)], Hidden())
    assert told.text == "my [X]"


async def test_a_source_that_fails_is_left_out_and_the_person_is_told(home: Path) -> None:
    provider, shown = ScriptedProvider("done"), list[Passing]()
    async with opened(home) as store:
        entries = await whole_turn(store, provider, shown=shown, before_last=(failing(ValueError("no route")), source("other", "still here")))
    assert provider.requests[0].environment == "still here"
    assert [body.text for body in shown if isinstance(body, StatusEvent)] == ["feeds could not be read and was left out of the request: ValueError: no route"]
    assert entries[-1].header.kind == "turn.finished"


async def test_a_source_that_cannot_read_the_record_is_left_out_too() -> None:
    read = await read_sources([failing(StoreError("the disk is gone"))], NO_REDACTION)
    assert read.failed == (("feeds", "StoreError: the disk is gone"),)


async def test_nothing_to_tell_has_no_labels() -> None:
    told = await read_sources([source("silent", labels=WEB)], NO_REDACTION)
    assert (told.text, told.labels, told.failed) == ("", NONE, ())
