"""What each sentence proposes. A rule gets what follows its verb and gives the call as (tool, arguments), or None when it does not fit."""

import re
from collections.abc import Callable
from typing import Any

from .phrases import THINGS, describes, directory, dropped, exact_name, first_word, meant, name, parted, refers, trimmed, untold
from .question_rules import FILE_ENDINGS, PHRASES, about_files, arithmetic, arithmetic_of, url
from .quoting import is_quoted, mask, unquoted

PlannedCall = tuple[str, dict[str, Any]]
Rule = Callable[[str], PlannedCall | None]

KINDS = {
    "python": "*.py",
    "markdown": "*.md",
    "text": "*.txt",
    "javascript": "*.js",
    "typescript": "*.ts",
    "rust": "*.rs",
    "java": "*.java",
    "ruby": "*.rb",
    "shell": "*.sh",
    "yaml": "*.{yaml,yml}",
    "html": "*.{html,htm}",
    "jpeg": "*.{jpg,jpeg}",
}
"""Kinds of files that people name by a word, and their endings."""
_KIND = re.compile(r"(?:me )?(?:all )?(?:of )?(?:the |my )?(?!(?:the|my|all|me|of) )([^\s\0]+) files?(?= (?:in|inside|under|below|from) |$)")
_LISTED = re.compile(
    r"(?:me )?(?:all )?(?:of )?(?:the |my )?(?:(?:files|entries|contents?|everything)(?: and (?:folders|directories))?|all)(?: (?:of|in|inside|under|from) |$)"
)
_HOLDING = re.compile(
    r"(?:me )?(?:all )?(?:the )?files? (?:containing|that contain|which contain|with the (?:text|word)|that have|mentioning) (?:the (?:text|word) )?"
)
_CALLED = re.compile(r"(?:me )?(?:all )?(?:the |a )?files? (?:(?:called|named|matching|like|with name|with the name) )?")
_ABOUT_FILES = re.compile(r"(?:^| )files?(?: |$)")
_MADE = re.compile(r"(?:a |an |the )?(?:(?:new|empty|text) )*(?:file|folder|directory)\b")
_NAMING = re.compile(r"called |named |matching |like |with ")
_AFTER = re.compile(r".* (?:everywhere|once|twice|only|globally|throughout|each time|every time|on lines?|at|in) ?.*")
"""A new text with a condition behind it."""
SPECIAL = frozenset("\\^$.|?*+()[]{}")


def _list(rest: str) -> PlannedCall | None:
    rest = trimmed(rest)
    folded = mask(rest)
    if folded in ("processes", "programs", "the processes", "all processes", "running processes", "the running processes", "running programs"):
        return "process_list", {}
    if (kind := _KIND.match(folded)) is not None:
        return _of_kind(rest[kind.start(1) : kind.end(1)], rest[kind.end() :])
    listed = _LISTED.match(folded)
    if listed is not None:
        return _path("list_files", directory(rest[listed.end() :]))
    if any(c in folded for c in "*?"):
        return None if exact_name(rest) is None else ("find_files", {"pattern": exact_name(rest), "path": "."})
    return _path("list_files", directory(rest))


def _read(rest: str) -> PlannedCall | None:
    if (page := url(rest)) is not None:
        return "web_fetch", {"url": page}
    lines: dict[str, int] = {}
    rest = dropped(rest, "me") if mask(rest).startswith(("me the ", "me first ")) else rest
    bare = dropped(rest, "the")
    words = mask(bare).split()
    rest = bare if words[:1] == ["first"] and "lines" in words else rest
    if len(words) > 4 and words[0] == "first" and words[1].isdecimal() and words[2] == "lines":
        lines = {"limit": int(words[1])} if len(words[1]) < 10 else {}
        pieces = parted(rest, "of", "from", "in")
        rest = pieces[1] if pieces else ""
    found = name(rest, the=True)
    return None if found is None or any(c in found for c in "*?") else ("read_file", {"path": found, **lines})


def _show(rest: str) -> PlannedCall | None:
    rest = dropped(rest, "me", "us")
    if (known := phrase(dropped(rest, "the", "my"))) is not None:
        return known
    folded = mask(trimmed(rest))
    if _LISTED.match(folded) or _KIND.match(folded) or folded.endswith((" folder", " directory")):
        return _list(rest)
    return about_files(dropped(rest, "what is", "what's")) if folded.startswith(("what is ", "what's ")) else _read(rest)


