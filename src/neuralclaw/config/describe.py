"""Words about settings: what is expected, what was found, which key is nearest, what must not be shown."""

import enum
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from ..types.shown_addresses import shown_address

UNIONS = (types.UnionType, Union)

FORMER = {
    "docker_sandbox": "`tools.terminal.sandbox: auto` takes the strongest sandbox that works",
    "chroma_persist_dir": "memory is kept in the data directory",
    "sqlite_path": "the journal is kept in the data directory",
}
"""Keys of earlier designs, accepted wherever they stand, and what holds instead."""

SECRETS = ("api_key", "token", "password", "passphrase", "secret")
"""Keys whose value is never shown, alone or behind `_` (`bot_token`); so are all values under `env` and `headers` of an MCP server."""

_SECRET_ENDINGS = tuple(f"_{name}" for name in SECRETS)


def is_secret(key: str) -> bool:
    """Whether the value of this key must not be shown."""
    parts = key.split(".")
    return parts[-1].endswith(_SECRET_ENDINGS) or parts[-1] in SECRETS or (parts[0] == "mcp" and any(part in ("env", "headers") for part in parts[3:-1]))


def names_secret(variable: str) -> bool:
    """Whether an environment variable of this name holds a secret."""
    return variable.upper().endswith(("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSPHRASE"))


def masked(key: str, value: Any, secrets: Sequence[str] = ()) -> Any:
    """The value as it may be shown: secrets, wherever they stand in it, and the password and the query of an address become `[set]`."""
    if is_secret(key):
        return None if value is None else "[set]"
    if isinstance(value, list | tuple):
        return [masked(key, item, secrets) for item in value]
    if not isinstance(value, str):
        return value
    for secret in secrets:
        value = value.replace(secret, "[set]")
    return shown_address(value)


def like_a_key(text: str) -> bool:
    """Whether a text may be a key that was put into the wrong place: one long word of letters and digits."""
    return len(text) >= 20 and text.isascii() and text.replace("-", "").replace("_", "").isalnum() and any(c.isdigit() for c in text)


def expected(kind: Any, limits: tuple[msgspec.Meta, ...]) -> str:
    """A type in words: "a whole number of at least 1"."""
    if get_origin(kind) is Annotated:
        kind, *metas = get_args(kind)
        return expected(kind, tuple(metas))
    if get_origin(kind) in UNIONS:
        return " or ".join(expected(arg, limits) for arg in get_args(kind))
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(get_args(kind))
    if get_origin(kind) in (tuple, list):
        return f"a list (of {expected(get_args(kind)[0], ())} each)"
    if is_section(kind):
        return "a section of keys and values"
    if issubclass(kind, enum.Enum):
        return "one of " + ", ".join(str(member.value) for member in kind)
    name = {bool: "true or false", int: "a whole number", float: "a number", str: "text", types.NoneType: "null"}[kind]
    return name + "".join(_bounds(meta) for meta in limits)


def _bounds(meta: msgspec.Meta) -> str:
    if meta.pattern is not None:
        return f": {meta.description}" if meta.description else f" that fits {meta.pattern}"
    if meta.ge is not None and meta.le is not None:
        return f" from {meta.ge} to {meta.le}"
    if meta.gt is not None and meta.le is not None:
        return f" above {meta.gt} and at most {meta.le}"
    return f" above {meta.gt}" if meta.gt is not None else f" of at least {meta.ge}" if meta.ge is not None else ""


def is_section(kind: Any) -> bool:
    return get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, msgspec.Struct))


