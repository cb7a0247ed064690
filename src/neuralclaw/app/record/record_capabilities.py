"""`SESSIONS` and `APPROVALS`: the capabilities that bring the commands about what is on record."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from ...capability import Capability, Verb
from ...plugins import load
from ...runtime.record_verbs import RecordQueries
from ..capability_context import BuiltInContext
from ..option_checks import RESERVED

if TYPE_CHECKING:
    from .answering_verbs import AnsweringVerbs  # what only reads the record does not load it
    from .session_edits import SessionEdits

RecordNumber = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""The number of an entry of a session, or of a record of the chain; 0 is before the first."""
HitLimit = Annotated[int, msgspec.Meta(ge=1, le=1000)]
"""How many places are told at most."""
SpokenDecision = Literal["once", "session", "always", "no", "y", "s", "a", "n"]
"""An answer, or its letter."""
_LETTERS = {"y": "once", "s": "session", "a": "always", "n": "no"}


def queries_of(context: BuiltInContext) -> RecordQueries:
    return RecordQueries(context.store, context.workspace, RESERVED, context.told)


def answers_of(context: BuiltInContext) -> "AnsweringVerbs":
    verbs: AnsweringVerbs = load("record.answering")(context.store, context.desk, context.notify, context.who)
    return verbs


def text_of(name: str) -> Callable[[Any], Any]:
    """What makes a value into what people read, loaded when it is needed."""
    return lambda value: load(f"record.{name}")(value)


async def list_sessions(context: BuiltInContext, *, unfinished: bool = False) -> list[dict[str, Any]]:
    """The sessions, the newest first."""
    return await queries_of(context).sessions(unfinished=unfinished)


async def show_session(context: BuiltInContext, session: str | None = None, *, after: RecordNumber | None = None, sentences: bool = False) -> dict[str, Any]:
    """One line of `sessions list` with the durable events after entry `after`. Without `session`: the newest of the workspace.

    `sentences`: each event says too, as `sentence`, what happened in words.
    """
    return await queries_of(context).session(session=session, after=after or 0, sentences=sentences)


async def search_sessions(context: BuiltInContext, text: str, *, limit: HitLimit = 20) -> list[dict[str, Any]]:
    """Where the text stands in titles, messages, answers and tool results, the newest first. It reads the record itself: see `SessionSearch` for the cost."""
    hits: list[dict[str, Any]] = await load("record.search")(context.store, context.redaction, text, limit).hits()
    return hits


async def export_session(
    context: BuiltInContext, session: str, *, output: str | None = None, markdown: bool = False, write: Callable[[str], object] | None = None
) -> Any:
    """The whole session as one object, or as Markdown: given as the value, to `write` piece by piece, or to a new file `output`.

    Raises `UsageError` where there is such a file.
    """
    return await load("record.export")(context, session=session, output=output, markdown=markdown, write=write)


async def send_message(context: BuiltInContext, session: str, text: str) -> dict[str, Any]:
    """Steer the turn that runs in the session, in whichever process; where none does, begin one here and bring it to its end."""
    done: dict[str, Any] = await load("record.verbs")(context.store, context.desk, context.defaults).send(session=session, text=text)
    return done


async def cancel_turn(context: BuiltInContext, session: str) -> dict[str, Any]:
    """Stop the session's turn, wherever it runs; one that is parked or was interrupted ends here, and what waits behind it is withdrawn."""
    done: dict[str, Any] = await load("record.verbs")(context.store, context.desk, context.defaults).cancel(session=session)
    return done


def _edits(context: BuiltInContext) -> "SessionEdits":
    edits: SessionEdits = load("record.edits")(context.store, context.notify, context.redaction, context.who)
    return edits


async def rename_session(context: BuiltInContext, session: str, title: str) -> dict[str, Any]:
    """Give the session another title, also while a turn of it runs. Raises `UsageError`."""
    return await _edits(context).rename(session=session, title=title)


async def delete_session(context: BuiltInContext, session: str, *, yes: bool = False) -> dict[str, Any]:
    """Erase a session for good; nothing brings it back. Raises `UsageError` without `yes`, and `SessionBusy` while a turn of it runs."""
    return await _edits(context).delete(session=session, yes=yes, erase=context.home.erase_session)


async def fork_session(context: BuiltInContext, session: str, *, to: str | None = None) -> dict[str, Any]:
    """Make a session that goes on from the end of a turn of another: `session` is `ID`, or `ID@TURN`. Raises `UsageError`."""
    done: dict[str, Any] = msgspec.to_builtins(await load("record.fork")(context, session, to=to))
    return done


