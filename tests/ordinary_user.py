"""Programs that run as an ordinary user where root runs the tests, also from a checkout or a Python below a directory that only root may enter, as `/root`."""

import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
ORDINARY = 54321 if os.geteuid() == 0 else os.geteuid()
"""A user that no account has; where the tests do not run as root, the user who runs them."""


def run_as(uid: int, words: list[str], *, env: Mapping[str, str], cwd: Path = ROOT, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """The ended program, with its output as text. Only root can give another user than its own."""
    if uid != os.geteuid():
        words = ["unshare", "--mount", "sh", "-euc", f"{_opened()}cd {shlex.quote(str(cwd))}\n{_AS} {shlex.join(words)}", "sh", str(uid)]
    return subprocess.run(words, cwd=cwd, env=dict(env), capture_output=True, text=True, timeout=timeout, check=False)


_AS = 'exec setpriv --reuid="$1" --regid="$1" --clear-groups --'


def _opened() -> str:
    """Commands for a mount namespace in which every user reaches the checkout and Python: each closed directory is replaced by one that holds only these."""
    wanted = {path: _closed(path) for path in (ROOT, Path(sys.base_prefix).resolve())}
    over = sorted({str(closed) for closed in wanted.values() if closed})
    if not over:
        return ""
    kept = {f"/mnt/{number}": shlex.quote(str(path)) for number, (path, closed) in enumerate(wanted.items()) if closed}
    lines = ["mount -t tmpfs -o mode=755 tmpfs /mnt"]
    lines += [f"mkdir {at}; mount --bind {path} {at}" for at, path in kept.items()]
    lines += [f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(closed)}" for closed in over]
    lines += [f"mkdir -p {path}; mount --bind {at} {path}" for at, path in kept.items()]
    return "\n".join([*lines, "umount --recursive /mnt", ""])


def _closed(path: Path) -> Path | None:
    """The outermost directory above that other users may not enter."""
    return next((one for one in reversed(path.parents) if not one.stat().st_mode & stat.S_IXOTH), None)
