"""Where the agent's own code lies: its package, the Python that runs it, the packages that it imports, the program it was started as.

Whoever may write there runs what he likes at the agent's next start, outside of every sandbox. So no command and no file tool may, also where it lies in the
workspace (`.venv` of a copy of the repository) or in an allowed path.
"""

import os
import site
import sys
from collections.abc import Iterable
from functools import cache

from ..types.own_parts import ImportPlace, kept_imports, kept_in
from .program_lookup import beneath

_PROGRAM = "neuralclaw"
_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_PACKAGES = ("site-packages", "dist-packages")
_SHARED = ("/", "/usr", "/usr/local")
"""Prefixes that hold much besides a Python; of these only its packages and its program are the agent's."""
SYSTEM_DIRECTORIES = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_STORES = ("/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew")
"""Directories of package managers that change nothing in place, or are no place to work in."""
_hooks: set[str] = set()
"""Of every home that this process opened: one more is read-only, and nothing is open that another home keeps."""


@cache
def own_places() -> tuple[str, ...]:
    """Absolute and real; each covers all below it."""
    prefixes = [path for path in map(os.path.realpath, (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)) if path not in _SHARED]
    packages = [path for path in sys.path if os.path.isabs(path) and os.path.basename(path) in _PACKAGES]
    started = [sys.argv[0]] if sys.argv and os.path.basename(sys.argv[0]) == _PROGRAM and os.path.exists(sys.argv[0]) else []
    links = [os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in started]
    files = [os.path.realpath(path) for path in (_PACKAGE, sys.executable, *packages, *started)]
    found: list[str] = []
    for path in sorted({*prefixes, *files, *links}, key=lambda one: one.split("/")):
        if not (found and beneath(path, found[-1])):
            found.append(path)
    return tuple(found)


@cache
def own_imports() -> tuple[ImportPlace, ...]:
    """Where else it imports from: the directories of its search path (`PYTHONPATH`, what `.pth` files name) whether they are there or not, and what else a
    module was loaded from, as by the finder of an editable installation. What is written there may run at the next start, as that module or before it."""
    script = _script_directory()
    places = dict.fromkeys(os.path.realpath(path) for path in (*sys.path, *_users_packages()) if path)
    known = (*own_places(), *places, script)
    for module in [module for name, module in sys.modules.items() if "." not in name]:
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and os.path.isabs(file) and not any(place and beneath(file, place) for place in known):
            real = os.path.realpath(os.path.dirname(file) if os.path.basename(file).startswith("__init__.") else file)
            if not any(place and beneath(real, place) for place in known):
                places[real] = None
    if script and script in map(os.path.realpath, sys.path):
        places[script] = None
    own = own_places()
    return tuple(ImportPlace(path, script=path == script) for path in places if path != "/" and not any(beneath(path, place) for place in own))


def _script_directory() -> str:
    """The directory that Python put before its search path for this start: the script's, or the one that it was started in."""
    if sys.flags.safe_path:
        return ""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    try:
        return os.path.realpath(os.getcwd() if file is None or getattr(main, "__spec__", None) is not None else os.path.dirname(os.path.realpath(file)))
    except FileNotFoundError:  # the directory was removed
        return ""


def _users_packages() -> tuple[str, ...]:
    """The packages of the person, which Python would import from if they were there."""
    return (site.getusersitepackages(),) if site.ENABLE_USER_SITE else ()


def own_code() -> tuple[str | ImportPlace, ...]:
    """Both."""
    return (*own_places(), *own_imports())


@cache
def made_later() -> tuple[str, ...]:
    """Of the places that it imports from those that were not there at first, which no sandbox can keep."""
    return tuple(one.path for one in own_imports() if not os.path.lexists(one.path))


def keep_hooks(files: Iterable[str]) -> None:
    """Have every sandbox of this process keep these files of hooks, which run outside of every sandbox as the agent itself does."""
    _hooks.update(files)


def protected_places(workspace: str) -> tuple[str, ...]:
    """What no call with this workspace may change: files of hooks, `own_imports`, and `own_places`, of an environment in which the workspace itself lies its
    own parts."""
    parts = (path for place in own_places() for path in kept_in(place, workspace))
    return (*parts, *kept_imports(own_imports(), workspace), *sorted(_hooks))


def is_hook(path: str) -> bool:
    """Whether it is a file of a hook that is kept."""
    return path in _hooks


def owner_of(path: str) -> str:
    """What a protected place is, as the end of a sentence that the path begins."""
    return "is a hook of the owner" if is_hook(path) else "belongs to the program of the agent itself"


def trusted_path(path_env: str, writable: tuple[str, ...] = ()) -> str:
    """The directories of a search path from which the agent itself starts programs: those of the system, none that a command may write.

    `writable`: absolute real directories that commands may write. A virtual environment, `node_modules` or a home may be written by a command, or lie in
    the next workspace.
    """
    return ":".join(directory for directory in path_env.split(":") if _is_trusted(directory, writable))


def _is_trusted(directory: str, writable: tuple[str, ...]) -> bool:
    if not os.path.isabs(directory):
        return False
    real = os.path.realpath(directory)
    known = real in {os.path.realpath(place) for place in SYSTEM_DIRECTORIES} or any(beneath(real, store) for store in _STORES)
    return known and not any(root != "/" and beneath(real, root) for root in writable)
