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


def builtin_sources(instructions: WorkspaceInstructions | None, environment: MachineContext | None) -> list[ContextSource]:
    """Those that are switched on: the workspace's instructions, and the machine at this moment."""
    found = []
    if instructions is not None:
        found.append(instructions_source(instructions))
    if environment is not None:
        found.append(environment_source(environment))
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
