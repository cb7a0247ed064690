"""Holds a program to its restriction, in the reaper's process: Landlock, no capabilities, no new privileges, seccomp.

The order counts: mounts are made, capabilities given up and the ruleset made before the fork. The filter comes last, since it refuses what the steps before
need.
"""

import errno
import os
import stat
from typing import TYPE_CHECKING

from .. import kernel
from .orders import OwnMounts, PlacesToOpen, Restriction

if TYPE_CHECKING:
    from collections.abc import Iterable

_READ = kernel.READ_FILE | kernel.READ_DIR | kernel.EXECUTE
_DEVICE = kernel.READ_FILE | kernel.WRITE_FILE | kernel.IOCTL_DEV
_MANY = 4
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOVED = ".neuralclaw-moved-up-"
SHARED_MEMORY_BYTES = 256 * 1024**2
_NEVER = kernel.MAKE_CHAR | kernel.MAKE_BLOCK | kernel.IOCTL_DEV


def enclose(mounts: OwnMounts | None) -> None:
    """Give this process the mounts of its program, if it is to have any, and take its rights away: it acts for the program where the kernel hands a call over.

    Raises `OSError` where that cannot be done, or a place is elsewhere than its path says.
    """
    if mounts is not None:
        in_memory, *others = mounts
        kernel.own_mounts()
        for path in in_memory:
            kernel.mount_memory(path, SHARED_MEMORY_BYTES)
        for path in sorted({path for paths in others for path in paths}, key=lambda one: one.count("/")):  # one inside another after it
            _mount(path, *(path in paths for paths in others[1:]))
    kernel.drop_capabilities()


