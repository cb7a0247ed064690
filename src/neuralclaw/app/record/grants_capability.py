"""`GRANTS`: the capability that brings the commands about answers that hold for more than one call."""

from typing import Annotated, Any

import msgspec

from ...capability import Capability, TurnContext, Verb
from ...plugins import load
from ...types.grants import CallOp, PlaceOp
from ..capability_context import BuiltInContext
from .record_capabilities import answers_of, queries_of, text_of


async def list_grants(context: BuiltInContext) -> list[dict[str, Any]]:
    """The answers for a session or for ever that are in force, oldest first."""
    return await queries_of(context).grants()


async def add_grant(
    context: BuiltInContext,
    op: PlaceOp | CallOp,
    what: str,
    *,
    lasting: str = "1h",
    uses: Annotated[int, msgspec.Meta(ge=1)] | None = None,
    session: str = "",
) -> dict[str, Any]:
    """Let calls of this workspace do something below a directory, run one command or fetch from one host, for a time and a number of calls, without a
    question. Raises `UsageError`."""
    tools = (await context.home.tools_and_problems(TurnContext(session=session, options=context.defaults.turn)))[0]
    giving = load("record.giving")(context, tools)
    done: dict[str, Any] = await giving.add(op=op, what=what, workspace=context.workspace, lasting=lasting, uses=uses, session=session)
    return done


async def revoke_grant(context: BuiltInContext, grant_id: str) -> dict[str, Any]:
    """Take a grant back: it counts at no later decision, in no process. Raises `UsageError`."""
    return await answers_of(context).revoke(grant_id=grant_id)


GRANTS = Capability(
    name="grants",
    summary="the answers that hold for a session or a workspace",
    verbs=(
        Verb(
            name="grants.list",
            summary="The answers that hold for a session or for ever, with what they cover.",
            run=list_grants,
            example="neuralclaw grants list",
            render=text_of("grants"),
            empty="no answer holds for a session or for ever",
            reads=True,
            needs="record",
        ),
        Verb(
            name="grants.add",
            summary="Let calls of this workspace use a directory, run a command or fetch from a host, for a time and a number of calls, without a question.",
            run=add_grant,
            example="neuralclaw grants add write ~/docs --for 1h --uses 20",
            help={
                "op": "what they may do",
                "what": "the directory, and what lies below it is covered; the whole command; or an address, whose host and port are covered",
                "lasting": "how long it holds: 90s, 20m, 1h, 2d; 30d at most",
                "uses": "how many calls it lets run; else any number",
                "session": "only for calls of this session",
            },
            spelled={"op": "read|write|delete|run|fetch", "what": "DIR|COMMAND|URL", "lasting": "--for TIME", "uses": "--uses N", "session": "--session ID"},
            render=text_of("given"),
            begins_no_turn=True,
        ),
        Verb(
            name="grants.revoke",
            summary="Take an answer back: from the next decision on it is asked again, in every process.",
            run=revoke_grant,
            example="neuralclaw grants revoke 4kq0z81xwm",
            help={"grant_id": "as in grants list; the beginning is enough where it is the only one"},
            spelled={"grant_id": "ID"},
            render=text_of("revoked"),
            begins_no_turn=True,
        ),
    ),
)
