"""Where the data directory and the state directory are: the environment of the process says it, and nothing that lies in them."""

import posixpath
from collections.abc import Iterator, Mapping

from ..errors import ConfigError

PLACES = ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
"""Variables that say where the person's directories are. In `.env` and in the secret store they count for nothing: what the data directory says would move
the anchor of its record and the key of its secrets, which are kept outside it."""


def not_taken(dotenv: Mapping[str, tuple[str, int]], path: str) -> Iterator[str]:
    """A sentence for each of these variables in a `.env`."""
    for name in PLACES:
        value, line = dotenv.get(name, ("", 0))
        if value:
            yield f"{path}:{line}: {name} counts only in the environment of the program, and this line is not used"


def data_directories(home: str | None, environ: Mapping[str, str]) -> tuple[str, list[str]]:
    """The data directory, and the directories where the configuration may be."""
    named = home or environ.get("NEURALCLAW_HOME")
    person = environ.get("HOME") or ""
    if named:
        named = person + named[1:] if person and (named == "~" or named.startswith("~/")) else named
        if "\0" in named:
            raise ConfigError("the data directory's name holds a zero byte")
        folder = _utf8(posixpath.abspath(named))
        return folder, [folder]

    def base(variable: str, default: str) -> str:
        value = environ.get(variable, "")
        if posixpath.isabs(value):
            return _utf8(value)
        if not posixpath.isabs(person):
            raise ConfigError("no data directory is known: neither HOME nor NEURALCLAW_HOME is set", hint="Name one with --home DIR or NEURALCLAW_HOME.")
        return _utf8(posixpath.join(person, default))

    folder = posixpath.join(base("XDG_DATA_HOME", ".local/share"), "neuralclaw")
    return folder, [folder, posixpath.join(base("XDG_CONFIG_HOME", ".config"), "neuralclaw")]


def _utf8(folder: str) -> str:
    """The directory. Raises `ConfigError` for a name that cannot be recorded."""
    if folder != folder.encode(errors="replace").decode():
        raise ConfigError(f"the name of the data directory {folder!r:.200} is not UTF-8; nothing was changed", hint="Name another one with --home DIR.")
    return folder


def data_places(home: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Where the agent keeps what is its own, each real: the data directory, the one for keys, the one where a configuration may be besides, whether they are
    there or not, and the files that links in these lead to."""
    settings, person = env.get("XDG_CONFIG_HOME", ""), env.get("HOME", "")
    if not posixpath.isabs(settings):
        settings = posixpath.join(person, ".config") if posixpath.isabs(person) else ""
    folders = [folder for folder in (home, state_directory(env), settings and posixpath.join(settings, "neuralclaw")) if folder]
    files = (posixpath.join(folder, name) for folder in folders for name in ("config.yaml", "config.json", ".env"))
    return tuple(dict.fromkeys(map(posixpath.realpath, (*folders, *(file for file in files if posixpath.islink(file) and posixpath.isfile(file))))))


def state_directory(env: Mapping[str, str]) -> str:
    """The directory for what must not lie in the home: `$XDG_STATE_HOME/neuralclaw`, else `~/.local/state/neuralclaw`; "" where neither is known."""
    state, person = env.get("XDG_STATE_HOME", ""), env.get("HOME", "")
    if not posixpath.isabs(state):
        state = posixpath.join(person, ".local/state") if posixpath.isabs(person) else ""
    return posixpath.join(state, "neuralclaw") if state else ""
