"""`AUDIT`: the capability that brings the commands about the record as a whole, its anchors, and what is recorded of them."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec

from ...capability import Capability, Service, Verb
from ...errors import StoreError, UsageError
from ...plugins import load
from ...types.records import VerifyReport
from ..capability_context import BuiltInContext
from .anchor_events import KINDS, AnchorAccepted
from .anchor_settings import AuditSettings

ChainPosition = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""The number of a record of the chain; 0 is before the first."""


def _queries(context: BuiltInContext) -> Any:
    return load("record.queries")(context)


def _no_records(given: Mapping[str, Any]) -> str:
    """What is said where there is nothing to list."""
    where = f" in session {given['session']}" if given.get("session") else ""
    return f"nothing was recorded{where} after record {given['after']}" if given.get("after") else "the record is empty"


def _text(name: str) -> Callable[[Any], Any]:
    """What makes a value into what people read, loaded when it is needed."""
    return lambda value: load(f"record.{name}")(value)


async def send_marks(context: Any) -> None:
    """Send marks to the owner where the settings say so; returns where they do not."""
    if context.settings.anchor.message is not None:
        await load("anchor.messages")(context)


async def verify_record(context: BuiltInContext) -> Any:
    """Whether the record is whole."""
    return await _queries(context).verify()


async def keep_anchor(context: BuiltInContext, *, accept: bool = False, check: str | None = None) -> Any:
    """Accept the record as it is now: it is verified and its head is anchored anew, which is on record. Or compare it with a mark that was sent.

    Raises `UsageError` without either, for both, and for a text that holds no mark, and `StoreError` where the record is not whole or cannot be written.
    """
    if accept and check is not None:
        raise UsageError("--accept and --check exclude each other; nothing was anchored", hint="neuralclaw audit anchor --check TEXT, then --accept")
    if not accept and check is None:
        text = "nothing was anchored: the current record is accepted only with --accept, and compared with a mark with --check TEXT"
        raise UsageError(text, hint="neuralclaw audit verify shows the anchor")
    if check is not None:
        return await load("anchor.check")(context.store, check)
    report = await context.store.verify()
    if report.bad is not None and not _of_anchor(report):
        raise StoreError("the record is not whole: its head was not accepted, and the anchor is as it was", hint="neuralclaw audit verify")
    wrong = tuple(one.place for one in (report.anchor, *report.anchors) if one is not None and not one.ok)
    await context.record(AnchorAccepted(by=context.who, records=report.records, head=report.head, contradicted=wrong))
    return await context.store.accept_anchor()


def _of_anchor(report: VerifyReport) -> bool:
    """Whether what is wrong is told by the anchor alone, as after a backup was restored: an entry that no session is named for."""
    bad = report.bad
    return bad is not None and report.anchor is not None and not report.anchor.ok and (bad.session, bad.table) == ("", "") and bad.why in ("cut", "hash")


async def show_record(
    context: BuiltInContext, call_id: str | None = None, *, session: str | None = None, after: ChainPosition | None = None
) -> list[dict[str, Any]] | Any:
    """Headers of the record, oldest first, with their kind and digest; of one session or of all. With `call_id`: why that call was allowed or was not.

    Raises `UsageError` for a call that is not there, and for `after` with one.
    """
    if call_id is None:
        return await export_record(context, session=session, after=after)
    if after is not None:
        raise UsageError("--after goes with the list of records, not with a call", hint=f"neuralclaw audit show {call_id}")
    return await load("record.why")(context.store, call_id, session, context.policy_digest)


async def export_record(context: BuiltInContext, *, session: str | None = None, after: ChainPosition | None = None) -> list[dict[str, Any]]:
    """Headers of the record, oldest first, with their kind and digest; of one session or of all."""
    headers: list[dict[str, Any]] = await _queries(context).record(session=session, after=after or 0)
    return headers


_RECORDS = {"session": "only this session", "after": "only what came after this record"}

AUDIT = Capability(
    name="audit",
    summary="the record of everything",
    settings=AuditSettings,
    events=KINDS,
    services=(Service(name="anchor-message", run=send_marks),),
    verbs=(
        Verb(
            name="audit.verify",
            summary="Check the whole record; exit 1 names the first bad one.",
            run=verify_record,
            example="neuralclaw audit verify --json",
            render=_text("verified"),
            succeeded=lambda report: bool(report["ok"]),
            reads=True,
            needs="record",
        ),
        Verb(
            name="audit.anchor",
            summary="Accept the record as it is now, after you restored a backup of it, or compare it with a mark that was sent to you.",
            run=keep_anchor,
            example="neuralclaw audit anchor --accept",
            help={"accept": "anchor the record as it is; it is verified first", "check": "the message, or the line of it that names the record"},
            spelled={"check": "--check TEXT"},
            render=_text("anchored"),
            succeeded=lambda anchor: bool(anchor["ok"]),
            in_chat=False,
            begins_no_turn=True,
        ),
        Verb(
            name="audit.show",
            summary="The records in their order, or why a call was allowed: the rules, the labels and the policy of that time, who answered and where.",
            run=show_record,
            example="neuralclaw audit show --session work",
            help={**_RECORDS, "call_id": "why this call was allowed or was not, as sessions show --json names it"},
            spelled={"call_id": "CALL", "session": "--session ID", "after": "--after RECORD"},
            display=_text("header"),
            render=_text("decided"),
            empty=_no_records,
            reads=True,
            needs="record",
        ),
        Verb(
            name="audit.export",
            summary="The records as JSON lines.",
            run=export_record,
            example="neuralclaw audit export > audit.jsonl",
            help=_RECORDS,
            spelled={"session": "--session ID", "after": "--after RECORD"},
            json_lines=True,
            reads=True,
            needs="record",
        ),
    ),
)
