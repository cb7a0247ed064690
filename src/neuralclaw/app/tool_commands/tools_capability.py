"""`TOOLS`: the capability that brings the commands about tools."""

from typing import Any, Literal

from ...capability import Capability, Verb
from ...plugins import load
from ...types.options import ApprovalsMode
from ..capability_context import BuiltInContext


def _verbs(context: BuiltInContext) -> Any:
    return load("tools.verbs")(context.home, context.store, context.desk, context.defaults.turn)


async def list_tools(context: BuiltInContext) -> list[dict[str, Any]]:
    """The tools that a turn would have."""
    found: list[dict[str, Any]]
    found, problems = await _verbs(context).list()
    for problem in problems:
        context.notice(problem.notice)
    return found


async def show_tool(context: BuiltInContext, name: str) -> dict[str, Any]:
    """One tool, by its name or alias. Raises `ToolNotFoundError`."""
    found: dict[str, Any] = await _verbs(context).show(name)
    return found


async def call_tool(
    context: BuiltInContext,
    name: str,
    arguments: dict[str, Any],
    *,
    session: str | None = None,
    dry_run: bool = False,
    approvals: ApprovalsMode | None = None,
    trust: Literal["low", "medium", "high"] | None = None,
) -> dict[str, Any]:
    """Call one tool through the whole pipeline: the `tool.finished` object. `dry_run`: the verdict, nothing is run.

    `approvals`, `trust`: in place of the client's own.
    """
    verbs = _verbs(context)
    done: dict[str, Any] = await (verbs.judge(name, arguments, session, trust) if dry_run else verbs.call(name, arguments, session, approvals, trust))
    return done


TOOLS = Capability(
    name="tools",
    summary="what the agent can do, each call through the gate",
    verbs=(
        Verb(
            name="tools.list",
            summary="The tools and their risk.",
            run=list_tools,
            example="neuralclaw tools list --json",
            display=lambda row: load("tools.row")(row),
            columns=("name", "risk", "effect", "aliases", "description"),
            drop=("aliases", "effect"),
            empty="there are no tools",
            reads=True,
        ),
        Verb(
            name="tools.show",
            summary="One tool with its arguments.",
            run=show_tool,
            example="neuralclaw tools show terminal",
            spelled={"name": "NAME"},
            render=lambda tool: load("tools.described")(tool),
            reads=True,
        ),
        Verb(
            name="tools.call",
            summary="Call one tool. 0 ok, 1 failed or arguments that do not fit, 2 unknown tool, 3 approval is needed and no one can give it, 5 forbidden.",
            run=call_tool,
            example="""neuralclaw tools call calculate '{"expression": "6 * 7"}'""",
            in_chat=False,
        ),
    ),
)
