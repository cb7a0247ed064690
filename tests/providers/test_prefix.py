"""What services cache is the beginning of a request: request after request it stays the same bytes, over each wire format and a whole agent."""

import itertools
from pathlib import Path

import msgspec
import pytest

from neuralclaw import Agent

from .conformance import Wire
from .loopback import LoopbackServer, Response, Seen, loopback
from .test_chat import ChatWire
from .test_messages import MessagesWire
from .test_ollama import OllamaWire
from .test_responses import ResponsesWire

pytestmark = [pytest.mark.anyio, pytest.mark.full]

TURNS = 60
WIRES: dict[str, Wire] = {"chat": ChatWire(), "responses": ResponsesWire(), "messages": MessagesWire(), "ollama": OllamaWire()}
SNAPSHOT = b"<environment>\\n"
"""How the snapshot of the machine begins, as JSON has it."""
BEHIND_TEXT = b"\\n\\n"
"""What parts the snapshot from the text before it, where both are one text."""
BLOCK = b',{"type":"text","text":"'
"""What comes before the snapshot where it is a block of its own."""
MARK = b',"cache_control":{"type":"ephemeral"}'
"""Says how far a service shall cache, and is no part of what it caches."""


class Body(msgspec.Struct):
    """A request's parts, each the very bytes that were sent."""

    messages: msgspec.Raw = msgspec.Raw()
    input: msgspec.Raw = msgspec.Raw()
    system: msgspec.Raw = msgspec.Raw()
    instructions: msgspec.Raw = msgspec.Raw()
    tools: msgspec.Raw = msgspec.Raw()

    @property
    def fixed(self) -> tuple[bytes, bytes]:
        """The system prompt, where it is no message, and the tools."""
        return bytes(self.system) or bytes(self.instructions), bytes(self.tools)

    @property
    def said(self) -> bytes:
        """The messages."""
        return (bytes(self.messages) or bytes(self.input)).replace(MARK, b"")

    @property
    def lasting(self) -> bytes:
        """All messages up to the end of the last text that is not the snapshot: more than the messages up to the person's last one."""
        before, found, _ = self.said.rpartition(SNAPSHOT)
        assert found, "the request tells of the machine"
        for joint in (BEHIND_TEXT, BLOCK):
            if before.endswith(joint):
                return before.removesuffix(joint)
        raise AssertionError(f"the snapshot stands in an unknown place: {before[-80:]!r}")


def model(wire: Wire, server: LoopbackServer) -> None:
    """A service that calls a tool in a turn's first request and answers in its second, and summarises when it is asked to."""
    turns: list[Seen] = []

    def answer(seen: Seen) -> Response:
        if b'"calculate"' not in seen.body:
            return Response(wire.text("They calculated."))
        turns.append(seen)
        number = len(turns)
        if number % 2:
            return Response(wire.calls((f"call_{number}", "calculate", f'{{"expression":"{number}*2"}}')))
        return Response(wire.text("It is ", f"{2 * number - 2}."))

    server.kind, server.answer = wire.kind, answer


async def requests(api: str, home: Path) -> list[Body]:
    """What one session of `TURNS` turns sends, two requests a turn."""
    async with loopback() as server:
        model(WIRES[api], server)
        address = server.url if api in ("chat", "responses") else server.url.removesuffix("/v1")
        told = {"llm.providers": {"mine": {"api": api, "base_url": address, "models": {"m": {"tools": True}}}}}
        work = home.parent / "work"
        work.mkdir()
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(home.parent)}
        async with Agent.open(home=home, workspace=work, model="mine:m", settings=told, environ=environ) as agent:
            for turn in range(TURNS):
                end = await agent.ask(f'What is {2 * turn + 1} * 2, in "words" or  ç?', session="s")
                assert (end.status, end.text) == ("done", f"It is {4 * turn + 2}.")
        sent = [seen for seen in server.seen if b'"calculate"' in seen.body]
        assert len(sent) == 2 * TURNS
        return [msgspec.json.decode(seen.body, type=Body) for seen in sent]


@pytest.mark.parametrize("api", WIRES)
async def test_of_every_twenty_requests_in_a_row_nineteen_begin_the_next_one_byte_for_byte(api: str, home: Path) -> None:
    sent = await requests(api, home)
    begins = [after.said.startswith(before.lasting) for before, after in itertools.pairwise(sent)]
    worst = min(sum(begins[first : first + 20]) for first in range(len(begins) - 19))
    assert worst >= 19, [number for number, same in enumerate(begins, 1) if not same]


@pytest.mark.parametrize("api", WIRES)
async def test_system_prompt_and_tools_are_the_same_bytes_in_every_request_of_a_session(api: str, home: Path) -> None:
    sent = await requests(api, home)
    assert len({body.fixed for body in sent}) == 1
    system, tools = sent[0].fixed
    assert b'"calculate"' in tools
    assert system or sent[0].said.startswith(b'[{"role":"system"')
