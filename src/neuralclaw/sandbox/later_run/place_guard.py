"""Keeps what code is later run from as it was, for all commands of a home: how it stands is saved before a command, compared after it, and put back.

What is needed lies on the disk before the command starts. Where the process of a command dies, whoever looks next finds its note, and compares for it.
"""

import fcntl
import hashlib
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from ..program_lookup import beneath
from ..running_call import RunningCall
from ..undo.contents import KeptContents
from ..undo.path_states import REGULAR, PathState, same
from ..undo.state_files import replace_file, until_ns
from .guard_notes import GuardNote, GuardNotes
from .judged_changes import CommandRights
from .kept_places import directories_around, kept_of, roots_of
from .place_manifest import FORMAT, PlaceEntry, PlaceManifest, decoded, decoder, encoded, only_at
from .place_scan import scan
from .tree_comparison import PlaceChange, TreeComparison, standing_as, unread_now

log = logging.getLogger(__name__)

KEEP_SECONDS = 14 * 86_400.0
"""How long the content is kept that a command had put in such a place, and how a tree stood that no command ran in."""
_A_DAY = 86_400.0
WRITING_SECONDS = 30.0
"""How long the comparison waits for a file tool, or an undo, that writes into the tree: what that left can then be told from what the command changed."""
_POLL_SECONDS = 0.01


class InterruptedCommand(msgspec.Struct, frozen=True):
    """A command whose process died before the comparison, and what was put back for it since. `note`: where that lies until it is recorded."""

    call: RunningCall
    changes: tuple[PlaceChange, ...]
    note: str


class GuardedCommand(msgspec.Struct, frozen=True):
    """A command that runs: how each tree stood before it, and its note, which is locked while its process lives. `mounted`: by place that its sandbox shows
    read-only and its tree, the directories around it: where one of them changed, the mount may have ended (`directories_around`)."""

    call: RunningCall
    rights: CommandRights
    before: tuple[PlaceManifest, ...]
    mounted: dict[tuple[str, str], tuple[tuple[int, int], ...]]
    note: str
    descriptor: int


class FilesBeingWritten(msgspec.Struct, frozen=True):
    """Files that something other than a command writes now, and the note of that, which is locked while its process lives. `new`: the directories around
    them that were not there."""

    paths: tuple[str, ...]
    new: frozenset[str]
    note: str
    descriptor: int


class WrittenFile(msgspec.Struct, frozen=True):
    """What a call left at a path: `content` and `mode` as in `PathState`; mode None for a file that is as executable as it was."""

    content: bytes | None
    mode: int | None = None

    def is_at(self, now: PathState | None, before: PathState | None) -> bool:
        """Whether it is what stands there now, and not what somebody else made of it since."""
        if now is None or now.content != self.content:
            return False
        if self.mode is not None:
            return now.mode == self.mode
        return now.kind == REGULAR and (not now.mode & 0o111 or (before is not None and before.mode == now.mode))


Written = dict[str, WrittenFile | None]
"""By path what a call left there; None where it removed something."""


class GuardBusy(Exception):
    """Another command of the home is looked at now: nothing was done."""


