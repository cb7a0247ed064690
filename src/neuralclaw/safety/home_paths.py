"""`~` and `~NAME` at the beginning of a path that a call's arguments name: the home that a shell takes them for, before anything is judged."""

import re

import msgspec

from ..types.actions import Action
from ..types.options import Policy
from ..types.tools import ToolSpec
from .paths import USER_HOME, person_home

_TILDE = re.compile(r"~(?P<user>[a-z_][\w-]*)?(?=/|\Z)", re.ASCII)
_PATHS = frozenset({"read", "list", "write", "delete", "cwd"})


def with_homes(action: Action, policy: Policy) -> Action:
    """The call with whole paths in place of those that begin so. It is judged, asked about and run in this form; a file of such a name is `./~`."""
    if not isinstance(action.spec, ToolSpec):
        return action
    found = {}
    for touch in action.spec.touches:
        value = action.arguments.get(touch.argument)
        if touch.kind in _PATHS:
            found[touch.argument] = _each(value, policy, words=False)
        elif touch.kind == "access":
            found[touch.argument] = _each(value, policy, words=True)
    changed = {name: value for name, value in found.items() if value != action.arguments.get(name)}
    return msgspec.structs.replace(action, arguments={**action.arguments, **changed}) if changed else action


def _each(value: object, policy: Policy, *, words: bool) -> object:
    if isinstance(value, list):
        return [_each(one, policy, words=words) for one in value]
    if not isinstance(value, str):
        return value
    if not words:
        return whole_path(value, policy)
    kind, blank, path = value.strip().partition(" ")
    return f"{kind} {whole_path(path.strip(), policy)}" if blank and kind in ("read", "write") else value


def whole_path(path: str, policy: Policy) -> str:
    """The path with the person's home in place of `~`; the home of another user is looked up by `Facts` and `Files`."""
    tilde = _TILDE.match(path)
    if tilde is None:
        return path
    home = f"{USER_HOME}{tilde['user']}" if tilde["user"] else person_home(policy) or USER_HOME
    return home.rstrip("/") + path[tilde.end() :] or "/"
