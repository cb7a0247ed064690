"""A session that no turn runs in while it is changed as a whole."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from ...errors import SessionBusy
from ...ports import Store
from ...runtime.sessions import lease_name
from ...types.records import Lease

PATIENCE = 1.0
"""Seconds that a turn which has just ended has to let its session go."""
_LOOK = 0.02


@asynccontextmanager
async def held_session(store: Store, session: str, kept: str, hint: str) -> AsyncIterator[Lease]:
    """The session is this program's alone: no turn of it runs or begins. Raises `SessionBusy`, which says what was `kept`."""
    lease, waited = await store.acquire(lease_name(session)), 0.0
    while lease is None and waited < PATIENCE:
        await anyio.sleep(_LOOK)
        lease, waited = await store.acquire(lease_name(session)), waited + _LOOK
    if lease is None:
        holder = await store.holder(lease_name(session)) or "another process"
        raise SessionBusy(f"a turn of the session {session} runs in {holder}; {kept}", hint=hint)
    try:
        yield lease
    finally:
        with anyio.CancelScope(shield=True):
            await store.release(lease)
