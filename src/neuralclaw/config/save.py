"""Writes what `init` was told: keys into `.env`, everything else into the configuration file beside it."""

import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import ConfigError
from ..types.suggestions import joined
from .document import read_text
from .edit import set_dotenv, set_json, set_yaml
from .editors import schema

LOCK_SECONDS = 5.0
SCHEMA_NAME = "config.schema.json"
HEAD = f"""\
# yaml-language-server: $schema=./{SCHEMA_NAME}
# `neuralclaw config show` lists every key and what holds. Keys of services belong into .env.
"""


def save(file: str, values: Mapping[str, Any], variables: Mapping[str, str]) -> list[str]:
    """Set the values in the configuration file and the variables in the `.env` beside it; the files that were written, the configuration last.

    Files are 0600 and replaced whole; what was there before is kept as `.bak`. Nothing is replaced before all of it lies ready on
    the disk. Raises `ConfigError`, with everything as it was.
    """
    folder = os.path.dirname(file)  # noqa: PTH120
    with locked(file):
        old = read_text(file)
        text = changed(file, old, values)
        texts: dict[str, str] = {}
        if old is not None:
            texts[f"{file}.bak"] = old
        if variables:
            dotenv = os.path.join(folder, ".env")  # noqa: PTH118
            texts[dotenv] = set_dotenv(read_text(dotenv) or "", variables)
        return write({**texts, file: text})


def write(texts: Mapping[str, str]) -> list[str]:
    """Replace these files, the last of which is the configuration, with the schema that it names; what was written. Raises `ConfigError`."""
    *_, file = texts
    others = {os.path.join(os.path.dirname(file), SCHEMA_NAME): schema_text()} if SCHEMA_NAME in texts[file] else {}  # noqa: PTH118, PTH120
    others |= {path: text for path, text in texts.items() if path != file}
    try:
        replace_all({**others, file: texts[file]})  # last: it names what the others hold
    except OSError as error:
        raise unwritable(error, file) from error
    return [*others, file]


def unwritable(error: OSError, file: str) -> ConfigError:
    """The configuration file could not be replaced, for a reason of the system."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    hint = "Make room" if full else f"Make {os.path.dirname(file)} writable"  # noqa: PTH120
    return ConfigError(f"{file} cannot be written: {error.strerror}; nothing was changed", hint=f"{hint}, or name a data directory with --home DIR.")


@contextmanager
def locked(file: str) -> Iterator[None]:
    """One process at a time changes the configuration in a directory, which is made where it is missing. Raises `ConfigError`."""
    folder = os.path.dirname(os.path.realpath(file))  # noqa: PTH120
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise unwritable(error, file) from error
    try:
        until = time.monotonic() + LOCK_SECONDS
        while not _taken(descriptor):
            if time.monotonic() > until:
                raise ConfigError(f"another program changes the configuration in {folder} for more than {LOCK_SECONDS:g} s; nothing was changed")
            time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def changed(file: str, old: str | None, values: Mapping[str, Any]) -> str:
    """The new text of the configuration file."""
    if file.endswith(".json"):
        return set_json(old or "", values)
    try:
        return set_yaml(HEAD if old is None else old, values)
    except ConfigError as error:
        raise ConfigError(joined(f"{file}: {error.text}", "nothing was changed"), hint=error.hint) from error


def schema_text() -> str:
    import json

    return json.dumps(schema(), indent=1) + "\n"


def replace_all(texts: Mapping[str, str]) -> None:
    """Write every text beside its place, then put one after the other there. A link is followed: what it points to is replaced."""
    ready: list[tuple[str, str]] = []
    try:
        for path, text in texts.items():
            real = os.path.realpath(path)
            descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=".new", dir=os.path.dirname(real))  # 0600  # noqa: PTH120
            ready.append((temporary, real))
            with os.fdopen(descriptor, "w", encoding="utf-8") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
        while ready:
            os.replace(*ready[0])  # noqa: PTH105
            ready.pop(0)
    finally:
        for temporary, _ in ready:
            os.unlink(temporary)  # noqa: PTH108
