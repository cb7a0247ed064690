"""What turns changed, as the record of their session tells it: undo, redo and diff are readers of it."""

from collections.abc import Callable, Sequence

import msgspec

from ...errors import ToolExecutionError
from ...ports import Store
from ...sandbox.undo.path_states import PathChange, decode_changes, joined
from ...types.entries import Entry
from ...types.events import TurnStarted
from .undo_events import ChangesSaved, UndoBegun, UndoDone
from .undo_store import UndoStore

NetChanges = tuple[list[PathChange], dict[bytes, list[PathChange]]]
"""What changes come to, by path; and of paths that somebody else changed in between what came before that, which is left out."""
KINDS = ("turn.started", "undo.saved", "undo.begun", "undo.done")


class RecordedUndo(msgspec.Struct):
    """An undo or redo that stands in the record. `done`: its end is there too."""

    turn: int
    begun: UndoBegun
    changes: tuple[PathChange, ...]
    done: bool = False

    @property
    def group(self) -> str:
        """The undo that it is, or that it takes back."""
        return self.begun.reverts or self.begun.undo_id


class TurnChanges(msgspec.Struct):
    """What stands in the record of one turn. `gone`: until when changes were kept that are not there any more. `not_kept`: what cannot be brought back.

    `unseen`: of it the places that nobody looked at, each with the reason; `told`: an undo of the turn has said so. `tried`: an undo of the whole turn left
    what is left of it.
    """

    turn: int
    workspace: str = ""
    steps: list[PathChange] = []
    gone: str = ""
    not_kept: list[str] = []
    unseen: list[tuple[str, str]] = []
    told: bool = False
    tried: bool = False

    def net(self) -> NetChanges:
        """What the turn's changes come to now, its undos included."""
        return joined(self.steps)

    @property
    def counts(self) -> bool:
        """Whether an undo of it has something to do or to say."""
        return bool(self.net()[0] or (self.gone and not self.steps) or (self.unseen and not self.told))


class SessionChanges:
    """What the turns of one session changed, and what of it was undone."""

    def __init__(self, kept: UndoStore) -> None:
        self._kept = kept
        self.turns: dict[int, TurnChanges] = {}
        self.undos: list[RecordedUndo] = []

    @classmethod
    async def read(cls, store: Store, session: str, kept: UndoStore) -> "SessionChanges":
        """From the entries of the session."""
        found = cls(kept)
        for entry in await store.read(session, kinds=KINDS):
            found._apply(entry)
        return found

    def _apply(self, entry: Entry) -> None:
        body, turn = entry.body, self.turns.setdefault(entry.turn, TurnChanges(entry.turn))
        if isinstance(body, TurnStarted):
            turn.workspace = body.options.workspace
        elif isinstance(body, ChangesSaved):
            more = body.not_kept_count - len(body.not_kept)
            turn.not_kept += [one for one in (*body.not_kept, *([f"and {more:,} more"] if more > 0 else [])) if one not in turn.not_kept]
            turn.tried = False
            turn.unseen += [one for one in body.unseen if one not in turn.unseen]
            turn.told &= not body.unseen
            if body.changes:
                turn.steps += self._list(entry, body.changes, turn)
        elif isinstance(body, UndoBegun):
            self.undos.append(RecordedUndo(entry.turn, body, tuple(self._list(entry, body.changes, turn))))
            turn.steps += self.undos[-1].changes
        elif isinstance(body, UndoDone):
            self._end(body, self._list(entry, body.left, turn) if body.left else (), turn)

    def _end(self, body: UndoDone, left: Sequence[PathChange], turn: TurnChanges) -> None:
        """What was left as it was is not undone."""
        turn.told = turn.told or body.kind == "undo"
        for undo in self.undos:
            if undo.begun.undo_id == body.undo_id:
                undo.done = True
                turn.tried = undo.begun.whole and body.left_count > 0
                kept_back = {change.path for change in left}
                given_up = {id(change) for change in undo.changes if change.path in kept_back}
                turn.steps = [step for step in turn.steps if id(step) not in given_up]
                undo.changes = tuple(change for change in undo.changes if change.path not in kept_back)

    def _list(self, entry: Entry, digest: str, turn: TurnChanges) -> Sequence[PathChange]:
        try:
            return decode_changes(self._kept.contents.read(bytes.fromhex(digest)))
        except (ToolExecutionError, msgspec.DecodeError, ValueError):
            turn.gone = self._kept.kept_until(entry.header.time / 1_000_000)
            return ()

    def newest(self, fits: Callable[[TurnChanges], bool] = lambda _: True) -> TurnChanges | None:
        """The newest turn that `fits` and whose changes are there, or are not kept any more, or that may have changed what nobody looked at and no undo has
        said so.

        One that was undone as far as that is possible comes after the others.
        """
        found = [turn for _, turn in sorted(self.turns.items(), reverse=True) if turn.counts and fits(turn)]
        return min(found, key=lambda turn: turn.tried, default=None)

    def not_kept(self) -> list[str]:
        """What the newest turn that may have changed such cannot have brought back."""
        return next((turn.not_kept for _, turn in sorted(self.turns.items(), reverse=True) if turn.not_kept), [])

    def unfinished(self) -> list[RecordedUndo]:
        """Undos and redos whose end is not on record: the process was killed meanwhile."""
        return [undo for undo in self.undos if not undo.done]

    def to_redo(self) -> tuple[RecordedUndo, NetChanges] | None:
        """The newest undo that was not taken back, with what it comes to now."""
        for undo in reversed(self.undos):
            if undo.begun.kind == "undo":
                net = joined(change for one in self.undos if one.group == undo.begun.undo_id for change in one.changes)
                if net[0]:
                    return undo, net
        return None
