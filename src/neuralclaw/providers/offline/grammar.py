"""The sentences the offline provider understands, each as the tool call it stands for."""

from collections.abc import Callable
from typing import Any

import msgspec

from .words import after, cut, plain, polite, steps, unquoted


class Step(msgspec.Struct, frozen=True):
    """One request of a sentence: the tool and its arguments. `said` is what the person wrote."""

    tool: str
    arguments: dict[str, Any]
    said: str


class NotUnderstood(Exception):
    """A part that is no sentence of the grammar; the message is that part."""


HELP = """\
I am the offline provider: no language model, just a fixed set of requests. I understand, also joined by "then":

  list DIR                         read FILE
  search TEXT in PATH              find files PATTERN in DIR
  write TEXT to FILE               replace "OLD" with "NEW" in FILE
  delete FILE                      run COMMAND
  calculate EXPR                   echo TEXT
  system info · disk info · network info · processes
  fetch URL · remember TEXT · recall TEXT     (once their tools stand)
  who are you · help

For free conversation set a service's key (for instance OPENAI_API_KEY) or name a model with --model PROVIDER:MODEL."""

GREETINGS = ("hi", "hello", "hey", "good morning", "good evening", "good afternoon", "thanks", "thank you")


def parse(text: str) -> list[Step]:
    """The steps of a request, in order. Raises `NotUnderstood` with the first part that is no sentence of the grammar."""
    parts = steps(text)
    if not parts:
        raise NotUnderstood(text.strip())
    return [step(part) for part in parts]


def asks_for_help(text: str) -> bool:
    return plain(polite(text.strip())).lower() in ("help", "/help", "help me", "what do you understand", "how do you work", "how does this work")


def greets(text: str) -> bool:
    return plain(text).lower() in GREETINGS


def step(part: str) -> Step:
    """The call one part stands for."""
    for rule in RULES:
        found = rule(part)
        if found is not None:
            tool, arguments = found
            return Step(tool, arguments, part)
    raise NotUnderstood(part)


Found = tuple[str, dict[str, Any]] | None


def _run(part: str) -> Found:
    command = after(part, "run the command", "run command", "run", "execute the command", "execute", "bash:", "$")
    return ("terminal", {"command": unquoted(command)}) if command else None


def _echo(part: str) -> Found:
    text = after(part, "echo", "say", "repeat")
    return ("echo", {"text": unquoted(text)}) if text else None


def _write(part: str) -> Found:
    text = after(part, "write the text", "write", "save the text", "save", "put the text", "put", "store")
    if text and (sides := cut(text, "to", "into", "in", last=True)):
        return "write_file", {"path": _file(sides[1]), "content": unquoted(sides[0])}
    text = after(part, "create a new file", "create a file", "create the file", "create file", "create", "make a new file", "make a file", "make the file")
    if text and (sides := cut(text, "with", "containing", "saying")):
        content = after(sides[1], "the text", "the content", "content", "text", "the words")
        return "write_file", {"path": _file(after(sides[0], "called", "named") or sides[0]), "content": unquoted(content or sides[1])}
    return None


def _edit(part: str) -> Found:
    text = after(part, "replace", "change")
    if text and (place := cut(text, "in", last=True)) and (sides := cut(place[0], "with", "to", "by")):
        return _replaced(place[1], sides)
    text = after(part, "edit the file", "edit", "in")
    if text and (place := cut(text, "replace", "change")) and (sides := cut(place[1], "with", "to", "by")):
        return _replaced(place[0].rstrip(":,"), sides)
    return None


def _replaced(path: str, sides: tuple[str, str]) -> Found:
    return "edit_file", {"path": _file(path), "old": unquoted(sides[0]), "new": unquoted(plain(sides[1]))}


def _delete(part: str) -> Found:
    path = after(part, "delete the file", "delete file", "delete", "remove the file", "remove file", "remove")
    return ("delete_file", {"path": _file(path)}) if path else None


def _find(part: str) -> Found:
    pattern = after(part, "find all files", "find files", "find the files", "find the file", "find a file", "find file", "find")
    if not pattern:
        return None
    sides = cut(pattern, "in", "under", "below", last=True)
    named = sides[0] if sides else pattern
    wanted = after(named, "named", "called", "matching", "like") or named
    named_files = part.lower().startswith(("find all files", "find file", "find the file", "find a file"))
    if not named_files and not any(sign in wanted for sign in "*?["):
        return None
    return "find_files", {"pattern": unquoted(plain(wanted)), "path": _directory(sides[1]) if sides else "."}


def _search(part: str) -> Found:
    text = after(part, "search for", "search", "grep for", "grep", "look for", "find")
    if not text:
        return None
    sides = cut(text, "in", "under", "within", last=True)
    words = unquoted(plain(sides[0] if sides else text))
    return "search_files", {"pattern": _literal(words), "path": _directory(sides[1]) if sides else "."}


