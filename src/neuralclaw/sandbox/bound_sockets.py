"""Where Unix sockets of this machine lie that programs can connect to, also those that were bound by a relative path, or moved since.

The kernel tells the name that each was bound with, and the inode of its file (`unix_diag`, `linux/unix_diag.h`). A name that does not lead to that inode is
looked for from the directories in which processes work, and then in the places that are asked about.
"""

import os
import socket
import stat
import struct
from collections.abc import Iterator, Sequence

_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _DUMP = 4, 20, 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_HEADER, _MESSAGE, _ATTRIBUTE, _FILE = struct.Struct("=IHHII"), struct.Struct("=BBBBIII"), struct.Struct("=HH"), struct.Struct("=II")
_REQUEST = struct.Struct("=BBHIIIII")
_SHOW_NAME_AND_FILE, _ALL_STATES, _LISTENS = 3, 0xFFFFFFFF, 10
_NAME, _VFS = 0, 1
_DONE, _ERROR = 3, 2
_LOW = 0xFFFFFFFF

_located: dict[tuple[str, int], str] = {}
"""Where sockets were found that do not lie where their name says, by name and inode."""
_not_in: dict[tuple[str, int], set[str]] = {}
"""Places in which they were looked for in vain; what lies there is looked for again when another socket is."""


def bound_sockets() -> list[tuple[str, int]]:
    """Name as bound, and the inode of its file (its low 32 bits; 0 unknown), of each socket that others can connect or send to."""
    try:
        return list(dict.fromkeys(_told()))
    except OSError:  # a kernel without unix_diag
        return list(dict.fromkeys(_listed()))


def sockets_below(places: Sequence[str], named: Sequence[str] = ()) -> Iterator[str]:
    """The paths of sockets, those that lie in these places among them, real ones. Reads the disk; longer, once, where a socket was bound by a relative path.

    One that was bound by a whole path and does not lie there any more, as after its end, is looked for in its directory and in the `named` places alone.
    """
    unknown: list[tuple[str, int]] = []
    for name, inode in bound_sockets():
        path = name if name.startswith("/") and _is(name, inode) else _located.get((name, inode), "")
        if not path or not _is(path, inode):
            path = _from_where_processes_work(name, inode)
        if path:
            if path != name:
                _located[name, inode] = path
            yield path
        elif inode or not name.startswith("/"):
            unknown.append((name, inode))
    for whole, at in ((True, [*named]), (False, [*places])):
        wanted = [one for one in unknown if one[0].startswith("/") == whole]
        beside = [os.path.dirname(name) for name, _ in wanted] if whole else []
        yield from _in_directories(wanted, beside)
        wanted = [one for one in wanted if one not in _located and not set(at) <= _not_in.get(one, set())]
        if wanted:
            yield from _searched(wanted, at)


def _in_directories(wanted: Sequence[tuple[str, int]], directories: Sequence[str]) -> Iterator[str]:
    """Sockets that were moved and stayed in their directory."""
    for directory in dict.fromkeys(directories):
        try:
            found = [(entry.path, entry.inode()) for entry in os.scandir(directory) if not (entry.is_dir() or entry.is_file())]
        except OSError:
            continue
        for path, inode in found:
            for one in wanted:
                if one[1] == inode & _LOW and _is(path, one[1]):
                    _located[one] = path
                    yield path


def _searched(wanted: Sequence[tuple[str, int]], places: Sequence[str]) -> Iterator[str]:
    for path, inode in (one for place in places for one in _all_sockets(place)):
        for one in wanted:
            if one[1] == inode & _LOW or (not one[1] and os.path.basename(one[0]) == os.path.basename(path)):
                _located[one] = path
                yield path
    for one in wanted:
        if one not in _located:
            _not_in.setdefault(one, set()).update(places)


def _all_sockets(place: str) -> Iterator[tuple[str, int]]:
    """Every socket below a directory, with its inode."""
    todo = [place]
    while todo:
        try:
            entries = list(os.scandir(todo.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                todo.append(entry.path)
            elif not entry.is_file(follow_symlinks=False) and not entry.is_symlink():
                yield entry.path, entry.inode()


def _from_where_processes_work(name: str, inode: int) -> str:
    if name.startswith("/"):
        return ""
    for process in os.listdir("/proc"):
        if process.isdigit():
            try:
                path = os.path.realpath(os.path.join(os.readlink(f"/proc/{process}/cwd"), name))
            except OSError:
                continue
            if _is(path, inode):
                return path
    return ""


def _is(path: str, inode: int) -> bool:
    """Whether a socket with this inode lies at a path."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISSOCK(status.st_mode) and (not inode or status.st_ino & _LOW == inode)


def _told() -> Iterator[tuple[str, int]]:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as asked:
        body = _REQUEST.pack(socket.AF_UNIX, 0, 0, _ALL_STATES, 0, _SHOW_NAME_AND_FILE, 0, 0)
        asked.send(_HEADER.pack(_HEADER.size + len(body), _SOCK_DIAG_BY_FAMILY, _DUMP, 1, 0) + body)
        while True:
            data = asked.recv(1 << 16)
            at = 0
            while at + _HEADER.size <= len(data):
                length, kind, *_ = _HEADER.unpack_from(data, at)
                if kind == _DONE:
                    return
                if kind == _ERROR or length < _HEADER.size:
                    raise OSError("unix_diag")
                yield from _bound(data[at + _HEADER.size : at + length])
                at += (length + 3) & ~3


def _bound(message: bytes) -> Iterator[tuple[str, int]]:
    """The socket of one message, where it has a file and others can reach it."""
    _, kind, state, *_ = _MESSAGE.unpack_from(message)
    if state != _LISTENS and kind != socket.SOCK_DGRAM:
        return
    at, name, inode = _MESSAGE.size, b"", 0
    while at + _ATTRIBUTE.size <= len(message):
        length, attribute = _ATTRIBUTE.unpack_from(message, at)
        if length < _ATTRIBUTE.size:
            return
        value = message[at + _ATTRIBUTE.size : at + length]
        if attribute == _NAME:
            name = value.rstrip(b"\0")
        elif attribute == _VFS and len(value) >= _FILE.size:
            inode = _FILE.unpack_from(value)[0]
        at += (length + 3) & ~3
    if name and not name.startswith(b"\0"):
        yield os.fsdecode(name), inode


def _listed() -> Iterator[tuple[str, int]]:
    with open("/proc/net/unix", "rb") as table:
        next(table)
        for line in table:
            parts = line.rstrip(b"\n").split(b" ", 7)
            if len(parts) == 8 and not parts[7].startswith(b"@"):
                yield os.fsdecode(parts[7].lstrip(b" ")), 0
