"""The chat at a terminal that can do it: what stands on the screen before the agent is open, and what it completes afterwards."""

import argparse
import logging
import posixpath
import sys
from collections.abc import Iterable
from typing import Any

from anyio.abc import TaskGroup

from ..app.capabilities import Capabilities, capabilities_of
from ..app.desk_client import DeskClient
from ..channels.console import TerminalKind
from ..channels.input_completion import InputCompleter, Values
from ..channels.input_history import InputHistory
from ..channels.live_interface import LiveInterface
from ..channels.nonblocking_output import NonblockingOutput
from ..config.process_environment import environ
from ..errors import NeuralClawError
from ..foreign_code import run_foreign_command
from ..plugins import load
from . import output
from .option_choices import TRUST

log = logging.getLogger(__name__)


class LiveChat:
    """The terminal of one chat."""

    def __init__(self, args: argparse.Namespace, flow: NonblockingOutput, early: tuple[str, list[Any]]) -> None:
        self._flow = flow
        self.words, self.history = InputCompleter(args.workspace or "."), InputHistory()
        self.interface = LiveInterface(
            sys.stdin, flow, kind=TerminalKind(environ.get("TERM", ""), output.COLOUR), verbose=args.verbose, words=self.words, history=self.history
        )
        self.interface.console.early, self.interface.console.modes = early
        self._chat: Any = None

    async def serve(self, group: TaskGroup) -> None:
        """Show the prompt until the chat ends."""

        def interrupt() -> None:
            if self._chat is not None:
                group.start_soon(self._chat.interrupted)

        def halt() -> None:
            if self._chat is not None:
                group.start_soon(self._chat.stop)

        self.interface.console.interrupt, self.interface.console.halt = interrupt, halt
        await self.interface.console.run()

    async def desk_opened(self, chat: Any, client: DeskClient) -> None:
        """The desk is open: what only it knows stands on the screen and is completed from now on."""
        self._chat = chat
        self.history.begin(posixpath.join(client.settings.home, "chat_history"), client.redact)
        self.words.commands.update({name: f"{command.takes}  {command.does}".strip() for name, command in chat.commands.items()})

        async def sessions() -> Iterable[tuple[str, str]]:
            rows = output.plain(await client.desk.do("sessions.list"))
            return [(row["session"], row["title"]) for row in sorted(rows, key=lambda row: str(row["updated"]), reverse=True)]

        async def models() -> Iterable[tuple[str, str]]:
            return [(row["model"], f"{row['context']:,} tokens") for row in output.plain(await client.desk.do("models.list"))]

        async def levels() -> Iterable[tuple[str, str]]:
            return [(level, "") for level in TRUST]

        async def answers() -> Iterable[tuple[str, str]]:
            question = self.interface.questions.current
            return [(choice, "") for choice in question.choices if choice != "no"] if question is not None else []

        values: dict[str, Values] = {"resume": sessions, "new": sessions, "model": models, "trust": levels, "approve": answers}
        values |= _verbs_and_options(capabilities_of(client.settings))
        self.words.values.update({name: _guarded(found) for name, found in values.items()})

    def farewell(self) -> None:
        """The terminal is the person's again: show what came last, and how to come back."""
        if self._chat is not None:
            self._chat.farewell()
        self._flow.out.write(self.interface.console.rest())
        self.history.end()


def _guarded(values: Values) -> Values:
    """The same, and nothing where it fails: a key that is pressed must not end what the person types."""

    async def found() -> Iterable[tuple[str, str]]:
        try:
            return await run_foreign_command("the completion", values)
        except NeuralClawError as error:
            log.warning("%s", error.text)
            return ()

    return found


def _verbs_and_options(capabilities: Capabilities) -> dict[str, Values]:
    """What is completed behind the nouns of capabilities. Nothing is imported for it before something is completed."""
    names = [name for one in capabilities.loaded for name in one.verbs]

    def verbs(noun: str) -> Values:
        async def found() -> Iterable[tuple[str, str]]:
            rows = capabilities.verbs()
            return [(name.partition(".")[2], rows[name].summary) for name in names if name.startswith(f"{noun}.") and rows[name].in_chat]

        return found

    def options(name: str) -> Values:
        async def found() -> Iterable[tuple[str, str]]:
            return list(load("chat.options")(capabilities.verbs()[name]))

        return found

    nouns = dict.fromkeys(name.partition(".")[0] for name in names if "." in name)
    return {noun: verbs(noun) for noun in nouns} | {name.replace(".", " "): options(name) for name in names if "." in name}
