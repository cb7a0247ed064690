"""Notes of the commands that run under the guard: each is locked by its process while that lives, and touched, so that it is known until when it lived.

Beside a note lie what other commands, that ended meanwhile, changed rightly. What was put back of a command whose process died lies there until it is recorded.
"""

import fcntl
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from ..preimages import write_all
from ..program_lookup import beneath
from ..running_call import RunningCall
from .judged_changes import CommandRights
from .place_manifest import PlaceManifest, StoredPlaces, decoded, encoded

BEAT_SECONDS = 0.5
_LATE_NS = 1_000_000_000


class GuardNote(msgspec.Struct, frozen=True):
    """One command, as it is on the disk. Without `roots` it is a call that writes the files `write` itself."""

    call: RunningCall
    roots: tuple[bytes, ...]
    write: tuple[bytes, ...]
    by_git: bool
    since_ns: int

    @property
    def rights(self) -> CommandRights:
        return CommandRights(write=tuple(map(os.fsdecode, self.write)), by_git=self.by_git, since_ns=self.since_ns)


class _RightfulChanges(msgspec.Struct, frozen=True):
    """What a command changed that may stay: how it stands since, and what is gone."""

    now: StoredPlaces
    gone: tuple[bytes, ...]


_notes = msgspec.msgpack.Decoder(GuardNote)
_rightful = msgspec.msgpack.Decoder(_RightfulChanges)


class GuardNotes:
    """The notes in one directory. Its lock is its caller's."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._alive: set[str] = set()
        self._changed = threading.Condition()
        self._beating = False

    def write(self, note: GuardNote) -> tuple[str, int]:
        """Note that a command runs: the path, and the descriptor that holds its lock."""
        path = f"{self._directory}/running-{os.urandom(8).hex()}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            write_all(descriptor, msgspec.msgpack.encode(note))
        except OSError:
            os.close(descriptor)
            raise
        with self._changed:
            self._alive.add(path)
            if not self._beating:
                self._beating = True
                threading.Thread(target=self._beat, name="neuralclaw-guard", daemon=True).start()
        return path, descriptor

    def release(self, path: str, descriptor: int) -> None:
        """The command runs no more, and its note is left."""
        with self._changed:
            self._alive.discard(path)
        os.close(descriptor)

    def remove(self, path: str) -> None:
        """The note goes, with what lies beside it."""
        for one in (path, *self._beside(path)):
            with suppress(FileNotFoundError):
                os.unlink(one)

    def running(self) -> Iterator[tuple[GuardNote, str]]:
        """The notes of commands whose process lives."""
        for path, descriptor in self._all(dead=False):
            try:
                note = _notes.decode(os.read(descriptor, os.fstat(descriptor).st_size))
            except msgspec.DecodeError:
                continue
            finally:
                os.close(descriptor)
            yield note, path

    def dead(self) -> Iterator[tuple[GuardNote | None, str, int]]:
        """The notes of commands whose process is dead, with the time (ns) until when it lived at most. None for one that it died over: its command had not
        begun."""
        for path, descriptor in list(self._all(dead=True)):
            try:
                lived = os.fstat(descriptor).st_mtime_ns + _LATE_NS
                note = _notes.decode(os.read(descriptor, os.fstat(descriptor).st_size))
            except msgspec.DecodeError:
                note = None
            finally:
                os.close(descriptor)
            yield note, path, lived

    def tell_others(self, path: str, before: PlaceManifest, after: PlaceManifest) -> None:
        """Leave what the command of this note changed rightly to those that run still."""
        changed = {at: place for at, place in after.places.items() if at not in after.owed and before.places.get(at) != place}
        gone = tuple(os.fsencode(at) for at in before.places if at not in after.places and at not in after.owed)
        if not changed and not gone:
            return
        directories = {at: one for at, one in after.directories.items() if at not in before.directories}
        leads = {at: after.leads[at] for at in changed if at in after.leads}
        now = PlaceManifest(after.root, directories, changed, leads=leads)
        for _, other in self.running():
            if other != path:
                self.tell(other, now, gone)

    def tell(self, path: str, now: PlaceManifest, gone: Sequence[bytes]) -> None:
        """Leave to the command of this note what others changed rightly: how it stands now, and what is gone."""
        with open(f"{_beside(path)}{time.time_ns():020}", "xb") as file:
            file.write(msgspec.msgpack.encode(_RightfulChanges(encoded(now), tuple(gone))))

    def told(self, path: str, before: PlaceManifest) -> PlaceManifest:
        """How the tree would stand after what others told."""
        for one in self._beside(path):
            with open(one, "rb") as file, suppress(msgspec.DecodeError):
                changes = _rightful.decode(file.read())
                now, gone = decoded(changes.now), frozenset(map(os.fsdecode, changes.gone))
                places = {at: place for at, place in before.places.items() if at not in gone}
                places |= {at: place for at, place in now.places.items() if beneath(at, before.root)}
                directories = {at: found for at, found in now.directories.items() if beneath(at, before.root)} | before.directories
                before = msgspec.structs.replace(before, places=places, directories=directories, leads=before.leads | now.leads)
        return before

    def _beside(self, path: str) -> Sequence[str]:
        return [f"{self._directory}/{name}" for name in sorted(os.listdir(self._directory)) if f"{self._directory}/{name}".startswith(_beside(path))]

    def _all(self, *, dead: bool) -> Iterator[tuple[str, int]]:
        """The notes of commands whose process is dead, or lives, open."""
        for name in sorted(os.listdir(self._directory)):
            if not name.startswith("running-"):
                continue
            path = f"{self._directory}/{name}"
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_dead = True
            except BlockingIOError:
                is_dead = False
            if is_dead == dead:
                yield path, descriptor
            else:
                os.close(descriptor)

    def _beat(self) -> None:
        while True:
            with self._changed:
                if not self._alive:
                    self._beating = False
                    return
                paths = list(self._alive)
            for path in paths:
                with suppress(OSError):
                    os.utime(path)
            time.sleep(BEAT_SECONDS)


def _beside(path: str) -> str:
    return path.replace("/running-", "/beside-") + "-"