class PlaceGuard:
    """The guard of one home; `directory` is its own. `hidden`: directories that are left alone. Everything here blocks, and belongs in a thread.

    One lock orders all processes and threads of a home.
    """

    def __init__(self, directory: str, hidden: Sequence[str] = ()) -> None:
        self._directory, self._hidden = directory, frozenset(hidden)
        self._contents = KeptContents(f"{directory}/contents")
        self._loaded: dict[str, tuple[tuple[int, int], PlaceManifest]] = {}
        self._first: dict[str, PlaceManifest] = {}  # first looks, which take long: the lock is not held for them, and what they found is compared under it
        self._notes = GuardNotes(directory)
        self._given: set[str] = set()

    def begin(
        self, call: RunningCall, write: Sequence[str], *, mounts: bool, by_git: bool, wait: bool = True
    ) -> tuple[GuardedCommand, list[InterruptedCommand]]:
        """Save how the places stand that this command may change, and note that it runs. What was put back of commands whose process died.

        `mounts`: its sandbox shows such places read-only. `wait`: until no other command is looked at; else `GuardBusy` is raised. Raises `OSError` where that
        cannot be saved: then the command must not run.
        """
        roots = roots_of(write)
        for root in roots:
            if root not in self._first and not os.path.exists(self._path(root)):
                self._first[root] = scan(PlaceManifest(root), self._contents, self._hidden)
        with self._locked(wait=wait):
            interrupted = list(self._settled())
            live = [note for note, _ in self._notes.running()]
            before = tuple(self._refreshed(root, live) for root in roots)
            places = [(path, one.root) for one in before for path in kept_of(one, write)] if mounts else []
            mounted = {place: directories_around(*place) for place in places}
            rights = CommandRights(write=tuple(write), by_git=by_git, since_ns=time.time_ns())
            path, descriptor = self._notes.write(GuardNote(call, _bytes(roots), _bytes(write), by_git, rights.since_ns))
        return GuardedCommand(call, rights, before, mounted, path, descriptor), interrupted

    def end(self, command: GuardedCommand) -> list[PlaceChange]:
        """Compare, and put back what may not stay, when no file tool writes into its trees any more.

        Raises `OSError` where it cannot be looked at; the note then stays for whoever looks next.
        """
        until = time.monotonic() + WRITING_SECONDS
        while (found := self._ended(command, wait=time.monotonic() < until)) is None:
            time.sleep(_POLL_SECONDS)
        return found

    def _ended(self, command: GuardedCommand, *, wait: bool) -> list[PlaceChange] | None:
        """The same; None where something writes and it is to be waited for."""
        with self._locked():
            others = [note for note, path in self._notes.running() if path != command.note]
            if wait and any(_writes_in(note, command.before) for note in others):
                return None
            kept = tuple(place[0] for place, around in command.mounted.items() if around == directories_around(*place))
            rights = [note.rights for note in others]
            found = self._put_back(command.before, command.note, msgspec.structs.replace(command.rights, kept=kept), rights)
            self._notes.remove(command.note)
            self._notes.release(command.note, command.descriptor)
        return found

    def begin_writing(self, call: RunningCall, paths: Sequence[str]) -> FilesBeingWritten:
        """A call without a command, or an undo, is about to change these files: what a command that ends meanwhile finds changed there is not its work.

        Raises `OSError` where that cannot be noted: then nothing must be written.
        """
        with self._locked():
            note = GuardNote(call, (), _bytes(paths), by_git=False, since_ns=time.time_ns())
            return FilesBeingWritten(tuple(paths), frozenset(above for path in paths for above in _missing_above(path)), *self._notes.write(note))

    def end_writing(self, files: FilesBeingWritten, written: Written) -> None:
        """They are written: commands that run still are told of those that stand as the call left them. Of the others it is not known who
        changed them. Raises `OSError`; the note goes in any case, with the process at the latest."""
        try:
            with self._locked():
                for note, path in list(self._notes.running()):
                    for root in map(os.fsdecode, note.roots):
                        inside = [one for one in written if beneath(one, root)]
                        if inside and (saved := self._load(root)) is not None:
                            now = scan(saved, self._contents, self._hidden, saved)
                            rightful = [one for one in inside if _as_written(written[one], now.places.get(one), saved.places.get(one))]
                            self._notes.tell(path, only_at(now, rightful, files.new), [os.fsencode(one) for one in rightful if one not in now.places])
                self._notes.remove(files.note)
        finally:
            self._notes.release(files.note, files.descriptor)

    def abandon(self, command: GuardedCommand) -> None:
        """Leave the comparison to whoever looks next."""
        self._notes.release(command.note, command.descriptor)

    def settle(self, *, wait: bool = True) -> list[InterruptedCommand]:
        """Compare for commands whose process died. `wait` is as in `begin`. Raises `OSError`."""
        with self._locked(wait=wait):
            return list(self._settled())

    def recorded(self, interrupted: InterruptedCommand) -> None:
        """What was put back of it is on record."""
        with suppress(FileNotFoundError):
            os.unlink(interrupted.note)

    def _settled(self) -> Iterator[InterruptedCommand]:
        """What was put back is on the disk before the note goes, and is told again until it is recorded."""
        for note, path, lived_ns in self._notes.dead():
            if note is not None:
                changes = self._settled_changes(note, path, lived_ns)
                if changes:
                    to_record = path.replace("/running-", "/settled-")
                    replace_file(to_record, msgspec.msgpack.encode(_settled_command(note.call, changes)), sync=True)
            self._notes.remove(path)
        for name in sorted(os.listdir(self._directory)):
            path = f"{self._directory}/{name}"
            if name.startswith("settled-") and not name.endswith(".new") and path not in self._given:
                self._given.add(path)
                with open(path, "rb") as file, suppress(msgspec.DecodeError):
                    yield _interrupted(file.read(), path)

    def _settled_changes(self, note: GuardNote, path: str, lived_ns: int) -> list[PlaceChange]:
        """What a dead command changed. One whose trees cannot be looked at is told as such, once, so that it keeps no other command from running."""
        others = [one.rights for one, _ in self._notes.running()]
        before = tuple(one for root in map(os.fsdecode, note.roots) if (one := self._load(root)) is not None)
        try:
            until = until_ns(lived_ns, 0) or 1
            return self._put_back(before, path, msgspec.structs.replace(note.rights, until_ns=until), others)
        except OSError:
            raise  # the home cannot be read or written: later
        except Exception as error:
            log.exception("what a command changed in places that code is later run from could not be looked at")
            return [PlaceChange(root, "a program", why=f"it could not be looked at: {error}") for root in map(os.fsdecode, note.roots)]

    def _put_back(self, before: Sequence[PlaceManifest], note: str, rights: CommandRights, others: Sequence[CommandRights]) -> list[PlaceChange]:
        found: list[PlaceChange] = []
        for one in before:
            stood = self._notes.told(note, one)
            beside = tuple(other for other in before if other is not one)
            changes, after = TreeComparison(stood, msgspec.structs.replace(rights, beside=beside), others, self._contents, self._hidden).run()
            found += changes
            self._notes.tell_others(note, stood, after)
            self._keep(after, one)
        return found

    def _refreshed(self, root: str, live: Sequence[GuardNote]) -> PlaceManifest:
        """How a tree stands. While another command runs in it, how it stood before that: what that one changes is not taken for granted, nor is what an earlier
        one changed and could not be put back, until somebody else changes it."""
        saved, first = self._load(root), self._first.pop(root, None)
        if saved is not None:
            self._renew(root)
        shared = any(beneath(root, one) or beneath(one, root) for note in live for one in map(os.fsdecode, note.roots))
        if saved is not None and shared:
            return saved
        now = scan(saved or first or PlaceManifest(root), self._contents, self._hidden)
        if saved is not None:
            owed = {path: left for path, left in saved.owed.items() if left is not None and path in now.places and same(now.places[path].state, left)}
            now = standing_as(saved, msgspec.structs.replace(now, owed=owed | unread_now(saved, now)))
        self._keep(now, saved)
        return now

    def _renew(self, root: str) -> None:
        """A tree that is used is kept, and what is needed to put it back with it."""
        path = self._path(root)
        if time.time() - os.stat(path).st_mtime > _A_DAY:
            os.utime(path)
            if root in self._loaded:
                status = os.stat(path)
                self._loaded[root] = ((status.st_ino, status.st_mtime_ns), self._loaded[root][1])

    def _keep(self, now: PlaceManifest, saved: PlaceManifest | None) -> None:
        """Save how the tree stands. Where only times differ, a new process would see that for itself: then it is not written."""
        if now == saved:
            return
        mark = self._loaded[now.root][0] if now.root in self._loaded else None
        if saved is not None and mark is not None and _meaning(now) == _meaning(saved):
            self._loaded[now.root] = (mark, now)
        else:
            self._save(now)

    def _path(self, root: str) -> str:
        return f"{self._directory}/tree-{hashlib.sha256(os.fsencode(root)).hexdigest()[:24]}"

    def _load(self, root: str) -> PlaceManifest | None:
        """How the tree was last saved, by whichever process; None where it was not, or is damaged."""
        try:
            descriptor = os.open(self._path(root), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            mark, known = (status.st_ino, status.st_mtime_ns), self._loaded.get(root)
            if known is not None and known[0] == mark:
                return known[1]
            try:
                stored = decoder.decode(file.read())
            except msgspec.DecodeError:
                return None
        if stored.format != FORMAT or stored.root != os.fsencode(root):
            return None
        manifest = decoded(stored)
        self._loaded[root] = (mark, manifest)
        return manifest

    def _save(self, manifest: PlaceManifest) -> None:
        self._contents.sync()
        path = self._path(manifest.root)
        self._loaded[manifest.root] = (replace_file(path, msgspec.msgpack.encode(encoded(manifest)), sync=True), manifest)
        self._clean()

    def _clean(self) -> None:
        """Once a day: what is kept no longer goes."""
        mark, now = f"{self._directory}/cleaned", time.time()
        if os.path.exists(mark) and now - os.stat(mark).st_mtime < _A_DAY:
            return
        with open(mark, "wb"):
            os.utime(mark)
        needed: set[str] = set()
        used = {self._path(os.fsdecode(root)) for note, _ in self._notes.running() for root in note.roots}
        for name in os.listdir(self._directory):
            path = f"{self._directory}/{name}"
            if name.startswith("tree-"):
                if now - os.stat(path).st_mtime > KEEP_SECONDS and path not in used:
                    os.unlink(path)
                    continue
                with suppress(msgspec.DecodeError), open(path, "rb") as file:
                    needed |= {place[1].content.hex() for place in decoder.decode(file.read()).places if place[1].content}
        for path, status in list(self._contents.files()):
            if now - status.st_mtime > KEEP_SECONDS and os.path.basename(path).removesuffix(".z") not in needed and now - os.stat(path).st_mtime > KEEP_SECONDS:
                os.unlink(path)  # (it was not kept again meanwhile)

    @contextmanager
    def _locked(self, *, wait: bool = True) -> Iterator[None]:
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        descriptor = os.open(f"{self._directory}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise GuardBusy from None
            yield
        finally:
            os.close(descriptor)


def _meaning(manifest: PlaceManifest) -> tuple[object, ...]:
    """What does not change with times alone."""
    places = {path: (one.state.mode, one.state.nlink, one.state.content, one.who, one.what, one.top) for path, one in manifest.places.items()}
    directories = {path: (one.kind, one.ino, one.below, one.whole, one.tops) for path, one in manifest.directories.items()}
    return places, directories, manifest.leads, manifest.nothing, manifest.unread, manifest.owed, manifest.cut


def _writes_in(note: GuardNote, trees: Sequence[PlaceManifest]) -> bool:
    """Whether it is of a call that writes files itself, in one of these trees."""
    return not note.roots and any(beneath(os.fsdecode(path), tree.root) for path in note.write for tree in trees)


def _as_written(written: WrittenFile | None, now: PlaceEntry | None, before: PlaceEntry | None) -> bool:
    if written is None or now is None:
        return written is None and now is None
    return written.is_at(now.state, before.state if before is not None else None)


def _missing_above(path: str) -> Iterator[str]:
    """The directories around a path that are not there."""
    while (path := os.path.dirname(path)) and not os.path.lexists(path):
        yield path


def _bytes(paths: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(map(os.fsencode, paths))


def _settled_command(call: RunningCall, changes: Sequence[PlaceChange]) -> tuple[RunningCall, list[tuple[bytes, str, str, str]]]:
    return call, [(os.fsencode(one.path), one.who, one.found, one.why) for one in changes]


def _interrupted(data: bytes, note: str) -> InterruptedCommand:
    call, changes = _settled_decoder.decode(data)
    return InterruptedCommand(call, tuple(PlaceChange(os.fsdecode(path), who, found, why) for path, who, found, why in changes), note)


_settled_decoder = msgspec.msgpack.Decoder(tuple[RunningCall, list[tuple[bytes, str, str, str]]])
