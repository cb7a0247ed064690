"""Directories that a command closed are opened for their owner while they are looked into, and have their mode again afterwards."""

import os
import stat
from contextlib import suppress

from ..nolinks import opener

_PATH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LentDirectories:
    """Those of one look."""

    def __init__(self) -> None:
        self._modes: list[tuple[int, int]] = []

    def lend(self, path: str) -> bool:
        """Let the owner look into it; whether that can be done now."""
        try:
            fd = opener()(path, _PATH, 0)
        except OSError:
            return False
        try:
            mode = stat.S_IMODE(os.fstat(fd).st_mode)
            os.chmod(f"/proc/self/fd/{fd}", mode | 0o700)
        except OSError:
            os.close(fd)
            return False
        self._modes.append((fd, mode))
        return os.access(path, os.R_OK | os.X_OK)

    def take_back(self) -> None:
        for fd, mode in reversed(self._modes):
            with suppress(OSError):
                os.chmod(f"/proc/self/fd/{fd}", mode)
            os.close(fd)
        self._modes.clear()
