"""The log as a reader of the event stream: an event is a line that says what `types.sentences` has for it.

Contents stay out of it at INFO: what was said, asked and found is in the journal.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import config
from .._version import __version__
from ..errors import NeuralClawError
from ..log import LogWriter
from ..secrets import Redactor
from ..types.entries import Entry, Event, event_of
from ..types.events import AnyBody, Body, DecisionMade, Message, ToolFinished, TurnFinished
from ..types.sentences import sentence, summary

LOGGER = "neuralclaw.events"
MEGABYTE = 1_000_000


def open_log(loaded: config.LoadedSettings, redactor: Redactor) -> LogWriter:
    """The log of this home, opened; `problem` says why it is not kept where it cannot be written."""
    settings = loaded.settings.logging
    folder = config.absolute(settings.log_dir, loaded.env.get("HOME", ""), loaded.home) if settings.log_dir else f"{loaded.home}/logs"
    log_writer = LogWriter(folder, level=settings.level, max_bytes=settings.max_file_size_mb * MEGABYTE, backups=settings.backup_count, redact=redactor.redact)
    log_writer.open(whole_process=config.process_environment.ours)
    log_writer.note(logging.INFO, "neuralclaw.app", "process started", version=__version__, home=loaded.home, config=loaded.file)
    for kind, why in redactor.left_out:
        log_writer.note(logging.DEBUG, "neuralclaw.secrets", f"the value of {kind} is not looked for in texts: it is {why}")
    return log_writer


class ErrorLogging:
    """Around an agent's life: an error that ends it is in the log in full, and continues without a secret in its sentence."""

    def __init__(self, log_writer: LogWriter, redact: Callable[[str], str]) -> None:
        self._log_writer, self._redact = log_writer, redact

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, BaseExceptionGroup):
            for inner in error.exceptions:
                self.__exit__(kind, inner, trace)
        elif isinstance(error, Exception):
            self._log_writer.failure(error)
            error.args = tuple(self._redact(arg) if isinstance(arg, str) else arg for arg in error.args)
            if isinstance(error, NeuralClawError):
                error.text, error.hint = self._redact(error.text), self._redact(error.hint)


class _SessionProgress:
    """What was told of one session: up to which entry, when that was written, and the decisions on calls that are not finished."""

    __slots__ = ("before", "decisions", "entry")

    def __init__(self, before: int) -> None:
        self.entry, self.before = 0, before
        self.decisions: dict[str, DecisionMade] = {}


class EventLog:
    """Takes the entries of the sessions that this process drives, each once, whichever way it hears of them."""

    REMEMBERED = 1_000
    """Sessions that are kept in mind; beyond that the one told of longest ago that is not driven any more is forgotten."""

    def __init__(self, log_writer: LogWriter, driving: Callable[[str], bool], sentence_of: Callable[[Body], str] = sentence) -> None:
        self._log_writer, self._driving, self._sentence_of = log_writer, driving, sentence_of
        self._sessions: dict[str, _SessionProgress] = {}  # the one that was noted last is last

    def entries(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            session = entry.header.session
            progress = self._sessions.get(session)
            if (progress is not None and entry.entry <= progress.entry) or not self._driving(session):
                continue
            progress = self._sessions.pop(session, None) or self._new(entry)
            self._sessions[session] = progress
            ms = round((entry.header.time - progress.before) / 1000)
            progress.entry, progress.before = entry.entry, entry.header.time
            event = event_of(entry)
            if event is not None:
                self._note(event, progress, ms)

    def _new(self, entry: Entry) -> _SessionProgress:
        if len(self._sessions) >= self.REMEMBERED:
            for session in [name for name in self._sessions if not self._driving(name)][: len(self._sessions) - self.REMEMBERED + 1]:
                del self._sessions[session]
        return _SessionProgress(entry.header.time)

    def _note(self, event: Event, progress: _SessionProgress, ms: int) -> None:
        body = event.body
        if not isinstance(body, AnyBody):
            self._write(event, logging.INFO, body.type, {})
            if self._log_writer.level <= logging.DEBUG:
                self._write(event, logging.DEBUG, self._sentence_of(body), {})
            return
        said = summary(body)
        fields: dict[str, Any] = {}
        if isinstance(body, DecisionMade):
            progress.decisions[body.call_id] = body
        elif isinstance(body, ToolFinished) and (decision := progress.decisions.pop(body.call_id, None)) is not None:
            fields = {"decision": str(decision.decision), "by": decision.by, "risk": str(decision.risk), "tier": str(decision.tier)}
        elif isinstance(body, Message):
            fields = {"ms": ms}
        elif isinstance(body, TurnFinished) and not body.waiting:
            progress.decisions.clear()
        self._write(event, said.level, said.headline if said.level > logging.DEBUG else said.sentence, {**said.facts, **fields})

    def _write(self, event: Event, level: int, message: str, fields: Mapping[str, Any]) -> None:
        self._log_writer.note(level, LOGGER, message, session=event.session, turn=event.turn, entry=event.entry, event=event.body.type, **fields)
