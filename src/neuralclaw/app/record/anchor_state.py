"""What is remembered of a place of the anchor in the state directory, beside the anchor itself: one file for each place."""

import os
import time
from collections.abc import Mapping

import msgspec

from ...store.anchor import AnchorFile, AnchorMark, replace_file


class PlaceState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was written to a place last. `signature`: of the mark, in hex; `remote`, `branch`, `commit`: where it is in git.

    `tried`: when it was tried last, in epoch seconds; `error`: why it failed, "" where it did not.
    """

    mark: AnchorMark | None = None
    signature: str = ""
    remote: str = ""
    branch: str = ""
    commit: str = ""
    tried: float = 0.0
    error: str = ""


class StateFile:
    """The file of one place. `kind`: tells the places of a home apart."""

    def __init__(self, file: AnchorFile, kind: str) -> None:
        self.path = os.path.join(file.folder, f"{file.id}.{kind}.json")  # noqa: PTH118

    def read(self) -> PlaceState:
        """What it says, nothing where there is none. Raises `ValueError` and `OSError`."""
        try:
            with open(self.path, "rb") as file:  # noqa: PTH123
                return msgspec.json.decode(file.read(1 << 16), type=PlaceState)
        except FileNotFoundError:
            return PlaceState()

    def write(self, state: PlaceState) -> PlaceState:
        """Put another in its place. Raises `OSError`."""
        replace_file(self.path, msgspec.json.encode(state))
        return state

    def remove(self) -> None:
        """Forget the place. Raises `OSError`."""
        os.unlink(self.path)  # noqa: PTH108


def is_due(state: PlaceState, record: int, every: float, again: float) -> bool:
    """Whether a mark of this record is to be written now: so many seconds after the last one, or after the last try that failed."""
    if state.mark is not None and state.mark.record >= record and not state.error:
        return False
    return not 0 <= time.time() - state.tried < (again if state.error else every)


def changed(state: PlaceState, error: str = "", **fields: object) -> PlaceState:
    """The state after a try that was made now."""
    return msgspec.structs.replace(state, tried=time.time(), error=error, **fields)


def places_kept(file: AnchorFile, kind: str) -> list[str]:
    """The kinds that begin so and have a file of this home."""
    prefix, end = f"{file.id}.{kind}", ".json"
    try:
        names = os.listdir(file.folder)  # noqa: PTH208
    except OSError:
        return []
    return sorted(name[len(file.id) + 1 : -len(end)] for name in names if name.startswith(prefix) and name.endswith(end))


def person_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables with which the owner's git runs: without what would point it to another repository."""
    return {name: value for name, value in environ.items() if not name.startswith("GIT_") or name in ("GIT_SSH_COMMAND", "GIT_SSH")}