def _mount(path: str, read_only: bool, empty: bool) -> None:
    """What is not there any more needs no mount."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    nothing = os.open("/dev/null", os.O_PATH | os.O_CLOEXEC)
    try:
        if os.readlink(f"/proc/self/fd/{place}") != path:
            raise OSError(errno.ESTALE, "it was replaced", path)
        if empty and stat.S_ISDIR(os.fstat(place).st_mode):
            kernel.mount_memory(f"/proc/self/fd/{place}", SHARED_MEMORY_BYTES, read_only=True)
        else:
            kernel.mount_at(nothing if empty else place, place, read_only=read_only or empty)
    finally:
        os.close(place)
        os.close(nothing)


class OpenedPlaces:
    """A ruleset for places, made before its program is known: to make it takes a millisecond, and the next program mostly sees what the last one saw.

    `hold` says whether all of them are still what was opened.
    """

    def __init__(self, places: "PlacesToOpen") -> None:
        self.places = places
        self._singles: list[tuple[int, str]] = []
        self._directories: list[tuple[int, str, tuple[int, int]]] = []
        self._absent: list[str] = []
        abi = kernel.landlock_abi()
        self.ruleset = kernel.landlock_ruleset(abi)  # TCP to the proxy is connected by the reaper
        known = kernel.rights(abi)
        self._writes = known & ~_NEVER
        for access, paths in zip((_READ, kernel.READ_DIR, _DEVICE, self._writes), places, strict=True):
            for directory, names in _by_directory(paths).items():
                self._allow_in(directory, names, access & known)

    def hold(self) -> bool:
        """What is open has its path, in no place is anything that was not there, and the directories of many places did not change."""
        return (
            all(os.readlink(f"/proc/self/fd/{place}") == path for place, path in self._singles)
            and all(os.readlink(f"/proc/self/fd/{base}") == path and _changed(base) == changed for base, path, changed in self._directories)
            and not any(map(os.path.lexists, self._absent))
        )

    def allow_writing(self, path: str) -> None:
        self._allow(path, self._writes)

    def close(self) -> None:
        """All but the ruleset."""
        for place in [one[0] for one in self._singles] + [one[0] for one in self._directories]:
            os.close(place)
        self._singles, self._directories = [], []

    def _allow_in(self, directory: str, names: list[str], access: int) -> None:
        """Give rights to what these names mean in a directory. Of many names (`/etc` has 170) each is looked up in the directory itself, whose place is known:
        where the last part of a path is no link and the rest is real, the whole is."""
        if len(names) < _MANY or not directory:
            for name in names:
                self._allow(f"{directory}/{name}", access)
            return
        try:
            base = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            self._absent.append(directory)
            return
        self._directories.append((base, directory, _changed(base)))
        if os.readlink(f"/proc/self/fd/{base}") == directory:
            for name in names:
                try:
                    place = os.open(name, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=base)
                except OSError:
                    continue
                try:
                    self._add(place, access)
                finally:
                    os.close(place)

    def _allow(self, path: str, access: int) -> None:
        """What is not there, or lies elsewhere than its path says, is left out."""
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            self._absent.append(path)
            return
        self._singles.append((place, path))
        if os.readlink(f"/proc/self/fd/{place}") == path:
            self._add(place, access)

    def _add(self, place: int, access: int) -> None:
        mode = os.fstat(place).st_mode
        if not stat.S_ISDIR(mode):
            access &= kernel.FILE_ACCESS
        if access and not stat.S_ISLNK(mode):
            kernel.landlock_allow(self.ruleset, place, access)


def _changed(directory: int) -> tuple[int, int]:
    """When something was last made, renamed or removed in an open directory, and when the kernel last changed what it keeps of it."""
    seen = os.fstat(directory)
    return seen.st_mtime_ns, seen.st_ctime_ns


def prepared(restriction: Restriction, ahead: OpenedPlaces | None) -> int:
    """The ruleset, a descriptor. Makes the scratch directory. A place that is not there, or became a link, is left out: nothing more is open for it.

    `ahead`: places that were opened before, used where they are the same and hold.
    """
    os.mkdir(restriction.scratch, 0o700)
    opened = ahead
    if opened is None or opened.places != restriction.places or not opened.hold():
        if opened is not None:
            opened.close()
            os.close(opened.ruleset)
        opened = OpenedPlaces(restriction.places)
    opened.allow_writing(restriction.scratch)
    opened.close()
    return opened.ruleset


def _by_directory(paths: "Iterable[str]") -> "dict[str, list[str]]":
    """Paths as directories and the names in each."""
    found: dict[str, list[str]] = {}
    for path in paths:
        directory, _, name = path.rpartition("/")
        found.setdefault(directory, []).append(name)
    return found


def apply(restriction: Restriction, ruleset: int) -> int:
    """Hold this process and what it starts, for good. A descriptor where calls that the kernel hands over are read, 0 where it hands over none."""
    kernel.no_new_privileges()
    kernel.landlock_restrict(ruleset)
    return kernel.seccomp_filter(restriction.seccomp, listen=restriction.hands_over)


def tidy(restriction: Restriction) -> None:
    """Take the scratch directory away with all that the program left in it."""
    try:
        os.rmdir(restriction.scratch)
    except OSError:
        remove(restriction.scratch)


def remove(directory: str) -> None:
    """Take away a directory with all that is in it, however deep. What cannot be removed stays behind; links are taken away and not followed."""
    try:
        os.chmod(directory, 0o700)
        top = os.open(directory, _DIRECTORY)
    except OSError:
        return
    try:
        waiting, number = os.listdir(top), 0
        while waiting:
            moved = _emptied(top, waiting.pop(), number)
            waiting += moved
            number += len(moved)
        os.rmdir(directory)
    except OSError:
        return
    finally:
        os.close(top)


def _emptied(top: int, name: str, number: int) -> list[str]:
    """Take an entry of a directory away. Directories in it are moved up, so that no path grows long; their new names."""
    moved: list[str] = []
    if _unlinked(name, top):
        return moved
    try:
        inside = os.open(name, _DIRECTORY, dir_fd=top)
    except OSError:
        return moved
    try:
        for entry in os.listdir(inside):
            if not _unlinked(entry, inside):
                new = f"{_MOVED}{number + len(moved)}"
                os.rename(entry, new, src_dir_fd=inside, dst_dir_fd=top)
                moved.append(new)
        os.rmdir(name, dir_fd=top)
    except OSError:
        return moved
    finally:
        os.close(inside)
    return moved


def _unlinked(name: str, directory: int) -> bool:
    """Take a file away; a directory is opened to its owner instead."""
    try:
        if stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            os.chmod(name, 0o700, dir_fd=directory)
            return False
        os.unlink(name, dir_fd=directory)
    except OSError:
        return True  # it stays behind
    return True
