"""What `--version` prints. A source checkout says so, with its commit, which is read from `.git` by hand: no process is started for it."""

import os

from .._version import __version__


def text() -> str:
    """`neuralclaw 0.1.0`, or `neuralclaw 0.1.0 (source checkout, 4339a4b)`."""
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))  # noqa: PTH120  # pathlib costs start-up time
    commit = checkout(os.path.dirname(source)) if os.path.basename(source) == "src" else None  # noqa: PTH119, PTH120
    if commit is None:
        return f"neuralclaw {__version__}"
    return f"neuralclaw {__version__} (source checkout{commit and f', {commit[:7]}'})"


def checkout(root: str) -> str | None:
    """The commit that is checked out in this directory; "" where it cannot be told, None where it is no checkout."""
    git = os.path.join(root, ".git")  # noqa: PTH118
    if not os.path.exists(git):  # noqa: PTH110
        return None
    pointer = _read(git)  # a file in a worktree, a directory otherwise
    if pointer.startswith("gitdir: "):
        git = os.path.join(root, pointer.removeprefix("gitdir: "))  # noqa: PTH118
    head = _read(os.path.join(git, "HEAD"))  # noqa: PTH118
    if not head.startswith("ref: "):
        return head
    common = os.path.join(git, _read(os.path.join(git, "commondir")))  # noqa: PTH118
    name = head.removeprefix("ref: ")
    for place in (git, common):
        if commit := _read(os.path.join(place, name)):  # noqa: PTH118
            return commit
    packed = _read(os.path.join(common, "packed-refs")).splitlines()  # noqa: PTH118
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as opened:  # noqa: PTH123
            return opened.read().strip()
    except (OSError, ValueError):
        return ""
