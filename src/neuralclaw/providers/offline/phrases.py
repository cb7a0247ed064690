"""Takes sentences apart: leading and trailing words that carry nothing, names, keywords."""

import re

from .quoting import is_quoted, mask, unquoted

POLITE = frozenset(
    "please can could would will you kindly i want need like to i'd hey ok okay now next first finally also and just neuralclaw let's lets go ahead".split()
)
"""Words that may be before a step in any number."""

_CONTENT = re.compile(r"(?:the )?contents? of ")
_OPENING = re.compile(
    r"(?:(?:(?:the|a|an|my|this|that) (?:(?:new|empty|text|whole|following) )*)?(?:file|folder|directory)(?: (?:called|named))?|called|named) "
)
"""What may be before a name: words that say what it is. `my plan.txt` and `the plan.txt` may be names themselves, so they are none of these."""
_NUMBERED = re.compile(r"[\W\d]")
NO_NAMES = frozenset("it them this that all everything file files folder directory here".split())
"""Words that are no name unless they are in quotes, so that `delete everything` or `read it` names nothing."""

HERE = frozenset(
    f"{word}{noun}".strip() for word in ("", "the ", "my ", "this ", "the current ", "current ") for noun in ("workspace", "folder", "directory") if word
) | {"", "here", "folder", "directory", "."}
"""Ways to say the workspace."""
THINGS = frozenset("it this that them these those everything something anything".split())
"""Words that stand for what was said before: no text and no name."""
_RESULT = re.compile(
    r"(?:(?:the|its|their|that|this|your|my|last|previous|final) |^)"
    r"(?:results?|outputs?|answers?|contents?|sum|total|summary|product|findings)(?: |$)|(?:^| )contents? of "
)
_DETERMINED = re.compile(
    r"(?:the|a|an|my|your|our|his|her|its|their|this|that|these|those|all|any|some|every|each|both|no|what|whatever|which|who|whose|where|when|why|how|first|last|next"
    r"|only|most|(?:larg|small|bigg|long|short|high|low|new|old|lat)est|list of|copy of|number of|current) "
)
_DESCRIBED = frozenset(
    "line lines word words number numbers occurrence occurrences mention mentions instance instances duplicate duplicates or and containing everywhere"
    " everything anything nothing something today tomorrow yesterday times twice random ignoring starting ending beginning case-insensitively".split()
)
_WORD = re.compile(r"(?:for )?(?:the |a )?(?:exact )?(?:word|text|string|phrase|term) ")
"""What may be before a text that is meant as it is."""
_COUNTED = frozenset("times twice random".split())
_SPOKEN_OF = frozenset("the a an my your our its their this that these those all any some every each both what whatever which how who where when why".split())
ENDINGS = ("please", "for me", "to me", "now", "thanks", "thank you", "again")


def refers(text: str) -> bool:
    """Whether unquoted text speaks of what another step gave, or of what a file holds: `the result`, `contents of b.txt`. It is not meant word for word."""
    folded = " ".join(mask(trimmed(text)).split())
    return not is_quoted(text.strip()) and (folded in THINGS or _RESULT.search(folded) is not None)


def describes(text: str) -> bool:
    """Whether unquoted text may describe what is meant instead of saying it (`the first x`, `every TODO`, `lines with foo`, `"a" or "b"`)."""
    folded = " ".join(mask(trimmed(text)).split())
    if is_quoted(text.strip()):
        return False
    return (
        refers(text)
        or "\0" in folded
        or ", " in folded
        or folded.startswith("not ")
        or _DETERMINED.match(folded) is not None
        or any(word in _DESCRIBED for word in folded.split())
    )


def meant(text: str) -> str:
    """The text behind words that say that it is one: `the word TODO`."""
    text = text.strip()
    opening = _WORD.match(mask(text))
    return text[opening.end() :] if opening is not None and text[opening.end() :].strip() else text


def untold(text: str) -> bool:
    """Whether what shall be written is spoken of and not said: `the result`, `a poem about cats`. In quotes it is said."""
    words = mask(text).split()
    counted = words[0].isdecimal() or not _COUNTED.isdisjoint(words)
    return refers(text) or (not is_quoted(text) and len(words) > 1 and (words[0] in _SPOKEN_OF or counted))


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


def name(text: str, *, the: bool = False) -> str | None:
    """A file's or directory's name: one word, or quoted. None when it is neither, or when a part of it may be left out (`my notes.txt`).

    `the`: that word may be before it, where a wrong name does no harm.
    """
    rest = trimmed(text)
    rest = rest[content.end() :] if (content := _CONTENT.match(mask(rest))) is not None else rest
    folded = mask(rest)
    opening = _OPENING.match(folded)
    if opening is not None:
        after = rest[opening.end() :].strip()
        bare = opening.group().startswith(("file ", "folder ", "directory ")) and "named" not in opening.group() and "called" not in opening.group()
        return None if bare and _NUMBERED.match(after) and not is_quoted(after) else exact_name(after)
    word, after = first_word(rest)
    quoted = is_quoted(after) and word in ("the", "a", "an", "my", "this", "that")
    return exact_name(after if quoted or (the and word == "the") else rest)


def exact_name(text: str) -> str | None:
    """The text as a name if it is one word, or quoted; `@` may be before it, as completion writes it before a picture."""
    text = text.removeprefix("@")
    if is_quoted(text):
        return unquoted(text) or None
    return text if text and text not in NO_NAMES and not any(c.isspace() or c == "\0" for c in text) else None


def directory(text: str) -> str | None:
    """A directory's name; here, and nothing at all, are the workspace."""
    rest = trimmed(text)
    folded = mask(rest)
    if folded in HERE:
        return "."
    for ending in (" directory", " folder"):
        if folded.endswith(ending):
            rest = rest[: -len(ending)]
            return exact_name(dropped(rest, "the", "a", "my", "this")) if len(rest.split()) == 2 or is_quoted(dropped(rest, "the", "my")) else exact_name(rest)
    return name(rest, the=True)


def parted(text: str, *keywords: str, last: bool = False) -> tuple[str, str] | None:
    """What is before and after the first (or last) of these words outside quotes; None when none is there."""
    folded = f" {mask(text)} "
    found = [(folded.rfind(f" {word} ") if last else folded.find(f" {word} "), len(word)) for word in keywords]
    positions = [(at, size) for at, size in found if at >= 0]
    if not positions:
        return None
    at, size = max(positions) if last else min(positions, key=lambda place: (place[0], -place[1]))
    return text[: max(at - 1, 0)].strip(), text[at + size :].strip()
