"""Writes what `init` was told: keys into `.env`, everything else into the configuration file beside it."""

import os
import tempfile
from collections.abc import Mapping
from typing import Any

from ..errors import ConfigError
from .document import read_text
from .edit import set_dotenv, set_json, set_yaml
from .editors import schema

SCHEMA_NAME = "config.schema.json"
HEAD = f"""\
# yaml-language-server: $schema=./{SCHEMA_NAME}
# `neuralclaw config show` lists every key and what holds. Keys of services belong into .env.
"""


def save(file: str, values: Mapping[str, Any], variables: Mapping[str, str]) -> list[str]:
    """Set the values in the configuration file and the variables in the `.env` beside it; the files that were written, the configuration last.

    Files are 0600 and replaced whole; what stood there before is kept as `.bak`. Nothing is replaced before all of it lies ready on
    the disk. Raises `ConfigError`, with everything as it was.
    """
    folder = os.path.dirname(file)  # noqa: PTH120
    old = read_text(file)
    text = changed(file, old, values)
    texts: dict[str, str] = {}
    if old is not None:
        texts[f"{file}.bak"] = old
    if SCHEMA_NAME in text:
        texts[os.path.join(folder, SCHEMA_NAME)] = schema_text()  # noqa: PTH118
    if variables:
        dotenv = os.path.join(folder, ".env")  # noqa: PTH118
        texts[dotenv] = set_dotenv(read_text(dotenv) or "", variables)
    texts[file] = text  # last: it names what the others hold
    try:
        if not os.path.isdir(folder):  # noqa: PTH112
            os.makedirs(folder, mode=0o700)  # noqa: PTH103
        replace_all(texts)
    except OSError as error:
        raise ConfigError(
            f"{error.filename or folder} cannot be written: {error.strerror}; nothing was changed", hint="Make room, or name a data directory with --home DIR."
        ) from error
    return list(texts)


def changed(file: str, old: str | None, values: Mapping[str, Any]) -> str:
    """The new text of the configuration file."""
    if file.endswith(".json"):
        return set_json(old or "", values)
    try:
        return set_yaml(HEAD if old is None else old, values)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error.text}; nothing was changed", hint=error.hint) from error


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
