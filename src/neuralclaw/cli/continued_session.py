"""The session that a command continues, by its name or a beginning of it, or as the newest one of the workspace."""

import sys

from ..app.option_checks import checked_name, continued
from ..ports import Desk


async def continued_session(desk: Desk, name: str) -> str:
    """The session of that name, or of that unique beginning. Raises `SessionNotFound`, and `UsageError` for one that holds no conversation."""
    return continued(str((await desk.do("sessions.show", session=checked_name(name), after=sys.maxsize))["session"]))


async def newest_session(desk: Desk) -> str:
    """The session of the client's workspace that was used last. Raises `SessionNotFound`."""
    return str((await desk.do("sessions.show", after=sys.maxsize))["session"])