def found(value: Any, key: str, kind: Any) -> str:
    """A wrong value in words, where this `kind` was expected. A secret's is not shown, nor is a text in place of a section: it may be a key that belongs in
    there."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list):
        return "a list"
    if is_secret(key) or (isinstance(value, str) and like_a_key(value)):
        return "something else (not shown)"
    if isinstance(value, str):
        text = shown_address(value)
        return "a text (not shown)" if is_section(kind) else f"the text {text[:59] + '…' if len(text) > 60 else text!r}"
    return f"the number {value}" if isinstance(value, int | float) else f"a {type(value).__name__}"


def field_types(kind: type[msgspec.Struct]) -> Mapping[str, Any]:
    """Every key of a section with its type; those of the sections it is derived from too, and types that are written as texts."""
    own = kind.__annotations__
    if own.keys() == set(kind.__struct_fields__) and not any(isinstance(inner, str) for inner in own.values()):
        return own
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


def unfit_type(kind: Any, key: str = "") -> str:
    """The first key below a section whose type settings cannot have; "" where all can be read."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return next((bad for name, inner in field_types(kind).items() if (bad := unfit_type(inner, f"{key}.{name}" if key else name))), "")
    inner = get_args(kind)
    if get_origin(kind) in UNIONS:
        return next((bad for one in inner if (bad := unfit_type(one, key))), "")
    if get_origin(kind) is list or (get_origin(kind) is tuple and len(inner) == 2 and inner[1] is ...):
        return unfit_type(inner[0], key)
    if get_origin(kind) is dict:
        return unfit_type(inner[1], key) if inner[0] is str else key
    if get_origin(kind) is Literal:
        return "" if all(isinstance(word, str) for word in inner) else key
    plain = kind in (bool, int, float, str, types.NoneType) or _is_enum(kind)
    return "" if plain else key


def keys(kind: Any, prefix: str = "") -> Iterator[str]:
    """Every key of the settings with its dots; what a person names himself stands as `*`."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in UNIONS:
        for arg in get_args(kind):
            yield from keys(arg, prefix)
    elif get_origin(kind) is dict:
        yield prefix
        yield from keys(get_args(kind)[1], f"{prefix}.*")
    elif get_origin(kind) in (tuple, list):
        yield prefix
        yield from (key for key in keys(get_args(kind)[0], f"{prefix}[0]") if key.startswith(f"{prefix}[0]."))
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if prefix:
            yield prefix
        for name, inner in field_types(kind).items():
            yield from keys(inner, f"{prefix}.{name}" if prefix else name)
    elif kind is not types.NoneType:
        yield prefix


def suggest_key(root: type, path: str) -> str:
    """Where the person may have wanted to go: the same name elsewhere, else the nearest name here, else what there is here."""
    import difflib

    above, _, name = path.rpartition(".")
    known = list(dict.fromkeys(keys(root)))
    parts = above.split(".") if above else []
    here = [k for k in known if _beside(k.split("."), parts)]
    names = {k.rpartition(".")[2]: k for k in here}
    near = difflib.get_close_matches(name.lower(), names, 1, 0.75)
    elsewhere = [k for k in known if k.rpartition(".")[2] == name.lower()]
    if near:
        return f"; did you mean {f'{above}.{near[0]}' if above else near[0]}?"
    if elsewhere:
        return f"; did you mean {elsewhere[0]}?"
    near = difflib.get_close_matches(name.lower(), names, 1, 0.5)
    if near:
        return f"; did you mean {f'{above}.{near[0]}' if above else near[0]}?"
    far = difflib.get_close_matches(name.lower(), [k.rpartition(".")[2] for k in known], 1, 0.75)
    if far:
        return f"; did you mean {next(k for k in known if k.rpartition('.')[2] == far[0])}?"
    return f"; valid here: {', '.join(names)}" if names else ""


def _beside(known: list[str], parts: list[str]) -> bool:
    """Whether a key, in its parts, stands directly under the section of these parts. Every place of a list counts as its first."""
    return len(known) == len(parts) + 1 and all(k in ("*", p) or k == f"{p.partition('[')[0]}[0]" for k, p in zip(known, parts, strict=False))


def suggest_value(kind: Any, value: Any) -> str:
    """The nearest of the words that may stand here, how to turn quoted numbers into numbers, and a word that YAML reads as something else into text."""
    if kind is str and isinstance(value, bool | int | float):
        return "; put quotes around it"
    if not isinstance(value, str):
        return ""
    words = [str(w) for w in get_args(kind)] if get_origin(kind) is Literal else [str(m.value) for m in kind] if _is_enum(kind) else []
    if words:
        import difflib

        folded = {word.lower(): word for word in words}
        near = difflib.get_close_matches(value.lower(), folded, 1, 0.5)
        return f"; did you mean {folded[near[0]]}?" if near else ""
    return "; take the quotes away" if kind in (int, float) and value.strip().lstrip("-").replace(".", "", 1).isdigit() else ""


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)
