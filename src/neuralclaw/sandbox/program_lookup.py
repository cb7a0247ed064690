"""Which file a program name means, found the same way when it is judged and when it runs."""

import os
import stat


def find_program(name: str, path_env: str, cwd: str) -> str | None:
    """Absolute path of the executable file that `name` means in `cwd`, links not resolved; None if there is none.

    A name with a slash is a path; any other is looked for in the directories of `path_env`, as `execvp` does.
    """
    if not name or "\0" in name:
        return None
    if "/" in name:
        candidates = [os.path.join(cwd, name)]
    else:
        candidates = [os.path.join(cwd, directory, name) for directory in path_env.split(":")]
    return next((c for c in candidates if _runnable(c)), None)


def _runnable(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)
    except OSError:
        return False


def real_path(path: str) -> str:
    """As `os.path.realpath`, asked of the kernel: three calls, where that makes one for each directory of the path."""
    return existing_path(path) or os.path.realpath(path)


def existing_path(path: str) -> str:
    """The same of what is there, "" of what is not."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        real = os.readlink(f"/proc/self/fd/{place}")
    except OSError:
        real = ""
    finally:
        os.close(place)
    if real.startswith("/") and not real.endswith(" (deleted)"):
        return real
    return os.path.realpath(path) if os.path.exists(path) else ""


def beneath(path: str, root: str) -> bool:
    """Whether a real path is the root or lies below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")
