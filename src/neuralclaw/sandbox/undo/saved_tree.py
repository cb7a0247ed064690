"""The saved state of one tree, shared by every process of the home: its manifest, and which commands run in it."""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from ..preimages import write_all
from ..running_call import RunningCall
from .contents import KeptContents, make_private
from .path_states import PathChange, PathState, encode_changes, joined
from .state_files import names_in, remove_file, replace_file, time_of, touch_file, until_ns
from .tree_manifest import CARRIED, FORMAT, MANIFEST, PARTIAL, RUNNING, StoredTree, decoder, read_changes
from .tree_scan import Manifest, NotKept, ScanLimits, Stopped, TreeScan, TreeState, Watch

_POLL = 0.01
_LOOKED = "looked"
"""Its time: when the tree was last looked at."""
MARK_SECONDS = 0.25
"""A running command is marked as such this often."""
LATER_THAN_DEATH = "\0later"
"""`PathChange.shared` of what changed after the process of a command had died."""


class OrphanedChanges(msgspec.Struct, frozen=True):
    """What a command changed whose process died before it was recorded."""

    call: RunningCall
    changes: tuple[PathChange, ...]
    not_kept: tuple[NotKept, ...]


class SavedTree:
    """One root. Everything here blocks, and belongs in a thread; one lock orders the processes and threads of a home.

    `directory`: where its manifest lies. `hidden`: places in it that are not looked at.
    """

    def __init__(self, root: str, directory: str, contents: KeptContents, limits: ScanLimits, hidden: Sequence[str] = ()) -> None:
        self.root, self.contents = root, contents
        self._directory = f"{directory}/{tree_name(root)}"
        self._limits, self._hidden = limits, hidden
        self._manifest: Manifest = {}
        self._not_kept: list[NotKept] = []
        self._loaded: tuple[int, int] | None = None
        self._running: dict[RunningCall, int] = {}

    @property
    def known(self) -> bool:
        """Whether a first copy was made, by whichever process."""
        return os.path.exists(f"{self._directory}/{MANIFEST}")

    def not_kept(self) -> list[NotKept]:
        """What could not be kept when the tree was last looked at. Looks at no file of the tree."""
        with self._locked(None):
            self._load()
            return list(self._not_kept)

    def begin(self, call: RunningCall, stop: Callable[[], bool] = bool) -> tuple[list[NotKept], list[OrphanedChanges]]:
        """Bring the saved state up to date before a command, and note that it runs. What cannot be brought back, and what dead commands left.

        What an earlier try of the same call left, which was killed, belongs to this one.

        Raises `Stopped`, and `OSError` where the tree or the home cannot be read or written.
        """
        with self._locked(stop):
            state = self._compare(stop)
            orphans = self._orphans(state)
            if call not in self._running:
                self._note(call)
        return state.not_kept, [orphan for orphan in orphans if orphan.call != call]

    def finish(self, call: RunningCall, stop: Callable[[], bool] = bool) -> TreeState:
        """What changed since the command began. The note stays until `recorded` or `leave`."""
        with self._locked(stop):
            state = self._compare(stop)
            return state._replace(changes=joined(read_changes(self._carried_path(call)))[0])

    def recorded(self, call: RunningCall) -> None:
        """The command's changes are on record, or will not be: nobody need look for them."""
        for path in (self._note_path(call), self._carried_path(call)):
            remove_file(path)
        self.leave(call)

    def give_up(self, call: RunningCall) -> None:
        """The command was not run. What an earlier try of the call changed is left to whoever looks next."""
        self.leave(call) if read_changes(self._carried_path(call)) else self.recorded(call)

    def mark(self, call: RunningCall) -> None:
        """The command still runs. Raises `OSError`."""
        fd = self._running.get(call, -1)
        if fd >= 0:
            os.utime(fd)

    def share(self, call: RunningCall, changes: Sequence[PathChange]) -> str:
        """Tell the other commands that run here that the call changes these paths; what they are, in words. Blocks while the tree is looked at."""
        with self._locked(None):
            notes = [note for note in self._notes() if note[1] != call and not self._dead(note[0], note[1])]
            given = [msgspec.structs.replace(change, shared=_in_words([call])) for change in changes]
            for name, _ in notes:
                path = f"{self._directory}/{name.replace(RUNNING, CARRIED)}"
                replace_file(path, encode_changes([*read_changes(path), *given]))
            return _in_words([other for _, other in notes])

    def twin_of(self, path: bytes, state: PathState) -> bytes:
        """Another path of the same file, by a hard link, as far as it is known; b"" for none, and while the tree is looked at."""
        try:
            with self._locked(lambda: True):
                self._load()
        except Stopped:
            return b""
        for name, one in self._manifest.items():
            place = os.fsencode(f"{self.root}/{name}")
            if one.ino == state.ino and one.nlink > 1 and place != path and one.kind == state.kind:
                with suppress(OSError):
                    return place if os.lstat(place).st_ino == state.ino else b""
        return b""

    def leave(self, call: RunningCall) -> None:
        """The command ended, and its changes are not on record: whoever looks next finds them as those of a dead command."""
        fd = self._running.pop(call, -1)
        if fd >= 0:
            os.close(fd)

    def interrupted(self, session: str = "") -> bool:
        """Whether a command is noted as running here, of that session: one whose process died, or one that runs."""
        if not session:
            return any(name.startswith(RUNNING) for name in names_in(self._directory))
        return any(call.session == session and call not in self._running for _, call in self._notes())

    def look(self, stop: Callable[[], bool] = bool) -> tuple[TreeState, list[OrphanedChanges]]:
        """Bring the saved state up to date, and take over what dead commands left, until `recorded` or `leave`."""
        with self._locked(stop):
            state = self._compare(stop)
            return state, self._orphans(state)

    def refresh(self, stop: Callable[[], bool] = bool) -> TreeState:
        """Bring the saved state up to date, as for a first copy, which goes on where one that was stopped ended. What dead commands left stays with them."""
        with self._locked(stop):
            return self._compare(stop)

    @contextmanager
    def held(self, stop: Callable[[], bool] = bool) -> Iterator[None]:
        """Nobody else looks at the tree meanwhile, or changes it through undo."""
        with self._locked(stop):
            yield

    def _compare(self, stop: Callable[[], bool]) -> TreeState:
        self._load()
        first = self._loaded is None
        doubtful = not first and any(one.below for one in self._not_kept)
        watch = Watch(time_of(f"{self._directory}/{_LOOKED}") if doubtful else None, reopen=self.interrupted())
        scan = TreeScan(self.root, self._partial() if first else self._manifest, self.contents, self._limits, watch)
        try:
            state = scan.run(self._hidden, stop)
        except Stopped:
            if first:
                self._save(PARTIAL, scan.known, [])
            raise
        changed = state.not_kept != self._not_kept
        if not first and state.changes:
            self._hand_out(state)  # before the manifest is saved: who is killed in between finds them again
        self._manifest, self._not_kept = state.manifest, state.not_kept
        if first or state.differs or changed:
            try:
                self.contents.sync()
                self._loaded = self._save(MANIFEST, self._manifest, self._not_kept)
                if first:
                    remove_file(f"{self._directory}/{PARTIAL}")
            except OSError:
                self._loaded = None  # what is not saved is found again
                raise
        touch_file(f"{self._directory}/{_LOOKED}")
        return state._replace(changes=[]) if first else state

    def _hand_out(self, state: TreeState) -> None:
        """What changed belongs to the commands that run here, or did when their processes died; where there are several, to each of them."""
        notes, changes = self._notes(), state.changes
        for name, call in notes:
            others, path = _in_words([other for at, other in notes if at != name]), f"{self._directory}/{name.replace(RUNNING, CARRIED)}"
            last = self._last_sign(name, state.manifest) if self._dead(name, call) else float("inf")
            words = [LATER_THAN_DEATH if last < self._changed_at(change.path, state.manifest) else others for change in changes]
            given = [msgspec.structs.replace(change, shared=one) for change, one in zip(changes, words, strict=True)]
            replace_file(path, encode_changes([*read_changes(path), *given]))

    def _last_sign(self, name: str, now: Manifest) -> float:
        """Until when a dead command may have changed something, in nanoseconds; 0 where nobody can tell: the clock was set back, or the root is another one."""
        last = until_ns(time_of(f"{self._directory}/{name}"), round(1.5 * MARK_SECONDS * 1e9))
        return last if now[""].ino == self._manifest[""].ino else 0

    def _changed_at(self, path: bytes, now: Manifest) -> int:
        """When what stands there was last changed or came there, in nanoseconds; where nothing does, when the directory was changed that it is gone from."""
        found = 0
        for place in _upwards(os.fsdecode(path).removeprefix(self.root).removeprefix("/")):
            there, then = now.get(place), self._manifest.get(place)
            if there is not None and found and (then is None or then.ino != there.ino):
                found = max(found, there.ctime_ns)  # the directory was moved here
            elif not found:
                with suppress(OSError):
                    found = os.lstat(os.path.join(self.root, place)).st_ctime_ns
        return found

    def _notes(self) -> list[tuple[str, RunningCall]]:
        return [found for name in names_in(self._directory) if name.startswith(RUNNING) and (found := self._read_note(name)) is not None]

    def _dead(self, name: str, call: RunningCall) -> bool:
        """Whether the process has died that ran the command, or has stopped looking after it."""
        if call in self._running:
            return False
        with suppress(FileNotFoundError), open(f"{self._directory}/{name}", "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    def _read_note(self, name: str) -> tuple[str, RunningCall] | None:
        try:
            with open(f"{self._directory}/{name}", "rb") as file:
                return name, msgspec.json.decode(file.read(65_536), type=RunningCall)
        except (FileNotFoundError, msgspec.DecodeError):
            return None  # it ended meanwhile, or was killed before it began

    def _orphans(self, state: TreeState) -> list[OrphanedChanges]:
        """What commands changed whose processes died. Their notes are held, as if they ran, until `recorded` or `leave`."""
        found: list[OrphanedChanges] = []
        for name in [name for name in names_in(self._directory) if name.startswith(RUNNING)]:
            try:
                fd = os.open(f"{self._directory}/{name}", os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)  # its process lives
                continue
            noted = self._read_note(name)
            changes = joined(read_changes(f"{self._directory}/{name.replace(RUNNING, CARRIED)}"))[0]
            if noted is None or not changes:
                for path in (name, name.replace(RUNNING, CARRIED)):
                    remove_file(f"{self._directory}/{path}")
                os.close(fd)
            else:
                self._running[noted[1]] = fd
                found.append(OrphanedChanges(noted[1], tuple(changes), tuple(state.not_kept)))
        return found

    def _note(self, call: RunningCall) -> None:
        fd = os.open(self._note_path(call), os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            write_all(fd, msgspec.json.encode(call))
        except OSError:
            os.close(fd)
            raise
        self._running[call] = fd

    def _note_path(self, call: RunningCall) -> str:
        return f"{self._directory}/{RUNNING}{_digits(call)}"

    def _carried_path(self, call: RunningCall) -> str:
        return f"{self._directory}/{CARRIED}{_digits(call)}"

    def _load(self) -> None:
        """The saved manifest, if another process has written one since; none where there is none, or a damaged one, which is made anew."""
        try:
            fd = os.open(f"{self._directory}/{MANIFEST}", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            self._manifest, self._not_kept, self._loaded = {}, [], None
            return
        with open(fd, "rb") as file:
            status = os.fstat(fd)
            mark = (status.st_ino, status.st_mtime_ns)
            if mark == self._loaded:
                return
            stored = self._decoded(file.read())
        if stored is None:
            self._manifest, self._not_kept, self._loaded = {}, [], None
            return
        self._manifest = {os.fsdecode(path): state for path, state in stored.entries.items()}
        self._not_kept, self._loaded = stored.not_kept, mark

    def _partial(self) -> Manifest:
        """What is known from a first copy that was stopped."""
        try:
            with open(f"{self._directory}/{PARTIAL}", "rb") as file:
                stored = self._decoded(file.read())
        except FileNotFoundError:
            return {}
        return {} if stored is None else {os.fsdecode(path): state for path, state in stored.entries.items()}

    def _decoded(self, data: bytes) -> StoredTree | None:
        """What was saved; None where it is damaged, or of another version or tree."""
        try:
            stored = decoder.decode(data)
        except msgspec.DecodeError:
            return None
        return stored if (stored.format, stored.root) == (FORMAT, os.fsencode(self.root)) else None

    def _save(self, name: str, manifest: Manifest, not_kept: Sequence[NotKept]) -> tuple[int, int]:
        """Save it; the inode and time of the file."""
        entries = {os.fsencode(path): state for path, state in manifest.items()}
        data = msgspec.msgpack.encode(StoredTree(FORMAT, os.fsencode(self.root), entries, list(not_kept)))
        return replace_file(f"{self._directory}/{name}", data, sync=True)

    @contextmanager
    def _locked(self, stop: Callable[[], bool] | None) -> Iterator[None]:
        make_private(self._directory)
        fd = os.open(f"{self._directory}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.utime(fd)  # the tree is used: its copy is kept
            while True:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if stop is not None and stop():
                        raise Stopped from None
                    time.sleep(_POLL)
            yield
        finally:
            os.close(fd)


def tree_name(root: str) -> str:
    """The name of the directory that has the saved state of the tree."""
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:24]


def forget(directory: str) -> bool:
    """Remove the saved state in this directory, so that its tree is copied anew when it is used; False where it is in use."""
    try:
        fd = os.open(f"{directory}/lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if any(name.startswith(RUNNING) for name in names_in(directory)):
            return False
        for name in (MANIFEST, PARTIAL):
            remove_file(f"{directory}/{name}")
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def _digits(call: RunningCall) -> str:
    """The name of its notes. Models name calls as they like: two sessions may have the same names."""
    return hashlib.sha256(msgspec.json.encode([call.session, call.turn, call.call_id])).hexdigest()[:24]


def _in_words(calls: Sequence[RunningCall]) -> str:
    return ", ".join(f"{call.tool} of session {call.session}, turn {call.turn}" for call in calls)


def _upwards(path: str) -> Iterator[str]:
    """The path and the directories above it, up to the root, which is ""."""
    yield path
    while path:
        path = path.rpartition("/")[0]
        yield path
