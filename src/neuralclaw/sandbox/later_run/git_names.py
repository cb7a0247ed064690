"""Files that settings and pointers of git name, for git to run or to read: read as git reads them, with quotes, comments and lines that go on."""

import os
import re
from collections.abc import Iterator

from .git_settings import runs_nothing

Named = tuple[tuple[str, str], ...]
"""What a file names: its kind (`hooks`, `settings`, `work tree`, `script`, `program`, `directory of git`, `common`) and the value."""
_HEADER = re.compile(r'\s*\[[ \t]*([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?[ \t]*\]')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)[ \t]*")
_WORD = re.compile(r"""[^\s"'`;&|()<>]+""")
_INTERPRETER = re.compile(r"(?:ba|da|k|z|fi)?sh|python[0-9.]*|node|perl|ruby|source|\.")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def names_of_settings(text: bytes) -> Named:
    """What settings name."""
    return tuple(dict.fromkeys(found for one in _settings(text.decode("utf-8", "surrogateescape")) for found in _named(*one)))


def names_of_pointer(text: bytes, name: str) -> Named:
    """What a `.git` file, or a file `commondir` or `gitdir`, names."""
    value = os.fsdecode(text).strip()
    if name == ".git":
        return (("directory of git", value.removeprefix("gitdir:").strip()),) if value.startswith("gitdir:") else ()
    return (("common", value),) if value else ()


def _settings(text: str) -> Iterator[tuple[str, bool, str, str]]:
    """Each setting: its section, whether that has a name of its own, key and value."""
    lines = iter(text.removeprefix("\ufeff").split("\n"))
    section, named = "", False
    for line in lines:
        at = 0
        while (header := _HEADER.match(line, at)) is not None:
            section, named, at = header[1].lower().partition(".")[0], header[2] is not None or "." in header[1], header.end()
        key = _KEY.match(line, at)
        if section and key is not None:
            yield section, named, key[1].lower(), _value(line[key.end() :].rstrip(), lines) if key[2] else ""


def _value(rest: str, lines: Iterator[str]) -> str:
    found, quoted, at = "", False, 0
    while at < len(rest):
        char, at = rest[at], at + 1
        if char == "\\":
            if at >= len(rest):
                rest, at = next(lines, ""), 0
                continue
            found += _ESCAPES.get(rest[at], rest[at])
            at += 1
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            found += char
    return found.strip()


def _named(section: str, named: bool, key: str, value: str) -> Iterator[tuple[str, str]]:
    if not value or "\0" in value:
        return
    if section == "core" and key in ("hookspath", "worktree"):
        yield "hooks" if key == "hookspath" else "work tree", value
    elif section in ("include", "includeif") and key == "path":
        yield "settings", value
    elif section == "core" and key == "attributesfile":
        yield "script", value
    elif not runs_nothing(section, named, key, value):
        before = ""
        for word in _WORD.findall(value.removeprefix("!")):
            if _INTERPRETER.fullmatch(os.path.basename(before)):
                yield "script", word
            elif "/" in word:
                yield "program", word
            before = word
