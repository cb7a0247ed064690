"""Taking sentences apart: leading and trailing words that carry nothing, names, keywords."""

from .quoting import is_quoted, mask, unquoted

POLITE = frozenset(
    "please can could would will you kindly i want need like to i'd hey ok okay now next first finally also and just neuralclaw let's lets go ahead".split()
)
"""Words that may stand before a step in any number."""

FILLERS = ("the", "a", "an", "my", "this", "that", "file", "called", "named", "text", "contents", "content", "of")
NO_NAMES = frozenset("it them this that all everything file files folder directory here".split())
"""Words that are no name unless they stand in quotes, so that `delete everything` or `read it` names nothing."""

ENDINGS = ("please", "for me", "to me", "now", "thanks", "thank you", "again")


def first_word(text: str) -> tuple[str, str]:
    """The first word in lower case without a comma or colon at its end, and the rest."""
    word, *rest = text.split(None, 1) or [""]
    return word.lower().rstrip(",:"), rest[0].strip() if rest else ""


def without_polite(text: str) -> str:
    """The step without the words that are only polite. Text of nothing else stays as it is."""
    rest = text.strip()
    while True:
        word, after = first_word(rest)
        if word not in POLITE or not after:
            return rest
        rest = after


def dropped(text: str, *words: str) -> str:
    """The text without these words (or phrases) at its beginning, in any order and number; the last word is never dropped."""
    rest = text.strip()
    while True:
        folded = mask(rest)
        word = next((w for w in words if folded.startswith((f"{w} ", f"{w}: ")) and rest[len(w) + 1 :].strip()), None)
        if word is None:
            return rest
        rest = rest[len(word) :].lstrip(":").strip()


def trimmed(text: str) -> str:
    """The text without polite words and punctuation at its end. A final dot stays where it is a path's (`.`, `..`, `src/.`)."""
    rest = text.strip()
    while True:
        bare = rest.rstrip("?!,; \t\r\n")
        if bare.endswith(".") and bare.rstrip(".")[-1:] not in ("", "/", "\\") and not bare.endswith(".."):
            bare = bare[:-1]
        ending = next((e for e in ENDINGS if mask(bare).endswith(f" {e}")), "")
        bare = bare[: len(bare) - len(ending)].rstrip() if ending else bare
        if bare == rest:
            return rest
        rest = bare


def name(text: str, *fillers: str) -> str | None:
    """A file's or directory's name: one word, or quoted. None when it is neither."""
    return exact_name(dropped(trimmed(text), *FILLERS, *fillers))


def exact_name(text: str) -> str | None:
    """The text as a name if it is one word, or quoted."""
    if is_quoted(text):
        return unquoted(text) or None
    return text if text and text not in NO_NAMES and not any(c.isspace() or c == "\0" for c in text) else None


def directory(text: str) -> str | None:
    """A directory's name; here, and nothing at all, are the workspace."""
    if mask(trimmed(text)) in ("the workspace", "my workspace", "this workspace"):
        return "."
    rest = dropped(trimmed(text), *FILLERS, "current", "directory", "folder", "files", "all")
    folded = mask(rest)
    if not folded or folded in NO_NAMES:
        return "."
    for ending in (" directory", " folder"):
        if folded.endswith(ending):
            rest = rest[: -len(ending)]
    return name(rest)


def parted(text: str, *keywords: str, last: bool = False) -> tuple[str, str] | None:
    """What stands before and after the first (or last) of these words outside quotes; None when none is there."""
    folded = f" {mask(text)} "
    found = [(folded.rfind(f" {word} ") if last else folded.find(f" {word} "), len(word)) for word in keywords]
    places = [(at, size) for at, size in found if at >= 0]
    if not places:
        return None
    at, size = max(places) if last else min(places, key=lambda place: (place[0], -place[1]))
    return text[: max(at - 1, 0)].strip(), text[at + size :].strip()
