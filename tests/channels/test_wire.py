"""JSON lines in and out, and the conversation over them, without a process or a pipe."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw.app.desk_client import open_client
from neuralclaw.channels.wire import AnswerIn, CancelIn, MessageIn, WireRenderer, decode, decoded
from neuralclaw.channels.wire_conversation import WireConversation
from neuralclaw.errors import UsageError
from neuralclaw.types.events import TurnFinished

pytestmark = pytest.mark.anyio


def test_each_object_of_a_client_is_decoded() -> None:
    assert decode('{"type": "message", "text": "hello", "key": "k1", "queue": true}', source="x") == MessageIn("hello", queue=True, key="k1")
    assert decode(b'{"type": "answer", "approval_id": "q", "decision": "no", "text": "not this"}', source="x") == AnswerIn("q", "no", text="not this")
    assert decode('{"type": "answer", "approval_id": "q", "value": {"name": "x"}}', source="x") == AnswerIn("q", value={"name": "x"})
    assert decode('{"type": "cancel"}', source="x") == CancelIn()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nonsense", "the frame cannot be used: "),
        ('{"type": "message", "text": 5}', "the frame cannot be used: Expected `str`, got `int` - at `$.text`"),
        ('{"type": "message", "text": "x", "colour": 1}', "colour"),
        ('{"type": "message", "text": "x", "key": 5}', "$.key"),
        ('{"type": "message", "text": " "}', "the message is empty"),
        ('{"type": "message", "text": "x", "key": ""}', "the key is empty"),
        ('{"type": "answer", "approval_id": "q"}', "needs a decision or a value"),
        ('{"type": "answer", "approval_id": "q", "decision": "perhaps"}', "'perhaps' is not a decision"),
        ('{"type": "message", "text": "\\ud800"}', "the frame cannot be used"),
    ],
)
def test_what_cannot_be_used_is_a_usage_error_that_changes_nothing(line: str, told: str) -> None:
    with pytest.raises(UsageError, match="nothing was changed") as caught:
        decode(line, source="the frame")
    assert told in caught.value.text


class Talk:
    """A program that sends objects and reads what comes back."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._send, self._lines = anyio.create_memory_object_stream[str](100)
        self._came = anyio.Event()
        self.renderer = WireRenderer(self._put, anyio.lowlevel.checkpoint)

    def _put(self, line: bytes) -> None:
        self.events.append(json.loads(line))
        self._came.set()

    def say(self, **fields: Any) -> None:
        self._send.send_nowait(json.dumps(fields))

    def end(self) -> None:
        self._send.close()

    def close(self) -> None:
        self._send.close()
        self._lines.close()

    async def until(self, kind: str, count: int = 1) -> dict[str, Any]:
        with anyio.fail_after(5):
            while len(found := [event for event in self.events if event["type"] == kind]) < count:
                self._came = anyio.Event()
                await self._came.wait()
        return found[-1]

    def objects(self) -> AsyncIterator[Any]:
        return decoded(self._lines, source="the frame")


@pytest.fixture
def talk() -> Iterator[Talk]:
    opened = Talk()
    yield opened
    opened.close()


async def test_a_conversation_goes_from_message_to_message_and_ends_with_its_objects(tmp_path: Path, talk: Talk) -> None:
    async with open_client(home=tmp_path / "home", workspace=tmp_path, model="offline") as client, anyio.create_task_group() as group:
        conversation = WireConversation(talk.objects(), talk.renderer, client.defaults, session="s", options={})
        ended = []

        async def serve() -> None:
            ended.append(await conversation.serve(client.desk))

        group.start_soon(serve)
        talk.say(type="message", text="calculate 6 * 7", key="first")
        assert (await talk.until("turn.finished"))["text"] == "42"
        talk.say(type="speech")
        assert (await talk.until("error"))["kind"] == "UsageError"
        talk.say(type="message", text="calculate 1 + 1")
        assert (await talk.until("turn.finished", 2))["text"] == "2"
        talk.end()
    assert [type(one) for one in ended] == [TurnFinished]
    assert [event["seq"] for event in talk.events] == list(range(1, len(talk.events) + 1))


async def test_a_message_that_comes_again_with_its_key_is_not_a_second_turn(tmp_path: Path, talk: Talk) -> None:
    async with open_client(home=tmp_path / "home", workspace=tmp_path, model="offline") as client, anyio.create_task_group() as group:
        group.start_soon(WireConversation(talk.objects(), talk.renderer, client.defaults, session="s", options={}).serve, client.desk)
        for count in (1, 2):
            talk.say(type="message", text="calculate 6 * 7", key="once")
            assert (await talk.until("turn.finished", count))["turn"] == 1
        talk.end()
    assert sum(event["type"] == "turn.started" for event in talk.events if event["turn"] > 1) == 0


async def test_a_conversation_that_is_stopped_while_nothing_runs_ends_without_a_result(tmp_path: Path, talk: Talk) -> None:
    async with open_client(home=tmp_path / "home", workspace=tmp_path, model="offline") as client, anyio.create_task_group() as group:
        conversation = WireConversation(talk.objects(), talk.renderer, client.defaults, session="s", options={})
        ended = []

        async def serve() -> None:
            ended.append(await conversation.serve(client.desk))

        group.start_soon(serve)
        talk.say(type="message", text="calculate 6 * 7")
        await talk.until("turn.finished")
        await anyio.wait_all_tasks_blocked()
        await conversation.stop()
    assert ended == [None]
