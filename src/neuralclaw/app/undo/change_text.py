"""Changes of files as people read them: in words, as unified diffs, and what an undo did."""

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ...errors import ToolExecutionError
from ...sandbox.nolinks import opener
from ...sandbox.undo.contents import KeptContents
from ...sandbox.undo.path_states import DIRECTORY, LINK, REGULAR, PathChange, PathState, same, touched
from ...types.quoted_names import one_line

StyledLines = list[tuple[str, str]]
MAX_TEXT = 200_000
"""Bytes of a text that is compared line by line; of a longer one it is said that it changed."""
_ODD = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))}


def described(changes: Sequence[PathChange], contents: KeptContents, workspace: str) -> list[dict[str, str]]:
    """Path, words and diff of each change; a file that was moved is one. Reads kept contents."""
    gone = {_identity(one.before): one for one in changes if one.after is None and one.before is not None and one.before.kind == REGULAR}
    moved = {one.path: gone[_identity(one.after)] for one in changes if one.before is None and one.after is not None and _identity(one.after) in gone}
    sources = {one.path for one in moved.values()}
    found = []
    for change in sorted(changes, key=lambda one: one.path):
        path = _shown(change.path, workspace)
        if change.path in sources:
            continue
        if change.path in moved:
            found.append({"path": path, "change": f"renamed from {_shown(moved[change.path].path, workspace)}"})
            continue
        text = _diff(change, contents, path) if change.before is None or change.after is None or change.before.content != change.after.content else ""
        found.append({"path": path, "change": words(change), "diff": text})
    return found


def words(change: PathChange) -> str:
    """What became of the path."""
    before, after = change.before, change.after
    if before is None or after is None:
        state = after or before
        assert state is not None
        return f"{_noun(state)} {'created' if before is None else 'deleted'}"
    if before.kind != after.kind:
        return f"{_noun(before)} became {_noun(after)}"
    said = []
    if before.content != after.content or (after.content is None and not same(before, after)):
        said.append("leads elsewhere" if after.kind == LINK else "changed")
    if stat.S_IMODE(before.mode) != stat.S_IMODE(after.mode) and after.kind != LINK:
        said.append(f"mode {stat.S_IMODE(before.mode):04o} became {stat.S_IMODE(after.mode):04o}")
    if None not in (before.attributes, after.attributes) and before.attributes != after.attributes:
        said.append("other extended attributes")
    if not said and touched(before, after):
        said.append("touched")
    return ", ".join(said)


def _noun(state: PathState) -> str:
    return {REGULAR: "file", DIRECTORY: "directory", LINK: "link"}.get(state.kind, "special file")


def _identity(state: PathState | None) -> tuple[Any, ...]:
    return () if state is None else (state.ino, state.size, state.content)


def _shown(path: bytes, workspace: str) -> str:
    text = path.decode(errors="surrogateescape")
    return one_line(text.removeprefix(workspace.rstrip("/") + "/") if workspace else text)


def _diff(change: PathChange, contents: KeptContents, path: str) -> str:
    """A unified diff; a line that says why there is none; "" for what has no content."""
    states = (change.before, change.after)
    if all(state is None or state.kind != REGULAR for state in states):
        links = [(state.content or b"").decode(errors="replace") if state is not None and state.kind == LINK else "" for state in states]
        return f"link: {one_line(links[0]) or '(none)'} -> {one_line(links[1]) or '(none)'}" if any(links) else ""
    if any(state is not None and state.kind == REGULAR and state.size > MAX_TEXT for state in states):
        return "(too large to be compared)"
    try:
        old, new = (_content(change, state, contents) for state in states)
    except ToolExecutionError as error:
        return f"({error.text})"
    try:
        texts = old.decode(), new.decode()
    except UnicodeDecodeError:
        texts = ("\0", "\0")
    if "\0" in texts[0] + texts[1]:
        return f"(binary: {len(old):,} bytes became {len(new):,})"
    import difflib  # costs start-up time

    lines = difflib.unified_diff(texts[0].splitlines(), texts[1].splitlines(), f"a/{path}", f"b/{path}", lineterm="")
    return "\n".join(line.translate(_ODD) for line in lines)


def _content(change: PathChange, state: PathState | None, contents: KeptContents) -> bytes:
    if state is None or state.kind != REGULAR:
        return b""
    if state.content is None:
        raise ToolExecutionError("its content was not kept")
    if not contents.has(state.content) and state is change.after:
        with suppress(OSError):
            fd = opener()(os.fsdecode(change.path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY, 0)
            with open(fd, "rb") as file:  # noqa: PTH123
                if stat.S_ISREG(os.fstat(fd).st_mode):
                    import hashlib

                    data = file.read(MAX_TEXT + 1)
                    if hashlib.sha256(data).digest() == state.content:
                        return data
    return contents.read(state.content)


def report_lines(report: Mapping[str, Any]) -> StyledLines:
    """What an undo or redo did."""
    done = "undone" if report["kind"] == "undo" else "redone"
    lines: StyledLines = []
    if report["restored"]:
        count = len(report["restored"])
        lines.append((f"turn {report['turn']} of {report['session']}: {count} {'path' if count == 1 else 'paths'} {done}", "bold"))
        lines += [(f"  {path}", "") for path in report["restored"][:50]]
        lines += [(f"  and {count - 50} more", "dim")] if count > 50 else []
    if report["left"]:
        lines.append(("left as they are:", "yellow"))
        lines += [(f"  {one['path']}: {one['why']}", "") for one in report["left"]]
    lines += _not_kept(report["not_kept"])
    if report["said"]:
        lines.append((report["said"], ""))
    return lines or [(f"nothing was {done}", "")]


def _not_kept(lost: Sequence[str]) -> StyledLines:
    return [("undo cannot bring back:", "yellow"), *((f"  {one}", "") for one in lost)] if lost else []


def diff_lines(diff: Mapping[str, Any]) -> StyledLines:
    """What a turn changed."""
    lines: StyledLines = []
    for file in diff["files"]:
        lines.append((f"{file['path']}: {file['change']}", "bold"))
        lines += [(line, "") for line in file["diff"].split("\n")] if file["diff"] else []
    lines += _not_kept(diff["not_kept"])
    if diff["said"]:
        lines.append((diff["said"], ""))
    return lines or [("nothing was changed", "")]