def _print(rest: str) -> PlannedCall | None:
    return ("echo", {"text": unquoted(rest)}) if is_quoted(rest) else _show(rest)


def _cat(rest: str) -> PlannedCall | None:
    return _path("read_file", exact_name(rest)) or _text("terminal", "command", f"cat {rest}" if rest else "")


def _ls(rest: str) -> PlannedCall | None:
    return ("terminal", {"command": f"ls {rest}"}) if rest.startswith("-") or " -" in mask(rest) else _list(rest)


def _grep(rest: str) -> PlannedCall | None:
    """`grep TODO notes.txt` is a command; with `in` or `for`, or with one word alone, it is a search."""
    words = mask(trimmed(rest)).split()
    if words[:1] != ["for"] and "in" not in words[1:] and (len(words) > 1 or rest.startswith("-")):
        return "terminal", {"command": f"grep {trimmed(rest)}"}
    return _search(rest)


def _look(rest: str) -> PlannedCall | None:
    return _search(rest) if mask(rest).startswith("for ") else None


def _search(rest: str) -> PlannedCall | None:
    web = dropped(rest, "the")
    if mask(web).startswith(("web ", "internet ")):
        return _text("web_search", "query", dropped(first_word(web)[1], "for"))
    named = mask(rest).startswith("for ")
    if mask(rest).startswith("in ") and (turned := parted(rest[3:], "for")) is not None:
        return _matching(turned[1], directory(turned[0]))
    rest = dropped(rest, "for", "the text", "the word", "text")
    pieces = parted(rest, "in", "inside", "within", "under", "below", last=True)
    if pieces is None and not named and (turned := parted(rest, "for")) is not None:
        pieces = turned[1], turned[0]
    text, place = pieces or (rest, ".")
    if pieces is None and len(mask(trimmed(rest)).split()) > 1 and any(c in mask(trimmed(rest)).split()[-1] for c in "./"):
        return None  # `search TODO notes.txt`: which part is the place?
    return _matching(text, "." if mask(trimmed(place)) in ("all files", "all the files", "the files", "files", "my files") else directory(place))


def _matching(text: str, path: str | None) -> PlannedCall | None:
    """Lines that hold the text as it is: what a pattern would read otherwise is escaped."""
    text = meant(text)
    if not is_quoted(text):
        text = trimmed(text)
        if describes(text) or _ABOUT_FILES.search(mask(text)):
            return None
    text = unquoted(text)
    if not text or path is None:
        return None
    return "search_files", {"pattern": "".join(f"\\{c}" if c in SPECIAL else c for c in text), "path": path}


def _find(rest: str) -> PlannedCall | None:
    if " -" in mask(rest):
        return "terminal", {"command": f"find {rest}"}
    rest = trimmed(rest)
    if (kind := _KIND.match(mask(rest))) is not None:
        return _of_kind(rest[kind.start(1) : kind.end(1)], rest[kind.end() :])
    pieces = parted(rest, "in", "inside", "under", "below", last=True)
    what, where = pieces or (rest, "")
    path = directory(where)
    if (holding := _HOLDING.match(mask(what))) is not None:
        return _matching(what[holding.end() :], path)
    if (called := _CALLED.match(mask(what))) is not None:
        named = what[called.end() :]
        wanted = exact_name(named)
        plain = not is_quoted(named) and mask(named) == named and not any(c in named for c in ".*?")
        if plain and _NAMING.search(called.group()) is None:
            return None  # `find files ending in .py`: no name
        return None if wanted is None or path is None else ("find_files", {"pattern": wanted, "path": path})
    pattern = dropped(what, "all", "me", "the", "for")
    shaped = not is_quoted(pattern) and any(c in pattern for c in "*?")
    if not shaped and (is_quoted(pattern) or pieces is not None):
        said = is_quoted(meant(what)) or len(mask(meant(what)).split()) == 1  # `find hello world in a.txt`: those words, or what they describe?
        return _matching(what, path) if said else None
    wanted = exact_name(what if not shaped else pattern)
    if wanted is None or path is None or not (shaped or "." in wanted.strip(".")):
        return None  # `find notes`: a file of that name, or the word?
    return "find_files", {"pattern": wanted, "path": path}


