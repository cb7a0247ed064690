"""What `git` does, by subcommand."""

from ..types.risk import Power, Risk
from .command_effects import CommandEffects

READS = frozenset(
    "status log diff show rev-parse describe ls-files ls-tree blame annotate shortlog cat-file grep rev-list name-rev merge-base for-each-ref count-objects"
    " version whatchanged diff-tree diff-index diff-files check-ignore check-attr var cherry show-ref show-branch range-diff verify-commit verify-tag".split()
)
NETWORK = {
    **dict.fromkeys(("fetch", "pull", "clone", "ls-remote", "archive"), Risk.MEDIUM),
    **dict.fromkeys(("push", "send-email", "request-pull", "svn", "p4", "lfs"), Risk.HIGH),
}
WRITES = frozenset(
    "add commit init merge rebase cherry-pick revert am apply mv switch checkout restore notes stash tag branch config remote worktree bisect format-patch"
    " submodule sparse-checkout update-index update-ref gc repack prune pack-refs replace".split()
)
DELETES = frozenset("clean rm filter-branch filter-repo".split())
LISTS: dict[str, frozenset[str]] = {
    "branch": frozenset("-a -r -v -vv -l --list --all --remotes --verbose --show-current --no-color --color --column --no-column --merged --no-merged".split()),
    "tag": frozenset("-l --list -n --column --no-column --color --no-color".split()),
    "remote": frozenset("-v --verbose get-url".split()),
    "config": frozenset("-l --list --get --get-all --get-regexp --show-origin --show-scope --global --local --system --name-only -z --null get list".split()),
    "stash": frozenset("list show".split()),
    "reflog": frozenset("show exists".split()),
    "worktree": frozenset("list".split()),
    "submodule": frozenset("status".split()),
    "notes": frozenset("list show".split()),
    "bisect": frozenset("log".split()),
}
"""Subcommands that only read with nothing but these words; those in `NAMED` also take names after one of `NAMED[sub]`."""
NAMED = {
    "branch": frozenset(("-l", "--list", "--merged", "--no-merged", "--contains", "--no-contains", "--points-at", "--sort", "--format")),
    "tag": frozenset(("-l", "--list", "--contains", "--points-at", "--merged", "--sort", "--format")),
    "remote": frozenset(("get-url",)),
    "config": frozenset(("--get", "--get-all", "--get-regexp", "get")),
    "stash": frozenset(("show", "list")),
    "reflog": frozenset(("show", "exists", "-n")),
    "worktree": frozenset(),
    "submodule": frozenset(("status",)),
    "notes": frozenset(("show",)),
    "bisect": frozenset(),
}
NEED_WORD = frozenset(("stash", "worktree", "submodule", "bisect"))
GLOBAL_FLAGS = frozenset(("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--bare"))
RUNS = ("--ext-diff", "--open-files-in-pager", "--upload-pack", "--receive-pack", "--exec", "--run")
WRITES_TO = ("--output",)


def judge(found: CommandEffects) -> None:
    """Global options first, then the subcommand."""
    args = list(found.call.args)
    if any(not w.known for w in args) or found.call.fed:
        found.unclear()
    place = _globals(found)
    if place is None or place >= len(args):
        found.powers.add(Power.READ)
        return
    sub, rest = args[place].text, [w.text for w in args[place + 1 :]]
    found.subject = f"git {sub}" if found.only_reads else ""
    if not args[place].known:
        found.act(Risk.HIGH, "its subcommand cannot be resolved", Power.EXECUTE)
    elif sub in READS or (sub == "reflog" and not rest) or (sub in LISTS and _lists(sub, rest)):
        _read(found, sub, rest)
    else:
        _change(found, sub, rest)


def _globals(found: CommandEffects) -> int | None:
    """The place of the subcommand. Options that set configuration can make any subcommand run programs."""
    args, place = found.call.args, 0
    while place < len(args):
        text = args[place].text
        if text in ("--version", "--help", "-h", "-v"):
            return None
        if text in ("-C", "--git-dir", "--work-tree", "--namespace"):
            if place + 1 < len(args):
                found.read(args[place + 1])
            place += 2
        elif text.startswith(("--git-dir=", "--work-tree=")) or text in GLOBAL_FLAGS:
            place += 1
        elif text.startswith("-"):
            found.act(Risk.HIGH, f"{text} can make git run other programs", Power.EXECUTE)
            place += 2 if text in ("-c", "--config-env", "--exec-path") else 1
        else:
            return place
    return place


def _lists(sub: str, rest: list[str]) -> bool:
    if sub in NEED_WORD:
        return bool(rest) and rest[0] in LISTS[sub]
    if sub in ("notes", "reflog") and rest and not rest[0].startswith("-"):
        return rest[0] in LISTS[sub]
    if sub == "config":
        names = [t for t in rest if not t.startswith("-") and t not in LISTS["config"]]
        listed = all(t in LISTS["config"] for t in rest if t.startswith("-"))
        return listed and (len(names) <= 1 or any(t in NAMED["config"] for t in rest))
    named = any(t.partition("=")[0] in NAMED[sub] for t in rest)
    for text in rest:
        if text.startswith("-") and text not in LISTS[sub] and text.partition("=")[0] not in NAMED[sub]:
            return False
        if not text.startswith("-") and text not in LISTS[sub] and not named:
            return False
    return True


def _read(found: CommandEffects, sub: str, rest: list[str]) -> None:
    found.powers.add(Power.READ)
    for text in rest:
        name = text.partition("=")[0]
        if text == "--":
            break
        if any(name.startswith("--ou") and run.startswith(name) for run in WRITES_TO):
            found.act(Risk.MEDIUM, f"{text} writes a file", Power.WRITE)
        elif any(len(name) > 4 and run.startswith(name) for run in RUNS) or (sub == "grep" and text.startswith("-O")):
            found.act(Risk.MEDIUM, f"{text} runs another program", Power.EXECUTE)
    if sub in ("diff", "grep") and "--no-index" in rest:
        for word in found.call.args:
            found.read(word)


def _change(found: CommandEffects, sub: str, rest: list[str]) -> None:
    if sub in NETWORK:
        found.act(NETWORK[sub], "it sends to another machine" if NETWORK[sub] is Risk.HIGH else "it uses the network", Power.NETWORK)
        found.sends = True
    elif sub == "remote" and rest[:1] and rest[0] in ("show", "update", "prune"):
        found.act(Risk.MEDIUM, "it uses the network", Power.NETWORK)
        found.sends = True
    elif sub in DELETES or _discards(sub, rest):
        found.act(Risk.HIGH, "it deletes work that git does not keep", Power.DELETE, Power.WRITE)
    elif sub in WRITES or sub == "reset":
        found.act(Risk.MEDIUM, "it changes the repository", Power.WRITE)
    else:
        found.act(Risk.MEDIUM, f"git {sub} is not known, it may be an alias for anything", Power.EXECUTE)
    if sub in ("rebase", "bisect", "submodule", "config") or any(t.startswith("--exec") for t in rest):
        found.powers.add(Power.EXECUTE)


def _discards(sub: str, rest: list[str]) -> bool:
    if sub == "reset":
        return any(t in ("--hard", "--merge") for t in rest)
    if sub == "checkout":
        return any(t in ("-f", "--force", "--", ".") for t in rest)
    if sub == "restore":
        return "--staged" not in rest and "-S" not in rest
    if sub in ("branch", "tag"):
        return any(t in ("-D", "-d", "--delete") for t in rest)
    return (sub == "stash" and rest[:1] in (["drop"], ["clear"])) or (sub == "worktree" and rest[:1] == ["remove"]) or sub == "prune"
