"""What lies outside the program and survives every crash: a model that follows plans, tools with a ledger, and what both wait for."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio

from neuralclaw import tool
from neuralclaw.testing import Reply
from neuralclaw.types.messages import AssistantMessage, Request, ToolMessage, UserMessage

from .faults import FaultyStore, Record
from .plans import EFFECTS, TEXT, label, steps_of


@dataclass
class Hold:
    """Where a process waits: in the model before reply `name`, or inside the call `name`. `heard`: the messages in the model's request."""

    process: int
    name: str
    heard: frozenset[str]
    free: anyio.Event


class World:
    """Used on the event loop alone."""

    def __init__(self) -> None:
        self.record = Record()
        self.ledger: Counter[str] = Counter()
        self.wrong: list[str] = []
        """What the model or a tool saw that must never be."""
        self.held: dict[str, Hold] = {}
        """By session."""
        self.entered: Counter[str] = Counter()
        """How often something was held, by session."""
        self.freed: set[str] = set()
        self.everything_free = False
        self.tick = anyio.Event()

    def touched(self) -> None:
        """Something has happened: whoever waits for quiet looks again."""
        tick, self.tick = self.tick, anyio.Event()
        tick.set()

    def let_go(self, session: str) -> None:
        hold = self.held[session]
        self.freed.add(hold.name)
        hold.free.set()

    async def hold(self, process: int, name: str, heard: frozenset[str] = frozenset()) -> None:
        """Wait until let go; what was let go once waits no more, in no process."""
        if self.everything_free or name in self.freed:
            return
        session = name[0]
        if session in self.held:
            self.wrong.append(f"{name} runs in process {process} while {self.held[session]} runs: two turns of one session")
        self.entered[session] += 1
        hold = self.held[session] = Hold(process, name, heard, anyio.Event())
        self.touched()
        try:
            await hold.free.wait()
        finally:
            if self.held.get(session) is hold:
                del self.held[session]

    # the model

    def model(self, process: int) -> Callable[[Request], Awaitable[Reply]]:
        async def think(request: Request) -> Reply:
            self._check(request)
            asked = [i for i, m in enumerate(request.messages) if isinstance(m, UserMessage) and TEXT.fullmatch(m.text)]
            message = request.messages[asked[-1]]
            assert isinstance(message, UserMessage)
            key, steps = message.text.split()[0], steps_of(message.text)
            place = sum(isinstance(m, AssistantMessage) for m in request.messages[asked[-1] :])
            if place >= len(steps):
                self.wrong.append(f"the model is asked for reply {place} of {message.text!r}")
                return Reply(f"done {key}")
            step = steps[place]
            if step.waits:
                heard = frozenset(m.text.split()[0] for m in request.messages if isinstance(m, UserMessage))
                await self.hold(process, f"{key}.{place}", heard)
            names = [label(key, place, i) for i in range(len(step.tools))]
            calls = [{"name": t, "id": name, "arguments": {"label": name}} for t, name in zip(step.tools, names, strict=True)]
            return Reply(tool_calls=calls) if calls else Reply(f"done {key}")

        return think

    def _check(self, request: Request) -> None:
        """Each call of the request has exactly one result, in the order of the calls, directly behind the reply; no message stands there twice."""
        messages = request.messages
        for i, message in enumerate(messages):
            if isinstance(message, AssistantMessage):
                ids = [call.id for call in message.tool_calls]
                results = []
                for after in messages[i + 1 :]:
                    if not isinstance(after, ToolMessage):
                        break
                    results.append(after.call_id)
                if ids != results:
                    self.wrong.append(f"the calls {ids} have the results {results}")
        texts = Counter(m.text for m in messages if isinstance(m, UserMessage) and TEXT.fullmatch(m.text))
        self.wrong += [f"the model reads {text!r} {count} times" for text, count in texts.items() if count > 1]

    # the tools

    def tools(self, process: int, store: FaultyStore) -> list[Any]:
        return [self._tool(name, effect, process, store) for name, effect in EFFECTS.items()]

    def _tool(self, name: str, effect: str, process: int, store: FaultyStore) -> Any:
        async def work(label: str) -> str:
            "Leave a line in the ledger."
            self._run(name, label, store)
            if name == "slow":
                await self.hold(process, label)
            return f"{name} {label}"

        work.__name__ = name
        return tool(risk="HIGH" if name == "ask" else "LOW", effect=effect)(work)

    def _run(self, name: str, label: str, store: FaultyStore) -> None:
        started = store.started.get(label)
        if started is None:
            self.wrong.append(f"{name} {label} runs and its beginning is not on record")
        elif EFFECTS[name] != "pure" and started > store.durable:
            self.wrong.append(f"{name} {label} runs and its beginning is not on the disk")
        if label in self.record.finished:
            self.wrong.append(f"{name} {label} runs after its result was recorded")
        self.ledger[label] += 1