def _list(part: str) -> Found:
    sentence = plain(part)
    openings = (
        "list all files in", "list the files in", "list files in", "list the contents of", "list the content of", "list the directory", "list the folder",
        "list directory", "list folder", "list all files", "list the files", "list files", "list everything", "list", "ls", "dir",
        "show me the files in", "show the files in", "show files in", "show me the files", "show the files", "show files", "show me the folder",
        "what files are in", "which files are in", "what files are", "which files are",
    )  # fmt: skip
    place = after(sentence, *openings)
    if place is None or place.lower() in ("processes", "the processes"):
        return None
    return "list_files", {"path": _directory(place)}


def _read(part: str) -> Found:
    sentence = plain(part)
    openings = (
        "read me the file", "read the file", "read file", "read me", "read", "cat", "show me the file", "show the file", "show file", "show me the contents of",
        "show the contents of", "show me", "show", "open the file", "open", "print the file", "print", "display", "what does",
    )  # fmt: skip
    path = after(sentence, *openings)
    if not path:
        place = after(sentence, "what is in", "what's in", "what stands in")
        return _inside(place) if place else None
    if sentence.lower().startswith("what does"):
        path = path.removesuffix(" say").removesuffix(" contain")
    return None if "://" in path else ("read_file", {"path": _file(path)})


def _inside(place: str) -> Found:
    """A name with an ending is a file, another one a directory."""
    name = _file(place)
    if "." in name.rsplit("/", 1)[-1].strip("."):
        return "read_file", {"path": name}
    return "list_files", {"path": _directory(place)}


def _fetch(part: str) -> Found:
    url = after(plain(part), "fetch the page", "fetch", "download", "get the page", "get", "open", "read", "visit")
    if url and "://" in url and " " not in unquoted(url):
        return "web_fetch", {"url": unquoted(url)}
    url = after(plain(part), "fetch")
    return ("web_fetch", {"url": unquoted(url)}) if url else None


def _memory(part: str) -> Found:
    text = after(part, "remember that", "remember")
    if text:
        return "remember", {"text": unquoted(text)}
    query = after(plain(part), "recall", "what do you remember about", "what do you know about")
    return ("recall", {"query": unquoted(query)}) if query else None


_SYSTEM = {
    "system_info": ("system info", "system information", "info", "show system info", "what system is this", "what machine is this", "system status"),
    "disk_info": ("disk info", "disk information", "disk space", "how much disk space is left", "how much disk space is there", "disk usage"),
    "network_info": ("network info", "network information", "show network info"),
    "process_list": ("processes", "process list", "list processes", "list the processes", "show processes", "show the processes", "what is running"),
    "about_me": ("who are you", "what are you", "what can you do", "about you", "about me", "what is your name", "which model are you", "about"),
}
_SENTENCES = {sentence: tool for tool, sentences in _SYSTEM.items() for sentence in sentences}


def _system(part: str) -> Found:
    sentence = plain(part).lower()
    for opening in ("show me the ", "show me ", "show the ", "give me the ", "give me ", "get the ", "get ", "tell me the ", "the ", "show "):
        if sentence not in _SENTENCES and sentence.startswith(opening):
            sentence = sentence[len(opening) :]
    tool = _SENTENCES.get(sentence)
    return (tool, {}) if tool else None


_SPOKEN = {"plus": "+", "minus": "-", "times": "*", "multiplied by": "*", "divided by": "/", "over": "/", "to the power of": "**", "squared": "**2"}


def _calculate(part: str) -> Found:
    sentence = plain(part)
    expression = after(sentence, "calculate", "compute", "evaluate", "work out")
    if expression:
        return "calculate", {"expression": _spoken(unquoted(expression))}
    expression = _spoken(after(sentence, "what is", "what's", "how much is", "how many is") or sentence)
    if any(c.isdigit() for c in expression) and all(c.isdigit() or c in "+-*/%^(). ×÷" for c in expression) and any(c in "+-*/%^×÷" for c in expression):
        return "calculate", {"expression": expression}
    return None


def _spoken(expression: str) -> str:
    text = f" {expression} "
    for word, sign in _SPOKEN.items():
        text = text.replace(f" {word} ", f" {sign} ")
    return text.strip().removesuffix("=").strip()


RULES: tuple[Callable[[str], Found], ...] = (
    _run, _echo, _system, _memory, _calculate, _fetch, _edit, _write, _delete, _find, _search, _list, _read,
)  # fmt: skip
"""Tried in this order; the first that understands a part has it."""


def _file(path: str) -> str:
    return unquoted(plain(path))


def _directory(place: str) -> str:
    """A directory as people name one: nothing, `here` and the like are the workspace."""
    place = unquoted(plain(place))
    for opening in ("the folder ", "the directory ", "folder ", "directory ", "the "):
        place = place.removeprefix(opening)
    for ending in (" folder", " directory"):
        place = place.removesuffix(ending)
    return "." if place.lower() in ("", "here", "this", "current", "workspace", "in here", "there") else place


def _literal(text: str) -> str:
    """The text as a pattern that matches itself."""
    return "".join(f"\\{c}" if c in r"\.^$|?*+()[]{}" else c for c in text)