def _of_kind(kind: str, rest: str) -> PlannedCall | None:
    """`find all python files in src`: the files with that language's ending. A kind that has no one ending is not guessed."""
    word = mask(kind)
    pattern = kind if any(c in word for c in "*?") else f"*{kind}" if word.startswith(".") else KINDS.get(word, f"*.{word}" if word in FILE_ENDINGS else "")
    where = parted(f"{rest.strip()} ", "in", "inside", "under", "below", "from") if rest.strip() else ("", "")
    path = directory(where[1]) if where is not None and not where[0] else None
    return None if not pattern or path is None else ("find_files", {"pattern": pattern, "path": path})


def _write(rest: str) -> PlannedCall | None:
    if mask(dropped(rest, "a", "the", "new")).startswith("file ") and parted(rest, "with", "containing"):
        return _create(rest)
    rest = dropped(rest, "the text", "the words", "text")
    pieces = parted(rest, "to", "into", "as", last=True) or parted(rest, "in", last=True)
    if pieces is None or not pieces[0] or untold(pieces[0]):
        return None
    path = name(pieces[1])
    return None if path is None else ("write_file", {"path": path, "content": unquoted(pieces[0])})


def _create(rest: str) -> PlannedCall | None:
    bare = dropped(rest, "a", "an", "the", "new", "empty", "text") if _MADE.match(mask(rest)) else rest
    kind = first_word(bare)[0]
    if kind in ("folder", "directory"):
        found = name(f"the {bare}")
        return None if found is None else ("terminal", {"command": f"mkdir -p -- {_shell_word(found)}"})
    pieces = parted(bare, "with the text", "with text", "with the content", "with content", "with contents", "containing", "saying", "with")
    if pieces is None and kind != "file" and bare == rest:
        return None
    path = name(f"the {pieces[0] if pieces else bare}" if kind == "file" else (pieces[0] if pieces else bare))
    vague = pieces is not None and not is_quoted(pieces[1]) and (untold(pieces[1]) or mask(pieces[1]).endswith((" in it", " inside", " in there")))
    return None if path is None or vague else ("write_file", {"path": path, "content": unquoted(pieces[1]) if pieces else ""})


def _make(rest: str) -> PlannedCall | None:
    kind = first_word(dropped(rest, "a", "an", "the", "new", "empty", "text"))[0]
    return _create(rest) if kind in ("file", "folder", "directory") else None


def _edit(rest: str) -> PlannedCall | None:
    pieces = parted(rest, "replace", "replacing", "change", "and replace", "and change", "to replace")
    if pieces is None or not pieces[0]:
        return None
    return _replacement(pieces[1], pieces[0].rstrip(":,"))


def _replace(rest: str) -> PlannedCall | None:
    pieces = parted(rest, "in", last=True)
    return None if pieces is None else _replacement(pieces[0], pieces[1])


def _replacement(change: str, file: str) -> PlannedCall | None:
    every = mask(change).startswith(("all ", "every "))
    change = dropped(change, "all", "every", "occurrences of", "occurrence of") if every else change
    pieces, path = parted(change, "with", "by") or parted(change, "to"), name(file)
    pieces = pieces and (meant(pieces[0]), meant(pieces[1]))
    if pieces is None or path is None or not unquoted(pieces[0]) or describes(pieces[0]) or describes(pieces[1]):
        return None
    if not is_quoted(pieces[1]) and _AFTER.fullmatch(f"{mask(pieces[1])} "):
        return None
    arguments: dict[str, Any] = {"path": path, "old": unquoted(pieces[0]), "new": unquoted(pieces[1])}
    return "edit_file", arguments | ({"all": True} if every else {})


def _delete(rest: str) -> PlannedCall | None:
    found = name(rest)
    return None if found is None or (not is_quoted(trimmed(rest)) and any(c in found for c in "*?")) else ("delete_file", {"path": found})


def _rm(rest: str) -> PlannedCall | None:
    return ("terminal", {"command": f"rm {rest}"}) if rest.startswith("-") else _delete(rest)


def _run(rest: str) -> PlannedCall | None:
    folded = rest.lower()
    for words in ("the command:", "the command ", "command:", "command "):
        if folded.startswith(words) and rest[len(words) :].strip():
            rest = rest[len(words) :].strip()
            break
    if not is_quoted(rest) and (folded.split()[:1] in (["the"], ["a"], ["an"], ["my"], ["all"], ["some"]) or folded in THINGS):
        return None  # `run the tests` names no command
    return _text("terminal", "command", rest)


