"""From log records to lines of JSON on disk. Whoever logs puts the record into a queue; a thread of its own writes.

A line has `time` (RFC 3339, UTC), `level`, `logger`, `message` and `pid`, then what the record is about (`session`, `turn`, `call_id`, …), then
`error` with the traceback's text. Every text in it has gone through redaction.
"""

import logging
import os
import threading
import time
import traceback
from _queue import SimpleQueue  # the queue alone, without the module around it
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ..types.entries import rfc3339
from ..types.logcontext import CONTEXT
from .log_file import LogFile

NAME = "neuralclaw.jsonl"
QUEUE = 20_000
"""Records that may wait for a slow disk. What comes above that is counted and left out: neither the memory nor a turn pays for the disk."""
FLUSH_SECONDS = 2.0
"""How long the end of the process waits for the disk."""
BATCH = 500
GATHER_SECONDS = 0.02
"""How long the thread lets lines gather before it writes: to be woken for each would cost whoever logs 20 µs a line."""
LONGEST = 20_000
"""Characters of one text in a line; a longer one keeps its two ends."""

Fields = Mapping[str, Any]

_LEVELS: dict[str, int] = {}
"""Levels that loggers had before the first log writer was attached to them."""


class LogLine(msgspec.Struct, frozen=True):
    """A record on its way to the disk."""

    at: float
    level: str
    logger: str
    message: str
    fields: Fields
    error: str


class LogWriter(logging.Handler):
    """The log of one home. `problem`: why there is none, "" when there is.

    `open` attaches it to the program's loggers, and in a process that is all ours (`whole_process`) to every library's and to warnings.
    """

    def __init__(self, folder: str, *, level: str, max_bytes: int, backups: int, redact: Callable[[str], str]) -> None:
        super().__init__(level)
        self.path = f"{folder}/{NAME}"
        self.problem = ""
        self._redact = redact
        self._queue: SimpleQueue[LogLine | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting, self._ending = threading.Lock(), threading.Event()
        self._lost = 0
        self._file: LogFile | None = None
        self._under = logging.getLogger("neuralclaw")
        self._captures = self._closing = False
        try:
            self._file = LogFile(self.path, max_bytes=max_bytes, backups=backups)
        except OSError as error:
            self.problem = f"no log is kept: {self.path} cannot be written: {error.strerror}"

    def open(self, *, whole_process: bool) -> None:
        """Take records from now on, until `close`."""
        if self._file is None:
            self._under.addHandler(logging.NullHandler())  # else warnings would go to the person's screen
            return
        if whole_process:
            self._under = logging.getLogger()
            logging.captureWarnings(True)
            self._captures = True
        _LEVELS.setdefault(self._under.name, self._under.level)
        self._under.addHandler(self)
        if self._under.level == logging.NOTSET or self._under.level > self.level:
            self._under.setLevel(self.level)

    def note(self, level: int, logger: str, message: str, **fields: Any) -> None:
        """Write a line that no logger made: for what is told by events."""
        if level >= self.level and self._file is not None:
            self._put(LogLine(time.time(), logging.getLevelName(level), logger, message, {**CONTEXT.get(), **fields}, ""))

    def failure(self, error: BaseException) -> None:
        """Write an error in full, with its traceback."""
        if self._file is not None:
            trace = "".join(traceback.format_exception(error)).rstrip()
            self._put(LogLine(time.time(), "ERROR", "neuralclaw", f"{type(error).__name__}: {error}", CONTEXT.get(), trace))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except (TypeError, ValueError) as error:
            message = f"{record.msg} (its arguments do not fit: {error})"
        told = record.exc_info
        error_text = "".join(traceback.format_exception(*told)) if told and told[0] else record.exc_text or ""
        fields = {**CONTEXT.get(), **getattr(record, "fields", {})}
        self._put(LogLine(record.created, record.levelname, record.name, message, fields, error_text.rstrip()))

    def close(self) -> None:
        """Write what waits, for at most `FLUSH_SECONDS`, and take no more; at the end of a process `logging` calls it."""
        self.finish()

    def finish(self, seconds: float = FLUSH_SECONDS) -> bool:
        """Take no more, and wait so long at most for what waits to be written. Whether all is; if not, it may be called again."""
        file = self._file
        if file is None:
            return True
        if not self._closing:
            self._detach()
            if self._thread is not None:
                self._queue.put(None)
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                return False
        self._file = None
        file.close()
        return True

    def _detach(self) -> None:
        self._closing = True
        self._ending.set()
        self._under.removeHandler(self)
        if not any(isinstance(other, LogWriter) for other in self._under.handlers):
            self._under.setLevel(_LEVELS.pop(self._under.name, logging.NOTSET))
        if self._captures:
            logging.captureWarnings(False)
        super().close()

    def _put(self, line: LogLine) -> None:
        if self._closing:
            return
        if self._queue.qsize() >= QUEUE:
            self._lost += 1
            return
        self._queue.put(line)
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, args=(self._file,), name="neuralclaw-log", daemon=True)
                    self._thread.start()

    def _work(self, file: LogFile) -> None:
        """The thread: lines as they come, many at once where many wait. A disk that takes none costs the lines, which are counted, and nothing else."""
        pid, ended = os.getpid(), False
        while not ended:
            batch = [self._queue.get()]
            if batch[0] is not None:
                self._ending.wait(GATHER_SECONDS)
            while len(batch) < BATCH and batch[-1] is not None and not self._queue.empty():
                batch.append(self._queue.get())
            ended = batch[-1] is None
            lines = [line for line in batch if line is not None]
            lost, self._lost = self._lost, 0
            if lost:
                lines.append(LogLine(time.time(), "WARNING", "neuralclaw.log", f"{lost} records were lost: the disk was too slow or full", {}, ""))
            try:
                if lines:
                    file.write([encoded(line, pid, self._redact) for line in lines])
            except OSError:
                self._lost += lost + sum(1 for line in batch if line is not None)


def encoded(line: LogLine, pid: int, redact: Callable[[str], str]) -> bytes:
    """The line as it is in the file."""

    def plain(value: Any) -> Any:
        if isinstance(value, str):
            text = shortened(redact(str(value)))
            return text if text.isascii() else text.encode("utf-8", "replace").decode()  # no half of a surrogate pair is JSON
        if isinstance(value, dict):
            return {plain(str(name)): plain(one) for name, one in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [plain(one) for one in value]
        if value is None or isinstance(value, bool | float):
            return value
        return value if isinstance(value, int) and abs(value) < 2**63 else f"<{type(value).__name__}>"

    head = {"time": rfc3339(round(line.at * 1_000_000)), "level": line.level, "logger": line.logger, "message": plain(line.message), "pid": pid}
    rest = {name: plain(value) for name, value in line.fields.items() if name not in head}
    if line.error:
        rest["error"] = plain(line.error)
    return msgspec.json.encode(head | rest) + b"\n"


def shortened(text: str) -> str:
    half = LONGEST // 2
    return f"{text[:half]} … {len(text) - LONGEST:,} characters … {text[-half:]}" if len(text) > LONGEST else text
