"""A restore that is killed: `python -m tests.durability.killed_restore HOME BACKUP STEP`.

The process kills itself before its STEP-th change of a name in the home: a rename, a replacement or a removal. It prints `whole` where there are fewer.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import anyio

from neuralclaw.app.settings_verbs import settings_desk
from neuralclaw.config import SettingsRequest


def main(home: str, backup: str, step: str) -> None:
    left = int(step)

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def change(*given: Any, **named: Any) -> Any:
            nonlocal left
            if str(given[0]).startswith(home):
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **named)

        return change

    async def restore() -> None:
        async with settings_desk(SettingsRequest(home, os.environ, None)) as desk:
            await desk.do("restore", backup=backup)

    for name in ("rename", "replace", "unlink"):
        setattr(os, name, counted(getattr(os, name)))
    anyio.run(restore)
    sys.stdout.write("whole\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
