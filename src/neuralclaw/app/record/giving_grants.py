"""`grants add`: a grant for a place that is given before any question."""

import os
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...channels.value_text import local
from ...errors import UsageError
from ...ports import Clock, Store
from ...runtime.record_verbs import granted
from ...safety.paths import SYSTEM, holds_data_home, in_data_home, person_home, secret
from ...types.entries import HOME, Draft, Entry
from ...types.events import GrantGiven
from ...types.grants import PlaceOp
from ...types.ids import new_id
from ...types.labels import OWNER
from ...types.options import Policy

LONGEST_DAYS = 30
"""A grant without a question ends at the latest after so many days."""
MOST_USES = 10_000
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
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
    system = op != "read" and any(place == root or place.startswith(f"{root}/") for root in SYSTEM if root != "/root")
    if place in ("/", home) or system or secret(place) or in_data_home(place, policy, "") or holds_data_home(place, policy, ""):
        raise UsageError(f"{place} is not given as a whole: it is a home, of the system, or holds keys or the agent's own data", hint="a directory in it")
    return place


class GivingGrants:
    """Grants on record as the word of `who`. `notify` tells this process of entries that were written."""

    def __init__(self, store: Store, clock: Clock, policy: Policy, notify: Callable[[Sequence[Entry]], None], who: str) -> None:
        self._store, self._clock, self._policy, self._notify, self._who = store, clock, policy, notify, who

    async def add(self, *, op: PlaceOp, path: str, workspace: str, lasting: str, uses: int | None, session: str) -> dict[str, Any]:
        """The grant as `grants list` shows it. Raises `UsageError`."""
        if not workspace:
            raise UsageError("a grant holds in a workspace, and there is none", hint="--workspace DIR")
        place, seconds = place_of(path, op, self._policy, workspace), seconds_of(lasting)
        if uses is not None and not 1 <= uses <= MOST_USES:
            raise UsageError(f"a grant lets 1 to {MOST_USES:,} calls run, not {uses}")
        until = datetime.fromtimestamp(self._clock.now() + seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        where = f"in session {session}" if session else "in every session of this workspace"
        count = "" if uses is None else f", {uses} use{'' if uses == 1 else 's'}"
        covers = f"{_VERBS[op]} files below {place}, {where}, until {local(until)}{count}"
        body = GrantGiven(
            grant_id=new_id(),
            by=self._who,
            covers=covers,
            scopes=({"kind": "below", "value": place, "tool": op},),
            workspace=workspace,
            session=session,
            until=until,
            uses=uses,
        )
        self._notify(await self._store.append(HOME, [Draft(0, body, OWNER)]))
        return next(granted(grant) for grant in await self._store.grants() if grant.grant_id == body.grant_id)
