"""Which paths a command of git reads or changes, for rules about a path: by operand, as `REVISION:PATH`, or all of the tree."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from .paths import absolute, normal, under
from .rule_words import OPTIONS

NO_CONTENT = frozenset(
    "--help --version branch bundle check-ignore check-ref-format clone config count-objects credential fetch for-each-ref fsck gc help hook init ls-remote"
    " maintenance merge-base name-rev notes prune push reflog remote repack rev-list rev-parse shortlog show-branch show-ref status symbolic-ref tag"
    " update-ref var verify-commit verify-tag version".split()
)
"""Subcommands that show and change nothing of the files themselves."""
BY_OPTION = frozenset({"log", "rev-list", "reflog", "shortlog", "whatchanged"})
"""Subcommands that show content with one of these options."""
PATCH = (
    "-p",
    "-u",
    "-c",
    "-m",
    "-L",
    "-U",
    "-G",
    "-S",
    "-W",
    "-O",
    "--patch",
    "--cc",
    "--unified",
    "--word-diff",
    "--color-words",
    "--full-diff",
    "--remerge-diff",
)
NAMED = frozenset("add annotate blame check-attr hash-object ls-files ls-tree mv restore rm".split())
"""Subcommands that work on the paths that they name alone, unless an option or a directory says more."""
WIDE = frozenset(
    {"-A", "--all", "-u", "--update", "-a", "-i", "--include", "-p", "--patch", "--interactive", "-e", "--edit", "--renormalize", "--pathspec-from-file"}
)
TEXTS = ("--author", "--committer", "--date", "--format", "--grep", "--message", "--pretty", "--since", "--until", "--after", "--before", "--trailer")
"""Options whose value is no path."""
WHOLE = frozenset({".", ":/", "*", ":", "./"})


def git_reaches(argv: Sequence[str], root: str, cwd: str, workspace: str) -> bool:
    """Whether `git` with these words may read or change what lies at or below `root`, or above it a directory that it goes through."""
    subcommand, args, cwd = _subcommand(argv, cwd)
    if not (under(root, workspace) or under(root, cwd) or under(cwd, root)):
        return False
    if subcommand in NO_CONTENT and subcommand not in BY_OPTION and subcommand not in ("clone", "config", "init"):
        return False
    places = {cwd, workspace}
    args = _without_messages(args)
    marked = args.index("--") if "--" in args else None
    operands = [arg for number, arg in enumerate(args) if arg != "--" and (not arg.startswith("-") or (marked is not None and number > marked))]
    options = [arg for arg in args[:marked] if arg.startswith("-")]
    if any(_names(operand, root, place) for operand in (*operands, *_in_options(options)) for place in places) and subcommand not in ("push", "fetch", "clone"):
        return True
    if subcommand in BY_OPTION or subcommand in NO_CONTENT:
        if subcommand not in BY_OPTION or not any(option.startswith(PATCH) or _bundled(option) for option in options):
            return False
    if subcommand == "commit":
        return any(option.startswith(("--all", "--inc", "--patch", "--inter")) or _letters(option, "aip") for option in options)
    if subcommand in ("checkout", "switch") and any(option in ("-b", "-c", "-B", "-C", "--create", "--orphan") for option in options):
        return len(operands) > 1
    if subcommand == "stash" and operands[:1] in (["list"], ["drop"], ["clear"]):
        return any(option.startswith(PATCH) for option in options)
    if subcommand in NAMED:
        return any(option in WIDE for option in options) or (subcommand == "ls-files" and not operands) or any(one in WHOLE for one in operands)
    limited = [arg for arg in args[marked + 1 :] if arg != "--"] if marked is not None else []
    if subcommand in ("diff", "log", "grep", "difftool") and not limited:
        limited = [one for one in operands if _is_path(one)]
    return not limited or any(one in WHOLE for one in limited)


def _subcommand(argv: Sequence[str], cwd: str) -> tuple[str, list[str], str]:
    """The subcommand, the words behind it, and where it works."""
    options = OPTIONS["git"]
    words = iter(argv[1:])
    found, rest = "", []
    for word in words:
        if word in options.valued:
            value = next(words, "")
            if word in ("-C", "--work-tree"):
                cwd = normal(absolute(value, cwd))
        elif word.startswith("-") and word not in ("--help", "--version"):
            continue
        else:
            found, rest = word, list(words)
    return found, rest, cwd


def _without_messages(args: Sequence[str]) -> list[str]:
    """The words without the values of options that give a message."""
    found: list[str] = []
    before = ""
    for arg in args:
        if not (before in TEXTS or (before.startswith("-") and not before.startswith("--") and before.endswith("m") and len(before) < 6)):
            found.append(arg)
        before = arg
    return found


def _names(operand: str, root: str, cwd: str) -> bool:
    """Whether the operand may be the path, lie in it, or be a directory around it."""
    _, colon, behind = operand.rpartition(":")
    for text in {operand, behind, operand.partition(")")[2]} if colon or operand.startswith(":(") else {operand}:
        text = text.lstrip("/") if colon and text == behind else text
        if not text or text in WHOLE:
            continue
        place = normal(absolute(text, cwd))
        if under(place, root) or (under(root, place) and place != cwd) or (any(char in place for char in "*?[") and _wild(root, place)):
            return True
    return False


def _wild(root: str, pattern: str) -> bool:
    """A wildcard of git goes over `/` too."""
    return any(fnmatchcase(root, one) or fnmatchcase(f"{root}/x", one) for one in (pattern, pattern.rstrip("/") + "/*")) or fnmatchcase(root, pattern)


def _in_options(options: Sequence[str]) -> list[str]:
    values = [option.partition("=")[2] for option in options if "=" in option and not option.startswith(TEXTS)]
    return [*values, *(option.rpartition(":")[2] for option in options if option.startswith("-L") and ":" in option)]


def _letters(option: str, letters: str) -> bool:
    return option.startswith("-") and not option.startswith("--") and any(letter in option.partition("m")[0] for letter in letters)


def _bundled(option: str) -> bool:
    return option.startswith("-") and not option.startswith("--") and option[1:].isalpha() and any(letter in option for letter in "pu")


def _is_path(operand: str) -> bool:
    """Whether an operand without `--` before it is a path and no revision, as it is written."""
    return ("." in operand or "/" in operand) and ".." not in operand and not any(char in operand for char in "~^@{:") and operand[:1] not in ("v", "V")
