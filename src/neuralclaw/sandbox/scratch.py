"""Directories for the temporary files of one program each, where a sandbox cannot give it an empty `/tmp`. The reaper makes them and takes them away."""

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress

from .restriction import remove
from .visible import places

_BASE = "/tmp"


def new_scratch() -> str:
    """A path where nothing is yet. It names this process, so that `sweep_scratch` knows when nobody needs it."""
    return f"{os.path.realpath(_BASE)}/neuralclaw-{os.getuid()}-{os.getpid()}-{secrets.token_hex(6)}"


def with_scratch(environment: Mapping[str, str], scratch: str) -> dict[str, str]:
    """The environment with that place for temporary files and for caches."""
    caches = {variable: f"{scratch}/{name.lstrip('.')}" for name, variable in places().caches.items()}
    return {**caches, **environment, "TMPDIR": scratch}


def sweep_scratch() -> None:
    """Take away what agents left behind whose reapers were killed as well."""
    base = os.path.realpath(_BASE)
    for entry in os.scandir(base):
        name, _, rest = entry.name.partition(f"neuralclaw-{os.getuid()}-")
        owner = rest.partition("-")[0]
        if name or not owner.isdigit() or os.path.exists(f"/proc/{owner}"):
            continue
        with suppress(OSError):
            if entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                remove(entry.path)
