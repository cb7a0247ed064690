"""The built-in sources of context, in the form in which capabilities bring theirs."""

from collections.abc import Sequence
from typing import Any

from ..capability import ContextSource, TurnContext
from ..tools.instructions import WorkspaceInstructions
from ..tools.machine_context import MachineContext
from ..types.labels import AGENT, Labels

NO_CONTEXT: Any = None
"""The built-in sources need no capability's context."""
FITTING = 4
"""Times that the files are read at most, each time with less room, until they fit with the frame around them; a window too small for that is told nothing."""
Texts = Sequence[tuple[str, Labels]]


def builtin_sources(instructions: WorkspaceInstructions | None, environment: MachineContext | None, secrets: Sequence[str] = ()) -> list[ContextSource]:
    """Those that are switched on: the workspace's instructions, the machine at this moment, and the names of the stored secrets, where there are any."""
    found = []
    if instructions is not None:
        found.append(instructions_source(instructions))
    if environment is not None:
        found.append(environment_source(environment))
    if secrets:
        found.append(secrets_source(secrets))
    return found


def instructions_source(instructions: WorkspaceInstructions) -> ContextSource:
    async def read(context: Any, turn: TurnContext, room: int) -> Texts:
        left = room  # of it the files themselves may fill what their frame leaves
        for _ in range(FITTING):
            texts = await instructions.parts(turn.options.workspace, max(left, 0))
            over = sum(len(text.encode()) for text, _ in texts) - room
            if over <= 0:
                return texts
            left -= over
        return []

    return ContextSource(name="instructions", read=read)


def environment_source(environment: MachineContext) -> ContextSource:
    async def read(context: Any, turn: TurnContext, room: int) -> Texts:
        return [(await environment.describe(turn.options.workspace), AGENT)]

    return ContextSource(name="environment", read=read, place="before_last", share=0.5)


def secrets_source(names: Sequence[str]) -> ContextSource:
    """How a call is given a stored secret. A model knows the names alone."""

    async def read(context: Any, turn: TurnContext, room: int) -> Texts:
        listed = list(names)
        while listed and len((text := _told(listed, len(names) - len(listed))).encode()) > room:
            listed.pop()
        return [(text, AGENT)] if listed else []

    return ContextSource(name="secrets", read=read, share=0.1)


def _told(names: Sequence[str], more: int) -> str:
    return f"""
Stored secrets, whose values you never see: {", ".join(names)}{f" and {more} more" if more else ""}. To use one, name it as `secret:NAME` where its value
belongs, for instance {{"env_vars": {{"{names[0]}": "secret:{names[0]}"}}}} for terminal (the command reads the variable ${names[0]}) or
{{"headers": {{"Authorization": "Bearer secret:{names[0]}"}}}} for web_fetch. The person is asked each time."""
