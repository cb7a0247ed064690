"""The nearest right word for a wrong one, as the end of a sentence."""

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], *, alike: float = 0.5) -> str:
    """`; did you mean 'x'?` for the nearest known word, or nothing when none is near: `alike` from 0 to 1."""
    from difflib import get_close_matches  # costs start-up time, and only a wrong word comes here

    near = get_close_matches(word, list(known), n=1, cutoff=alike)
    return f"; did you mean {near[0]!r}?" if near else ""


def joined(text: str, more: str) -> str:
    """A text with what follows from it: behind a question a sentence of its own, else behind a semicolon."""
    return f"{text} {more[:1].upper()}{more[1:]}" if text.endswith("?") else f"{text}; {more}"
