"""`grants add`: a grant for a place, a command or a host that is given before any question."""

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ...channels.value_text import local
from ...errors import ToolValidationError, UsageError
from ...ports import Toolset
from ...runtime.record_verbs import granted
from ...safety.paths import HOMES, holds_data_home, in_data_home, is_system, person_home, secret
from ...safety.scopes import IN_SESSION
from ...types.entries import HOME, Draft
from ...types.events import GrantGiven
from ...types.grants import CallOp, PlaceOp, Scope
from ...types.ids import new_id
from ...types.labels import OWNER
from ...types.options import Policy
from ...types.questions import Answers
from ...types.risk import Trust
from ...types.signals import Denied, Parked
from ..capability_context import BuiltInContext
from ..explain import CallCircumstances, made

LONGEST_DAYS = 30
"""A grant without a question ends at the latest after so many days."""
MOST_USES = 10_000
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_CALLS: dict[CallOp, tuple[str, str]] = {"run": ("terminal", "command"), "fetch": ("web_fetch", "url")}
_VERBS: dict[PlaceOp, str] = {"read": "read", "write": "create and change", "delete": "delete"}


def seconds_of(text: str) -> int:
    """`90s`, `20m`, `1h`, `2d` in seconds. Raises `UsageError`."""
    match = re.fullmatch(r"([1-9][0-9]{0,6})([smhd])", text.strip())
    seconds = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 0 < seconds <= LONGEST_DAYS * 86_400:
        said = f"{text!r} is not how long a grant may hold: a number with s, m, h or d behind it, {LONGEST_DAYS}d at most"
        raise UsageError(said, hint="for example: --for 1h")
    return seconds


def place_of(path: str, op: PlaceOp, policy: Policy, workspace: str) -> str:
    """The real directory that is meant. Raises `UsageError` for what is none, or too much."""
    home = person_home(policy)
    named = home + path[1:] if home and (path == "~" or path.startswith("~/")) else path
    place = "" if not path or "\0" in path else os.path.realpath(Path(workspace or "/") / named)
    if not place or not Path(place).is_dir():
        raise UsageError(f"{path!r} is no directory; nothing was recorded")
    inside = place != workspace and workspace not in ("/", home) and place.startswith(f"{workspace.rstrip('/')}/")
    why = ""
    if place in ("/", home) or place in HOMES:
        why = "it is a home, or holds all of them"
    elif secret(place):
        why = "it holds keys"
    elif in_data_home(place, policy, "") or holds_data_home(place, policy, ""):
        why = "it holds the agent's own data"
    elif op != "read" and not inside and is_system(place) and not place.startswith("/root/"):
        why = "it belongs to the system"
    if why:
        raise UsageError(f"{place} is not given: {why}; nothing was recorded", hint="name another directory, such as one in the workspace")
    return place


class GivingGrants:
    """Grants on record as the word of the client of `context`. `tools`: those that its turns have."""

    def __init__(self, context: BuiltInContext, tools: Toolset) -> None:
        self._context, self._tools = context, tools

    async def add(self, *, op: PlaceOp | CallOp, what: str, workspace: str, lasting: str, uses: int | None, session: str) -> dict[str, Any]:
        """The grant as `grants list` shows it. Raises `UsageError`."""
        context = self._context
        if not workspace:
            raise UsageError("a grant holds in a workspace, and there is none", hint="--workspace DIR")
        seconds = seconds_of(lasting)
        if uses is not None and not 1 <= uses <= MOST_USES:
            raise UsageError(f"a grant lets 1 to {MOST_USES:,} calls run, not {uses}")
        if op == "run" or op == "fetch":
            covered, scopes = await self._call(op, what, workspace)
        else:
            place = place_of(what, op, context.home.policy, workspace)
            covered, scopes = f"{_VERBS[op]} files below {place}", (Scope("below", place, op),)
        until = datetime.fromtimestamp(context.clock.now() + seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        where = f"in session {session}" if session else "in every session of this workspace"
        count = "" if uses is None else f", {uses} use{'' if uses == 1 else 's'}"
        body = GrantGiven(
            grant_id=new_id(),
            by=context.who,
            covers=f"{covered}, {where}, until {local(until)}{count}",
            scopes=tuple(msgspec.to_builtins(scope) for scope in scopes),
            workspace=workspace,
            session=session,
            until=until,
            uses=uses,
        )
        context.notify(await context.store.append(HOME, [Draft(0, body, OWNER)]))
        return next(granted(grant) for grant in await context.store.grants() if grant.grant_id == body.grant_id)

    async def _call(self, op: CallOp, what: str, workspace: str) -> tuple[str, tuple[Scope, ...]]:
        """What a `session` answer to the question about this very call would cover, in words and as scopes."""
        if not what.strip():
            raise UsageError(f"the {'command' if op == 'run' else 'address'} is empty; nothing was recorded")
        name, argument = _CALLS[op]
        spec = self._tools.find(name)
        if spec is None:
            raise UsageError(f"the tool {name} is not among the tools of this home; nothing was recorded", hint="neuralclaw tools list")
        try:
            arguments = self._tools.prepare(name, {argument: what})
            await self._context.home.gate.authorize(made(spec, arguments, CallCircumstances(workspace=workspace, trust=Trust.LOW)), Answers())
        except ToolValidationError as error:
            raise UsageError(f"{error.text}; nothing was recorded") from error
        except Denied as denied:
            raise UsageError(f"no grant can allow this: {'; '.join(denied.verdict.reasons)}; nothing was recorded") from None
        except Parked as parked:
            question = parked.question
        else:
            raise UsageError(f"{what!r:.200} runs without a question; nothing was recorded")
        if question.covers.session is None:
            raise UsageError("a yes to this covers one call alone; nothing was recorded", hint=f"what is asked: {question.summary}")
        return question.covers.session.removesuffix(IN_SESSION), question.scopes
