"""What ended a turn, for a person who goes on with the chat."""

from typing import cast

import anyio

from ..errors import AgentError, NeuralClawError
from ..foreign_code import reason_with_place


def error_of_turn(group: BaseExceptionGroup[BaseException]) -> NeuralClawError:
    """An error of ours before any other. Raises the group again where the chat cannot go on."""
    if (ours := group.subgroup(NeuralClawError)) is not None:
        return cast(NeuralClawError, _first(ours))
    if group.subgroup((OSError, KeyboardInterrupt, SystemExit, anyio.get_cancelled_exc_class())) is not None:  # OSError: the screen is gone
        raise group
    return AgentError(f"the turn stopped on a defect: {reason_with_place(_first(group))}", hint="what was recorded is kept; /resume continues it")


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
