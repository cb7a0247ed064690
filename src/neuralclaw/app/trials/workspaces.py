"""Where the workspaces of a trial are kept: all of them are made before the first call, so that nothing that was paid for is lost."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ...errors import UsageError

LONGEST = 100
"""Characters of a model's name that its directory has at most."""
_PLAIN = re.compile(r"[A-Za-z0-9.-]+:[A-Za-z0-9.-]+")


def directory_of(model: str) -> str:
    """The name of a model's directory: `mine:good` becomes `mine_good`; a name that another could become too ends with a hash."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", model)
    if _PLAIN.fullmatch(model) and len(plain) <= LONGEST:
        return plain
    return f"{plain[:LONGEST]}_-{hashlib.sha256(model.encode()).hexdigest()[:12]}"


class TrialWorkspaces:
    """The directories of all tasks of a trial. `place` gives each once; those that were not used are removed at the end."""

    def __init__(self, made: list[Path], root: Path) -> None:
        self._made, self._root = made, root
        self._used: set[Path] = set()

    def place(self, model: str, name: str) -> Path:
        """The empty directory of a task, named as it is in `keeping`."""
        path = self._root / directory_of(model) / name
        self._used.add(path)
        return path

    def clear(self) -> None:
        """Remove the directories that were made and not used."""
        for path in reversed(self._made):
            if path not in self._used:
                with suppress(OSError):  # it holds something: it stays
                    path.rmdir()


@contextmanager
def trial_workspaces(keep: str | None, models: Sequence[str], names: Sequence[str]) -> Iterator[TrialWorkspaces | None]:
    """Make a directory DIR/MODEL/NAME for every task of every model. Raises `UsageError` where one is there already or cannot be made."""
    if keep is None:
        yield None
        return
    made: list[Path] = []
    try:
        root = Path(keep).resolve()
        folders = [root / directory_of(model) / name for model in models for name in names]
        there = next((place for place in folders if place.is_symlink() or place.exists()), None)
        if there is not None:
            raise UsageError(f"{there} is there already; nothing was written to it", hint="name another directory with --keep DIR")
        for place in folders:
            _make(place, made)
    except (OSError, ValueError) as error:
        TrialWorkspaces(made, Path()).clear()
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"workspaces cannot be kept in {keep}: {why}; no model was called", hint="name another directory with --keep DIR") from error
    kept = TrialWorkspaces(made, root)
    try:
        yield kept
    finally:
        kept.clear()


def _make(place: Path, made: list[Path]) -> None:
    """Make a directory with those above it, and note each that is new."""
    missing = [place, *(above for above in place.parents if not above.exists())]
    for path in reversed(missing):
        path.mkdir()
        made.append(path)
