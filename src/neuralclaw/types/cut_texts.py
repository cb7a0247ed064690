"""Texts that are cut, here or by a program that printed them. What is left of a secret is none that redaction finds, so a text loses it at the cut."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

SafeText = Callable[[str], str]
_SAFE: ContextVar[tuple[SafeText, SafeText] | None] = ContextVar("neuralclaw.cut", default=None)


@contextmanager
def cutting_by(beginning: SafeText, printed: SafeText) -> Iterator[None]:
    """Texts that are cut inside lose their secrets by `beginning`, whole ones and the beginning of one at the end; what programs print loses by `printed`
    what is left of one at both ends."""
    token = _SAFE.set((beginning, printed))
    try:
        yield
    finally:
        _SAFE.reset(token)


def cut_text(text: str, limit: int, mark: str = "…") -> str:
    """The text where it has at most `limit` characters, else the first of them with the mark behind: fewer where a secret may begin at the cut."""
    return text if len(text) <= limit else cut_off(text[:limit]) + mark


def cut_off(text: str) -> str:
    """A text whose rest is missing, without what may be the beginning of a secret at its end."""
    safe = _SAFE.get()
    return text if safe is None else safe[0](text)


def printed_text(text: str) -> str:
    """All that a program printed to one stream, without what is left of a secret at its ends. What stands whole in it stays."""
    safe = _SAFE.get()
    return text if safe is None else safe[1](text)