async def import_session(context: BuiltInContext, file: str, *, to: str | None = None) -> dict[str, Any]:
    """Make a session of a file that `sessions.export` wrote as JSON. Raises `UsageError`, which says where the file is wrong."""
    done: dict[str, Any] = msgspec.to_builtins(await load("record.import")(context, file, to=to))
    return done


async def replay_session(context: BuiltInContext, session: str, *, model: str | None = None, policy: str | None = None) -> list[dict[str, Any]]:
    """The events of a session that is run again from its record; behind them a `fork` where it goes another way. No tool runs and nothing is written.

    Raises `SessionNotFound`, `UsageError` for one that cannot be run again and for `policy`, and `ConfigError` for `model`.
    """
    return await context.home.replay(session, model, policy)


def _came_out_again(events: Any) -> bool:
    """Whether a replay is as it was recorded, or goes another way because another model or policy was named."""
    return not (events and events[-1].get("unexpected"))


async def compact_session(context: BuiltInContext, session: str, *, preview: bool = False) -> dict[str, Any]:
    """Summarise the messages of the session before its newest turn, which requests hold no longer then; the record keeps them. `preview`: only say which.

    Raises `UsageError` for a turn that has not ended, and `SessionBusy`.
    """
    done: dict[str, Any] = msgspec.to_builtins(await load("record.compact")(context, session, preview=preview))
    return done


async def list_approvals(context: BuiltInContext, *, session: str | None = None) -> list[dict[str, Any]]:
    """The questions that wait."""
    return await queries_of(context).approvals(session=session)


async def show_approval(context: BuiltInContext, approval_id: str) -> dict[str, Any]:
    """A question, and its answer where it has one."""
    return await queries_of(context).approval(approval_id=approval_id)


async def answer_approval(context: BuiltInContext, approval_id: str, decision: SpokenDecision, *, text: str | None = None) -> dict[str, Any]:
    """Answer a question; `holder` says who goes on with the session now, or is None. `text` goes with a no, for the model."""
    return await answers_of(context).answer(approval_id=approval_id, decision=_LETTERS.get(decision, decision), text=text)


def _no_session(given: Mapping[str, Any]) -> str:
    return "there is no unfinished turn" if given.get("unfinished") else "there is no session yet"


_SESSION = "the session, or a unique beginning of its name"

