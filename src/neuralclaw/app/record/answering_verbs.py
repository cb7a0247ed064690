"""The verbs by which a client answers questions, and takes answers back."""

from collections.abc import Callable, Sequence
from typing import Any

from ... import lookups
from ...errors import UsageError
from ...ports import Desk, Store
from ...runtime.record_verbs import granted
from ...runtime.sessions import lease_name
from ...types.entries import Draft, Entry
from ...types.events import GrantRevoked
from ...types.grants import StandingGrant
from ...types.labels import OWNER


class AnsweringVerbs:
    """Answers, and their revocation, on record as the word of `who`. `notify` tells this process of entries that were written."""

    def __init__(self, store: Store, desk: Desk, notify: Callable[[Sequence[Entry]], None], who: str) -> None:
        self._store, self._desk, self._notify, self._who = store, desk, notify, who

    async def answer(self, *, approval_id: str, decision: str, text: str | None = None) -> dict[str, Any]:
        """Answer a question; `holder` says who goes on with the session now, or is None. `text` goes with a no, for the model."""
        await self._desk.answer(approval_id, decision, by=self._who, text=text)
        found = await lookups.question(self._store, approval_id)
        assert found is not None, "it was answered just now"
        holder = await self._store.holder(lease_name(found.session))
        return {"approval_id": approval_id, "session": found.session, "turn": found.turn, "decision": decision, "holder": holder}

    async def revoke(self, *, grant_id: str) -> dict[str, Any]:
        """Take a grant back, by its id or a unique prefix: it counts at no later decision, in no process. Raises `UsageError`."""
        grant = _chosen(await self._store.grants(), grant_id)
        draft = Draft(grant.turn, GrantRevoked(grant_id=grant.grant_id, by=self._who), OWNER)
        self._notify(await self._store.append(grant.session, [draft]))
        return granted(grant)


def _chosen(grants: Sequence[StandingGrant], name: str) -> StandingGrant:
    """The grant of that id, or of that unique prefix."""
    found = [g for g in grants if g.grant_id == name] or [g for g in grants if name and g.grant_id.startswith(name)]
    if len(found) == 1:
        return found[0]
    several = f"several grants begin with {name}: {', '.join(g.grant_id for g in found[:5])}"
    raise UsageError(f"{several if found else f'there is no grant {name}'}; nothing was revoked", hint="neuralclaw grants list")
