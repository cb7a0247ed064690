"""The first copy of a workspace is made while the model works, so that the first command that writes need not wait for it."""

import threading
from collections.abc import Callable, Sequence

from ...types.risk import Power
from ...types.tools import ToolSpec

AFTER_SECONDS = 0.5
"""How long a turn has run when the copy begins. A shorter one, of calls that read, loads and looks at nothing for undo."""


class EarlyCopies:
    """Begins the first copies of one process, each workspace once. `begin` is called in a thread of its own, with the workspace."""

    def __init__(self, begin: Callable[[str], object]) -> None:
        self._begin = begin
        self._timers: dict[str, threading.Timer] = {}

    def turn_begins(self, workspace: str, tools: Sequence[ToolSpec]) -> None:
        """A turn with these tools begins there: where one of them can run programs, the copy begins soon."""
        if workspace not in self._timers and any(Power.EXECUTE in tool.powers for tool in tools):
            timer = self._timers[workspace] = threading.Timer(AFTER_SECONDS, self._begin, (workspace,))
            timer.daemon = True
            timer.start()

    def close(self) -> None:
        """What has not begun does not begin. Waits for no copy."""
        for timer in self._timers.values():
            timer.cancel()
            timer.join()
