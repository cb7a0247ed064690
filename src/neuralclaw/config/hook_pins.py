"""Writes the digest of a hook into the text of the configuration file, and leaves every other byte as it is."""

from typing import Any

from ..errors import ConfigError
from .document import read_text
from .save import locked, write


def pin_hook(file: str, number: int, digest: str) -> None:
    """Set `digest` of the hook at that place of the list in the file. Raises `ConfigError` with the line to write by hand where it is not written there."""
    hint = f'Write it yourself, where the hook is set: digest: "{digest}"'
    with locked(file):
        text = read_text(file) or ""
        edited = _pinned(text, number, digest)
        if edited is None:
            raise ConfigError(f"{file} has no hook number {number + 1} in a form that can be changed; nothing was changed", hint=hint)
        write({file: edited})


def _pinned(text: str, number: int, digest: str) -> str | None:
    import yaml

    try:
        item = _item(yaml.compose(text, Loader=yaml.SafeLoader), number)
        if item is None:
            return None
        first = item.value[0][0]
        for key, value in item.value:
            if key.value == "digest":
                edited = text[: value.start_mark.index] + f'"{digest}"' + text[value.end_mark.index :]
                break
        else:
            at, gap = first.start_mark.index, ", " if item.flow_style else "\n" + " " * first.start_mark.column
            name = '"digest"' if text[at] == '"' else "digest"
            edited = f'{text[:at]}{name}: "{digest}"{gap}{text[at:]}'
        wanted, found = yaml.safe_load(text), yaml.safe_load(edited)
    except yaml.YAMLError:
        return None
    wanted["hooks"][number]["digest"] = digest
    return edited if found == wanted else None


def _item(root: Any, number: int) -> Any:
    """The node of the hook; None where the text has no such mapping."""
    hooks = next((value for key, value in getattr(root, "value", ()) if key.value == "hooks"), None) if getattr(root, "id", "") == "mapping" else None
    if hooks is None or hooks.id != "sequence" or number >= len(hooks.value):
        return None
    item = hooks.value[number]
    return item if item.id == "mapping" and item.value else None
