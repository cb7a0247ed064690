"""Questions and fixed sentences: `what is 6*7?`, `what is in notes.md`, `who are you`."""

import re
from typing import Any

from .phrases import THINGS, directory, dropped, name, trimmed
from .quoting import mask, unquoted

PHRASES = {
    phrase: tool
    for tool, phrases in {
        "about_me": "who are you|what are you|what can you do|what do you do|about you|about yourself|what tools do you have|which tools do you have|list tools"
        "|list your tools|show your tools|what model are you|which model are you|who are you really|about|about me|what is your name|what's your name",
        "system_info": "system info|system information|info|system|system status|show system info|what system is this|what computer is this"
        "|tell me about this computer|tell me about the system|what is the system info|get system info",
        "disk_info": "disk info|disk information|disk|disk space|disk usage|free space"
        "|how much disk space is left|how much space is left|how full is the disk|list disks",
        "network_info": "network info|network|network information|network interfaces|what is my ip|what is my ip address|list network interfaces",
        "process_list": "process list|processes|running processes|list processes|list running processes|ps|what is running|which processes are running",
    }.items()
    for phrase in phrases.split("|")
}
"""A fixed sentence and the tool that answers it."""

FILE_ENDINGS = frozenset(
    "txt md rst log csv tsv json jsonl yaml yml toml ini cfg conf xml html htm css js ts jsx tsx py pyc rb go rs java kt c h cc cpp hpp cs php sh bash"
    " sql db pdf doc docx odt xls xlsx ppt pptx png jpg jpeg gif webp svg mp3 mp4 wav zip tar gz bz2 xz bak tmp lock".split()
)
"""Ends of file names, so that `get notes.txt` names no web page."""
FUNCTIONS = frozenset("sqrt abs round min max sin cos tan log log10 log2 exp floor ceil pi e tau".split())
SPELLINGS = {
    " to the power of ": "**",
    " multiplied by ": "*",
    " divided by ": "/",
    " squared ": "**2",
    " times ": "*",
    " plus ": "+",
    " minus ": "-",
    " x ": "*",
}
OPERATORS = "+-*/%^×·÷−"


def spelled(expression: str) -> str:
    """The expression with operators instead of their names: `6 times 7` is `6*7`."""
    text = f" {expression.strip()} "
    for word, sign in SPELLINGS.items():
        at = mask(text).find(word)
        while at >= 0:
            text = f"{text[:at]} {sign} {text[at + len(word) :]}"
            at = mask(text).find(word)
    return text.strip()


def arithmetic(question: str) -> str | None:
    """The expression that `what is …?`, `how much is …?` or the words alone ask for, or None."""
    rest = dropped(question.strip().rstrip("?=. "), "what is", "what's", "whats", "how much is", "how much are", "how many is", "the result of")
    expression = arithmetic_of(rest) or ""
    if len(expression) > 1000 or not any(c.isdigit() for c in expression) or _DATE.fullmatch(rest.strip()):
        return None
    words = "".join(c if c.isalnum() or c in "._" else " " for c in expression).split()
    known = all(word.lower() in FUNCTIONS or word.replace(".", "", 1).replace("_", "").isdecimal() for word in words)
    plain = all(c.isalnum() or c in " ._,()" or c in OPERATORS for c in expression)
    counts = any(c in OPERATORS for c in expression) or any(word.lower() in FUNCTIONS for word in words)
    return expression if known and plain and counts else None


def arithmetic_of(words: str) -> str | None:
    """The expression in these words. None where it would be another one: a factorial (`5!`), or per cent (`20% + 5`) where % divides with a rest."""
    expression = spelled(words.rstrip("?=. "))
    return None if "!" in expression or _PER_CENT.search(expression) else expression


_PER_CENT = re.compile(r"%\s*(?:[-+*/)^×·÷−,%]|$)")
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}")


def about_files(question: str) -> tuple[str, dict[str, Any]] | None:
    """`what is in notes.md`, `what files are in src`, `what do you know about X`: the call that answers it, or None."""
    text = trimmed(question)
    folded = mask(text)
    for opening in ("what do you know about ", "what do you remember about ", "do you remember ", "do you know "):
        if folded.startswith(opening):
            return "recall", {"query": unquoted(text[len(opening) :])}
    for opening in ("what files are in ", "which files are in ", "what files are there in ", "which files are there in "):
        if folded.startswith(opening):
            return _listing(text[len(opening) :])
    if folded in ("what files are here", "which files are here", "what files are there", "which files are there", "what is here"):
        return "list_files", {"path": "."}
    for opening in ("what is in ", "what's in ", "whats in ", "what does "):
        if folded.startswith(opening):
            return _content(text[len(opening) :], opening)
    return None


def _listing(place: str) -> tuple[str, dict[str, Any]] | None:
    path = None if mask(trimmed(place)) in THINGS else directory(place)
    return None if path is None else ("list_files", {"path": path})


def _content(place: str, opening: str) -> tuple[str, dict[str, Any]] | None:
    """A name with an ending is a file's, any other a directory's."""
    if opening == "what does ":
        verb = next((v for v in (" say", " contain") if mask(place).endswith(v)), None)
        found = name(place[: -len(verb)], the=True) if verb else None
        return None if found is None else ("read_file", {"path": found})
    words = mask(place).split()
    found = name(place, the=True)
    file = "file" in words or (found is not None and "." in found.rpartition("/")[2].strip("."))
    if file and not any(word in ("folder", "directory") for word in words):
        return None if found is None else ("read_file", {"path": found})
    return _listing(place)


def url(text: str, *, bare: bool = False) -> str | None:
    """The address that the text is; `bare`: a host alone counts too, `https` is put before it."""
    word = unquoted(trimmed(text)).strip("<>")
    if not word or any(c.isspace() for c in word):
        return None
    scheme, mark, rest = word.partition("://")
    if mark:
        return word if scheme.lower() in ("http", "https") and rest else None
    host = word.partition("/")[0].partition(":")[0]
    if host.rpartition(".")[2].lower() in FILE_ENDINGS:
        return None
    return f"https://{word}" if bare and "." in host.strip(".") and all(c.isalnum() or c in "-." for c in host) else None
