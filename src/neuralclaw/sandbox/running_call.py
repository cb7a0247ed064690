"""The call whose command runs, as notes on the disk name it."""

import msgspec


class RunningCall(msgspec.Struct, frozen=True):
    """A call of a tool in a turn."""

    session: str
    turn: int
    call_id: str
    tool: str
