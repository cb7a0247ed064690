"""The environment a program may see: an allowlist, so that no key of ours reaches a command."""

from collections.abc import Mapping

_NAMES = frozenset({"PATH", "HOME", "LANG", "TERM", "TZ", "TMPDIR", "USER", "SHELL"})


def clean_env(environ: Mapping[str, str]) -> dict[str, str]:
    """What of `environ` a command gets (PATH HOME LANG LC_* TERM TZ TMPDIR USER SHELL)."""
    return {name: value for name, value in environ.items() if name in _NAMES or name.startswith("LC_")}