SESSIONS = Capability(
    name="sessions",
    summary="what was said and done, and a word to it",
    verbs=(
        Verb(
            name="sessions.list",
            summary="The sessions, the newest first.",
            run=list_sessions,
            example="neuralclaw sessions list --unfinished",
            help={"unfinished": "only those with a turn that was interrupted"},
            columns=("session", "state", "turns", "updated", "model", "origin", "workspace", "title"),
            drop=("origin", "workspace", "model", "turns", "updated", "title"),
            empty=_no_session,
            reads=True,
            needs="record",
        ),
        Verb(
            name="sessions.show",
            summary="A session with all that was recorded in it.",
            run=show_session,
            example="neuralclaw sessions show work --json",
            help={"session": f"{_SESSION}; else the newest of this workspace", "after": "only what came after this entry"},
            spelled={"session": "ID", "after": "--after ENTRY"},
            for_people={"sentences": True},
            render=text_of("session"),
            reads=True,
            needs="record",
        ),
        Verb(
            name="sessions.search",
            summary="Where a text stands in titles, messages, answers and results of all sessions, the newest first.",
            run=search_sessions,
            example='neuralclaw sessions search "the boiler" --limit 5',
            help={"text": "what to look for, in letters of any case", "limit": "how many places to show at most"},
            columns=("time", "session", "turn", "entry", "type", "excerpt"),
            drop=("type", "turn", "entry", "time"),
            empty="{text} stands in no session",
            reads=True,
            needs="record",
        ),
        Verb(
            name="sessions.export",
            summary="A whole session as Markdown, or as JSON that a person can read and edit.",
            run=export_session,
            example="neuralclaw sessions export work --output work.md",
            help={"session": _SESSION, "output": "write it to this new file; one that is there is left as it is"},
            spelled={"session": "ID", "output": "--output FILE"},
            for_people={"markdown": True},
            render=text_of("exported"),
            reads=True,
            needs="record",
        ),
        Verb(
            name="sessions.send",
            summary="Say something to the turn that runs, in whichever process; where none runs, it begins one here, shown as run shows it.",
            run=send_message,
            example='neuralclaw sessions send work "only the files of this year"',
            help={"session": _SESSION, "text": "what to say"},
            spelled={"session": "ID"},
            in_chat=False,
        ),
        Verb(
            name="sessions.cancel",
            summary="Stop the turn of a session, in whichever process it runs. 0 also when nothing runs, which is said.",
            run=cancel_turn,
            example="neuralclaw sessions cancel work",
            help={"session": _SESSION},
            spelled={"session": "ID"},
            render=text_of("cancelled"),
            begins_no_turn=True,
        ),
        Verb(
            name="sessions.rename",
            summary="Give a session another title. Its ID stays.",
            run=rename_session,
            example='neuralclaw sessions rename work "The boiler, winter 2026"',
            help={"session": _SESSION, "title": "one line, at most 200 characters"},
            spelled={"session": "ID"},
            render=text_of("renamed"),
            begins_no_turn=True,
        ),
        Verb(
            name="sessions.fork",
            summary="A new session that goes on from the end of a turn. The first one stays as it is.",
            run=fork_session,
            example="neuralclaw sessions fork work@3 --to other-way",
            help={"session": f"{_SESSION}; with @TURN after that turn, else after the last one that ended", "to": "the name of the new session"},
            spelled={"session": "ID[@TURN]", "to": "--to ID"},
            render=text_of("forked"),
            begins_no_turn=True,
        ),
        Verb(
            name="sessions.import",
            summary="A new session from a file that sessions export wrote as JSON. None of it counts as your own words.",
            run=import_session,
            example="neuralclaw sessions import work.json",
            help={"file": "the exported session", "to": "the name of the new session; else the one it had, where that is free"},
            spelled={"to": "--to ID"},
            render=text_of("imported"),
            begins_no_turn=True,
        ),
        Verb(
            name="sessions.compact",
            summary="Summarise what was said before the newest turn, so that requests are short. The originals are kept.",
            run=compact_session,
            example="neuralclaw sessions compact work --preview",
            help={"session": _SESSION, "preview": "change nothing: show what would be summarised"},
            spelled={"session": "ID"},
            render=text_of("compacted"),
            begins_no_turn=True,
        ),
        Verb(
            name="sessions.replay",
            summary="Run a recorded session again from its record, with no effect, and print its events as JSON lines.",
            run=replay_session,
            example="neuralclaw sessions replay work",
            help={
                "session": _SESSION,
                "model": "ask this model for each reply anew, and stop at the first one that is another",
                "policy": "stop at the first decision that the rules of this file make otherwise",
            },
            spelled={"session": "ID", "model": "--model P:M", "policy": "--policy FILE"},
            json_lines=True,
            succeeded=_came_out_again,
            reads=True,
            in_chat=False,
        ),
        Verb(
            name="sessions.delete",
            summary="Erase a session for good: what was said, done and found in it. Asks at a terminal.",
            run=delete_session,
            example="neuralclaw sessions delete work --yes",
            help={"session": _SESSION, "yes": "do not ask"},
            spelled={"session": "ID"},
            render=text_of("deleted"),
            begins_no_turn=True,
        ),
    ),
)

APPROVALS = Capability(
    name="approvals",
    summary="questions that wait for you",
    verbs=(
        Verb(
            name="approvals.list",
            summary="The questions that wait, of every session.",
            run=list_approvals,
            example="neuralclaw approvals list --json",
            help={"session": "only those of this session"},
            spelled={"session": "--session ID"},
            display=text_of("waiting"),
            columns=("approval_id", "session", "turn", "since", "risk", "question"),
            drop=(),
            empty="no question waits",
            reads=True,
            needs="record",
        ),
        Verb(
            name="approvals.show",
            summary="A question with the exact command or change.",
            run=show_approval,
            example="neuralclaw approvals show 4kq0z81xwm",
            spelled={"approval_id": "ID"},
            render=text_of("question"),
            reads=True,
            needs="record",
        ),
        Verb(
            name="approvals.answer",
            summary="Answer a question: once, session, always or no. The process that runs the session continues at once.",
            run=answer_approval,
            example="neuralclaw approvals answer 4kq0z81xwm once",
            help={"text": "what the model reads with a no"},
            spelled={"approval_id": "ID", "decision": "once|session|always|no"},
            render=text_of("answered"),
            begins_no_turn=True,
        ),
    ),
)
