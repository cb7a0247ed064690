"""The offer to set up a model, for a chat that has none: named each time, asked once in the life of a home."""

import os
import subprocess
import sys
from contextlib import suppress

import anyio.to_thread

from ..config.process_environment import environ

NAMED = "No language model is set up: the offline helper answers, which understands simple commands only. neuralclaw init sets one up."
QUESTION = "Set one up now? y for yes; anything else begins the chat."
_MARK = "model-offered"
"""File of the home that says that the question was asked."""


def asked_before(home: str) -> bool:
    """Whether this home was asked."""
    return os.path.exists(os.path.join(home, _MARK))  # noqa: PTH110, PTH118


def remember(home: str) -> None:
    """The person has answered; a home that cannot be written to is asked again."""
    with suppress(OSError), open(os.path.join(home, _MARK), "w", encoding="utf-8"):  # noqa: PTH118, PTH123
        pass


async def run_init(home: str) -> bool:
    """Let `neuralclaw init` talk to the person at this terminal; whether it saved something."""
    command = [sys.executable, "-P", "-m", "neuralclaw", "init", "--home", home]
    return await anyio.to_thread.run_sync(lambda: subprocess.run(command, env=dict(environ), check=False).returncode) == 0
