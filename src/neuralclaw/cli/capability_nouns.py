"""The commands of capabilities for `--help`, without loading anything where no capability is enabled, and from a cache where nothing has changed.

The cache is `capabilities.json` in the data directory: made by whoever loaded the capabilities, used while the configuration, the installed packages
and the files of the capabilities are as they were. It is never needed: without it `--help` is slower, and says the same. Nothing of `typing` is used:
to load it costs `--help` half of what it takes.
"""

import os

from .._version import __version__

FILE = "capabilities.json"
FORMAT = 1
_WORD = b"capabilities"
_FILES = ("config.yaml", "config.json", ".env")


def folders(home: str | None) -> list[str]:
    """The data directory, and the one that the configuration may stand in besides, as the settings find them; none where they say why not."""
    environ, person = os.environ, os.environ.get("HOME") or ""
    named = home or environ.get("NEURALCLAW_HOME")
    if named:
        return [os.path.abspath(person + named[1:] if person and (named == "~" or named.startswith("~/")) else named)]  # noqa: PTH100
    found = []
    for variable, default in (("XDG_DATA_HOME", ".local/share"), ("XDG_CONFIG_HOME", ".config")):
        base = environ.get(variable, "")
        if base.startswith("/") or person.startswith("/"):
            found.append(os.path.join(base if base.startswith("/") else os.path.join(person, default), "neuralclaw"))  # noqa: PTH118
    return found


def perhaps(home: str | None) -> bool:
    """Whether a capability may be enabled: the word stands in the configuration. Nothing is parsed."""
    if _variables():
        return True
    for folder in folders(home):
        for name in _FILES:
            try:
                with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123
                    if _WORD in file.read().lower():
                        return True
            except OSError:
                continue  # whoever needs the settings says why they cannot be read
    return False


def _variables() -> list[str]:
    """The variables that may enable capabilities."""
    return [f"{name}={value}" for name, value in os.environ.items() if value and name.lower().startswith("neuralclaw_capabilities__")]


def stamp(home: str | None) -> list[object]:
    """What the cache holds for: the configuration, the variable that wins over it, and every place that packages are imported from."""
    import sys

    files = [_file(f"{folder}/{name}") for folder in folders(home) for name in _FILES]
    return [FORMAT, __version__, _variables(), files, [_file(entry or ".") for entry in sys.path]]


def _file(path: str) -> list[object]:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return [path, 0, 0]
    return [path, found.st_mtime_ns, found.st_size]


def cached(home: str | None) -> dict[str, str] | None:
    """Noun -> summary, in the order of the capabilities, where the cache still holds."""
    import json

    places = folders(home)
    try:
        with open(f"{places[0]}/{FILE}", encoding="utf-8") as file:  # noqa: PTH123
            held = json.load(file)
        if held["stamp"] != stamp(home) or any(_file(one[0]) != one for one in held["modules"]):
            return None
        return {str(noun): str(text) for one in held["capabilities"] for noun, text in one["nouns"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None  # none, or not one of ours: the capabilities are loaded


def keep(home: str | None, capabilities: object, modules: list[str]) -> None:
    """Write the cache into a data directory that is there; one that cannot be written has none."""
    import json

    text = json.dumps({"stamp": stamp(home), "modules": [_file(path) for path in modules], "capabilities": capabilities}, indent=1)
    target = f"{folders(home)[0]}/{FILE}"
    new = f"{target}.{os.getpid()}.new"
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(new, target)  # noqa: PTH105
    except OSError:
        return  # a read-only home, a full disk: the next --help loads the capabilities again
