"""What a process writes, as the kernel sees it: recorded by strace, played back up to any moment, with or without what was not synced."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SECTOR = 512
"""Bytes that a disk writes whole or not at all."""
_CALLS = "pwrite64,write,ftruncate,fsync,fdatasync,unlink"
_LINE = re.compile(r"^(\d+) +(?:(\w+)\((.*)|<\.\.\. (\w+) resumed>(.*))$")
_RESULT = re.compile(r"= (-?\d+)( E\w+.*)?$")
_ON_FILE = re.compile(r"\d+<([^>]*)>(?:, )?(.*)$")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


class Step(NamedTuple):
    """One change of a file: `write` has bytes and an offset, `truncate` a size; `sync` and `unlink` have neither. `ok`: the kernel did it."""

    what: str
    file: str
    ok: bool = True
    data: bytes = b""
    offset: int = 0


def record(words: Sequence[str], files: Sequence[Path], out: Path, *, fail_sync: int = 0) -> list[Step]:
    """Run a module of the tests to its end under strace; what it did to these files. `fail_sync`: this sync of the process fails with EIO and does nothing;
    the process may end with an error then."""
    traced = [word for file in files for word in ("-P", str(file))]
    fault = ["-e", f"inject=fsync,fdatasync:error=EIO:when={fail_sync}"] if fail_sync else []
    command = ["strace", "-f", "-y", "-xx", "-s", "100000000", "-e", "signal=none", "-e", f"trace={_CALLS}", *fault, *traced, "-o", str(out)]
    done = subprocess.run([*command, sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode not in ((0, 1) if fail_sync else (0,)):
        raise AssertionError(done.stderr)
    return list(_steps(out.read_text().splitlines()))


def _steps(lines: Sequence[str]) -> Iterator[Step]:
    begun: dict[str, tuple[str, str]] = {}
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        pid, call, rest, resumed, end = match.groups()
        if call is not None and rest.endswith("<unfinished ...>"):
            begun[pid] = call, rest.removesuffix("<unfinished ...>")
            continue
        if resumed is not None:
            call, start = begun.pop(pid)
            rest = start + end
        if (step := _step(call, rest)) is not None:
            yield step


def _step(call: str, rest: str) -> Step | None:
    result = _RESULT.search(rest)
    if result is None:
        raise AssertionError(f"strace's line is not understood: {call}({rest[:200]}")
    ok = not result[1].startswith("-")
    if call == "unlink":
        return Step("unlink", _plain(rest), ok) if ok else None
    on = _ON_FILE.match(rest)
    if on is None:
        return None
    file, arguments = _bytes(on[1]).decode() if "\\x" in on[1] else on[1], on[2]
    if call in ("fsync", "fdatasync"):
        return Step("sync", file, ok)
    if not ok:
        return None
    if call == "ftruncate":
        return Step("truncate", file, True, b"", int(arguments.split(")")[0]))
    data = _bytes(_TEXT.match(arguments)[1])[: int(result[1])]  # type: ignore[index]
    offset = int(arguments.rsplit(")", 1)[0].rsplit(", ", 1)[1]) if call == "pwrite64" else -1
    return Step("write", file, True, data, offset)


def _plain(text: str) -> str:
    return _bytes(_TEXT.match(text)[1]).decode()  # type: ignore[index]


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


class Disk:
    """The files as the disk has them for certain, and what was written to them since: the power may take any of that."""

    def __init__(self) -> None:
        self.safe: dict[str, bytes] = {}
        self.pending: list[Step] = []

    def apply(self, step: Step) -> None:
        """A sync makes what was written to its file certain; one that failed loses it, as Linux may: a later sync does not bring it back."""
        if step.what != "sync":
            self.pending.append(step)
            return
        mine = [one for one in self.pending if _covers(step, one)]
        self.pending = [one for one in self.pending if not _covers(step, one)]
        if step.ok:
            for one in mine:
                changed(self.safe, one)

    def cuts(self, chance: Random) -> Iterator[list[Step]]:
        """Ways in which the power may fail now: nothing arrived, all did, all up to some change, all but one, and the last one torn in its middle."""
        yield []
        count = len(self.pending)
        if not count:
            return
        yield list(self.pending)
        yield self.pending[: chance.randrange(count)]
        left_out = chance.randrange(count)
        yield self.pending[:left_out] + self.pending[left_out + 1 :]
        last = self.pending[-1]
        if len(last.data) > SECTOR:
            yield [*self.pending[:-1], last._replace(data=last.data[: chance.randrange(1, -(-len(last.data) // SECTOR)) * SECTOR])]


def _covers(sync: Step, change: Step) -> bool:
    """Whether the sync of a file, or of a directory, makes the change certain."""
    return sync.file == (str(Path(change.file).parent) if change.what == "unlink" else change.file)


def changed(files: dict[str, bytes], step: Step) -> None:
    """Apply one change to the files."""
    old = files.get(step.file, b"")
    if step.what == "unlink":
        files.pop(step.file, None)
    elif step.what == "truncate":
        files[step.file] = old[: step.offset].ljust(step.offset, b"\0")
    else:
        start = len(old) if step.offset < 0 else step.offset
        old = old.ljust(start, b"\0")
        files[step.file] = old[:start] + step.data + old[start + len(step.data) :]
