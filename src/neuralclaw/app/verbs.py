"""The table of verbs: every command of the desk under its name. Command line, slash commands, pages and Python render the same values."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec

from ..errors import ToolNotFoundError
from ..plugins import load
from ..runtime.desk import SessionDesk, Verb
from ..runtime.sessions import lease_name
from ..runtime.verbs import reading_verbs
from ..types.actions import Action, Origin
from ..types.entries import Event
from ..types.events import ToolFinished
from ..types.judging import Trust
from ..types.tools import ToolSpec
from .parts import Parts

Turn = Callable[..., AbstractAsyncContextManager[AsyncIterator[Event]]]


def agent_verbs(parts: Parts, desk: SessionDesk, turn: Turn, workspace: str, trust: Trust) -> dict[str, Verb]:
    """The verbs of an agent that works in `workspace` under `trust`; `turn` is its way to run one."""
    verbs = Verbs(parts, desk, turn, workspace, trust)
    return {
        **reading_verbs(parts.store),
        "approvals.answer": verbs.answer,
        "tools.list": verbs.tools,
        "tools.show": verbs.tool,
        "tools.call": verbs.call,
        "policy.explain": verbs.explain,
        "policy.rules": verbs.rules,
        "policy.check": verbs.check,
        "config.show": verbs.config,
        "instructions.list": verbs.instructions,
        "models.list": verbs.models,
        "models.show": verbs.model,
        "doctor": verbs.doctor,
    }


class Verbs:
    """The verbs that need more than the record."""

    def __init__(self, parts: Parts, desk: SessionDesk, turn: Turn, workspace: str, trust: Trust) -> None:
        self._parts, self._desk, self._turn, self._workspace, self._trust = parts, desk, turn, workspace, trust

    async def answer(self, *, approval_id: str, decision: str, by: str = "owner") -> dict[str, Any]:
        """Answer a question; `holder` says who goes on with the session now, or is None."""
        await self._desk.answer(approval_id, decision, by=by)
        found = await self._parts.store.question(approval_id)
        assert found is not None, "it was answered just now"
        holder = await self._parts.store.holder(lease_name(found.session))
        return {"approval_id": approval_id, "session": found.session, "turn": found.turn, "decision": decision, "holder": holder}

    async def tools(self) -> list[dict[str, Any]]:
        return [described(spec) for spec in self._parts.tools.tools()]

    async def tool(self, *, name: str) -> dict[str, Any]:
        return described(self._spec(name))

    async def call(self, *, name: str, arguments: dict[str, Any], session: str | None = None, dry_run: bool = False) -> dict[str, Any]:
        """Call one tool through the whole pipeline: the `tool.finished` object. `dry_run`: the verdict, nothing is run."""
        spec = self._spec(name)
        if dry_run:
            prepared = self._parts.tools.prepare(spec.name, arguments)
            return as_dict(await self._parts.gate.judge(self._action(spec, prepared)))
        text = msgspec.json.encode({"tool": spec.name, "arguments": arguments}).decode()
        async with self._turn(text, session=session, model="direct:call") as events:
            finished = [event async for event in events if isinstance(event.body, ToolFinished)]
        return finished[-1].to_dict()

    def _spec(self, name: str) -> ToolSpec:
        spec = self._parts.tools.find(name)
        if spec is None:
            raise ToolNotFoundError(f"there is no tool named {name!r}", hint="neuralclaw tools list")
        return spec

    def _action(self, spec: ToolSpec, arguments: dict[str, Any]) -> Action:
        return Action(
            session="explain", turn=0, call_id="explain", spec=spec, arguments=arguments, workspace=self._workspace, trust=self._trust, origin=Origin()
        )

    async def explain(self, **asked: Any) -> dict[str, Any]:
        """What the gate would decide about a command, address, path or call, and why. Runs nothing."""
        return as_dict(await load("explain")(self._parts, {"workspace": self._workspace, "trust": self._trust, **asked}))

    async def rules(self) -> list[dict[str, Any]]:
        """The rules in force: the owner's, then the built-in ones."""
        owner = [{"id": f"owner.{r.id}", "decision": str(r.decision), "reason": r.reason} for r in self._parts.policy.rules]
        return [*owner, *load("rules")()]

    async def check(self, *, file: str) -> dict[str, Any]:
        """Whether a policy file (a YAML or JSON list of rules, or a whole configuration) can be used."""
        errors: list[str] = load("policy_file")(file)
        return {"ok": not errors, "errors": errors}

    async def config(self) -> list[dict[str, Any]]:
        return [value._asdict() for value in self._parts.loaded.values]

    async def instructions(self) -> list[dict[str, Any]]:
        """The `AGENTS.md` files that a turn in the workspace begins with, the nearest last; none where they are switched off.

        `used` is for a model with a large window.
        """
        source = self._parts.instructions
        return [] if source is None else [as_dict(file) for file in (await source.read(self._workspace)).files]

    async def models(self) -> list[dict[str, Any]]:
        """The models that can be chosen by name, with their window: those that are set, and each ready service's default."""
        return list(await load("models")(self._parts).list())

    async def model(self, *, model: str | None = None) -> dict[str, Any]:
        """The model that `P:M`, a service alone, or nothing stands for: its full name, its window in tokens. Raises `ConfigError`."""
        return dict(await load("models")(self._parts).show(model))

    async def doctor(self, *, rebuild: bool = False, call: bool = False) -> list[dict[str, Any]]:
        """What works here, what is missing and how to get it. `call`: the models are called once for real."""
        if rebuild:
            await self._parts.store.rebuild()
        checks: list[dict[str, Any]] = await load("doctor")(self._parts, rebuilt=rebuild, call=call)
        return checks


def described(spec: ToolSpec) -> dict[str, Any]:
    """A tool as `tools list` and `tools show` print it."""
    return as_dict(spec)


def as_dict(value: Any) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(value, str_keys=True)
    return plain