def _fetch(rest: str) -> PlannedCall | None:
    page = url(dropped(rest, "the", "me", "page", "website", "site", "url", "from", "at", "address"), bare=True)
    return None if page is None else ("web_fetch", {"url": page})


def _get(rest: str) -> PlannedCall | None:
    """`get URL`, `give me the system info`."""
    if (known := phrase(dropped(rest, "me", "the", "my"))) is not None:
        return known
    page = url(dropped(rest, "me", "the", "page", "site", "website"))
    return None if page is None else ("web_fetch", {"url": page})


def _check(rest: str) -> PlannedCall | None:
    page = url(dropped(rest, "the", "url", "site", "website", "if", "whether"))
    return None if page is None else ("http_check", {"url": page})


def _remember(rest: str) -> PlannedCall | None:
    rest = dropped(rest, "that")
    return None if refers(rest) else _text("remember", "text", rest)


def _recall(rest: str) -> PlannedCall | None:
    rest = rest if is_quoted(rest) else trimmed(rest)
    return _text("recall", "query", dropped(rest, "what you know about", "what i said about", "everything about", "about"))


def _forget(rest: str) -> PlannedCall | None:
    return _text("forget", "id", name(rest) or "")


def _calculate(rest: str) -> PlannedCall | None:
    rest = dropped(rest, "out")
    expression = arithmetic_of(unquoted(rest) if is_quoted(rest) else rest)
    return None if expression is None else _text("calculate", "expression", expression)


def _echo(rest: str) -> PlannedCall | None:
    spoken_of = refers(rest) and (len(rest.split()) < 4 or " of " in mask(rest))  # `echo the result`, and not `echo The result is fine`
    return None if spoken_of else _text("echo", "text", rest)


def _about(rest: str) -> PlannedCall | None:
    if (known := phrase(dropped(rest, "me", "the", "my"))) is not None:
        return known
    return ("about_me", {}) if mask(trimmed(rest)) in ("yourself", "you", "me", "your tools", "me about yourself") else None


def _text(tool: str, argument: str, text: str) -> PlannedCall | None:
    """A call with one text, its quotes taken off."""
    text = unquoted(text)
    return (tool, {argument: text}) if text.strip() else None


def _path(tool: str, path: str | None) -> PlannedCall | None:
    return None if path is None else (tool, {"path": path})


def _shell_word(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'" if any(not (c.isalnum() or c in "._-/") for c in text) else text


def _program(program: str) -> Rule:
    """A program's name at the beginning: the sentence is its command line."""
    return lambda rest: ("terminal", {"command": f"{program} {rest}".strip()})


def _words(rules: dict[str, Rule]) -> dict[str, Rule]:
    return {word: rule for words, rule in rules.items() for word in words.split()}


VERBS: dict[str, Rule] = _words(
    {
        "list dir": _list,
        "ls": _ls,
        "read open view": _read,
        "cat": _cat,
        "show display see": _show,
        "print": _print,
        "search": _search,
        "grep": _grep,
        "look": _look,
        "find locate": _find,
        "write save put store": _write,
        "create touch": _create,
        "make": _make,
        "edit": _edit,
        "replace change substitute": _replace,
        "in": _edit,  # `in FILE replace A with B`
        "delete remove erase": _delete,
        "rm": _rm,
        "run execute exec $": _run,
        "fetch download visit browse": _fetch,
        "get give": _get,
        "check": _check,
        "remember memorize memorise": _remember,
        "recall": _recall,
        "forget": _forget,
        "calculate calc compute evaluate work": _calculate,
        "echo say repeat": _echo,
        "describe introduce tell about": _about,
    }
) | {program: _program(program) for program in ("git", "pwd", "head", "tail", "wc", "df", "du")}


def phrase(text: str) -> PlannedCall | None:
    """The call of a fixed sentence."""
    tool = PHRASES.get(" ".join(mask(text).rstrip(" .?!").replace("’", "'").split()))
    return (tool, {}) if tool else None


def proposed(step: str) -> PlannedCall | None:
    """The call that one step asks for, or None when it is not understood."""
    if (known := phrase(step)) is not None:
        return known
    verb, rest = first_word(step)
    rule = VERBS.get(verb)
    if rule is not None:
        return rule(rest)
    if (question := about_files(step)) is not None:
        return question
    expression = arithmetic(step)
    return None if expression is None else ("calculate", {"expression": expression})
