"""Regular expressions that are compiled when they are first used: a run without a command line need not pay for them."""

import re
from typing import Any, cast


class _LazyPattern:
    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._text, self._flags)
        for method in ("match", "fullmatch", "search", "sub", "finditer"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, not compiled yet."""
    return cast("re.Pattern[str]", _LazyPattern(text, flags))
