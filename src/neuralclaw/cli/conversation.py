"""A conversation with the agent: what a message, a command and an answer do. How it is shown and typed is the interface's."""

import math
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio

from ..app.desk_client import DeskClient
from ..app.option_checks import new_session
from ..app.pictures import mentioned
from ..channels import text_layout
from ..channels.command_hints import typed
from ..channels.nonblocking_output import NonblockingOutput
from ..channels.question_prompts import LETTERS
from ..errors import AlreadyAnswered, NeuralClawError, SessionBusy, SessionNotFound, TurnSetAside, UsageError
from ..ports import Desk
from ..types.entries import Event
from ..types.events import ApprovalRequested, ApprovalResolved, Inbound, Message, TurnFinished, TurnStarted
from ..types.ids import new_id
from ..types.messages import Image
from . import setup_offer
from .chat_interface import ChatInterface
from .continued_session import continued_session
from .failure import code_of
from .interrupts import leave_at_once
from .output import plain
from .parsing import clean
from .session_watch import ELSEWHERE, SessionWatch, turns_of
from .status_text import first_line
from .turn_failure import error_of_turn
from .unknown_slash import no_slash_command
from .waiting_messages import WaitingMessage, insert, taken_up

_WAITS = "The session waits for an answer; what is queued is kept and waits for it too."
_RECALLED = 3
"""So many earlier turns are shown again when a session is taken up."""
_AFTERWARDS = 0.5
"""Seconds after another program at the terminal has ended in which a Ctrl-C was meant for it."""
_PATIENCE = 3
"""Ctrl-C so many times during one turn leaves the program."""


class SlashCommand:
    """A command of the chat: its group in `/help`, what it takes and does, in words, and the function that does it.

    `help`: what `/help COMMAND` shows, where that is more than its line.
    """

    __slots__ = ("does", "group", "help", "run", "takes")

    def __init__(self, group: str, takes: str, does: str, run: Callable[["Chat", str], Awaitable[None]], *, help: Callable[[], str] | None = None) -> None:
        self.group, self.takes, self.does, self.run, self.help = group, takes, does, run, help


class Chat:
    """The conversation of one person (or a pipe) with the agent, in one session at a time."""

    def __init__(self, interface: ChatInterface, flow: NonblockingOutput, *, asks: bool, commands: Mapping[str, SlashCommand]) -> None:
        self.interface, self._flow, self.asks, self.commands = interface, flow, asks, commands
        self.client: DeskClient
        self.session: str | None = None
        self.options: dict[str, Any] = {}
        self.model: str | None = None
        """The model that was asked for on the command line."""
        self.queued: list[WaitingMessage] = []
        """What waits for the end of the turn, in the order in which turns begin with it."""
        self.leaving = self.again = False
        """The chat ends, or the agent has to be opened again."""
        self.running = False
        self._offered = False
        self._deaf = 0.0  # monotonic seconds until which Ctrl-C is meant for another program at this terminal
        self._events: Any = None
        """Those of the turn that runs."""
        self._begun = self._pick_up = self._parked = False
        self._steered: list[WaitingMessage] = []
        """What was said to the running turn."""
        self._watch = SessionWatch()
        self._presses = 0

    @property
    def desk(self) -> Desk:
        """What the conversation goes through."""
        return self.client.desk

    @property
    def who(self) -> str:
        """For whom it is done, as the record says it."""
        return self.client.defaults.who

    async def serve(self, client: DeskClient) -> None:
        """Until the person leaves or input ends."""
        self.client = client
        state = await self._state() if self._pick_up and not self.interface.person else ""
        if self.interface.person:
            await self._greet()
            state = await self._look_around()
        self._pick_up = self._pick_up and state != "idle"  # of an idle one everything is shown already
        await self._offer()
        while not (self.leaving or self.again):
            if self._pick_up and self.session is not None:
                await self._resume(self.session)
                continue
            message = self.queued.pop(0) if self.queued else await self._ask()
            self.interface.session_status.queued = len(self.queued)
            if message is None:
                self.leaving = True
            elif message.key and self._parked:
                self.interface.say(_WAITS, "dim")
            else:
                await self._line(clean(message.text), message)

    async def _resume(self, session: str) -> None:
        self._pick_up = False
        try:
            await self._turn(self.desk.resume(await continued_session(self.desk, session), self.client.defaults.starting(), by=self.who))
        except TurnSetAside as error:
            self.show_error(error)

    def farewell(self) -> None:
        """Say how to come back."""
        if self.interface.person and self.session is not None and self._begun:
            self.interface.say(typed(f"Resume with: neuralclaw --resume {self.session}"), "dim")

    async def _offer(self) -> None:
        """Name `init` where no model was chosen and none was found; at a terminal offer it, once."""
        if self.client.chosen:
            return
        told = await self.desk.do("models.show", model=None)
        if told["model"].startswith("offline:"):
            self.interface.say(typed(setup_offer.NAMED), "yellow")
            self._offered = self.interface.person and not setup_offer.asked_before(self.client.settings.home)
            if self._offered:
                self.interface.say(setup_offer.QUESTION, "bold")

    async def _accepts(self, text: str) -> bool:
        """Whether the text is the answer to the offer; a yes sets up a model, here and now."""
        self._offered = False
        word, home = text.strip().lower(), self.client.settings.home
        setup_offer.remember(home)
        if word in ("y", "yes"):
            self._deaf = math.inf
            async with self.interface.aside():
                self.again = await setup_offer.run_init(home)
            self._deaf = time.monotonic() + _AFTERWARDS  # the same Ctrl-C may have ended it and still be on its way here
        return word in ("y", "yes", "n", "no", "")

    async def interrupted(self) -> None:
        """Ctrl-C: stops the turn, never the chat."""
        if time.monotonic() < self._deaf:
            return
        self._presses += 1
        self.interface.fresh()
        if self.running and self.session is not None and self._presses < _PATIENCE:
            await self.stop()
        elif self.running or not self.interface.person:
            self.interface.let_go()
            leave_at_once(self._flow)
        else:
            self.interface.say("Nothing runs. Ctrl-D leaves.", "dim")
            self.interface.ready()

    async def _state(self) -> str:
        """Whether something is unfinished in the session, "" where there is no such session. Over a pipe no old answer is shown."""
        try:
            return str((await self.desk.do("sessions.show", session=self.session, after=sys.maxsize))["state"])
        except SessionNotFound:
            return ""

    async def stop(self) -> None:
        """Stop the turn that runs, if one does."""
        if self.running and self.session is not None:
            try:
                await (self.desk.stop(self._events, by=self.who) if self._events is not None else self.desk.cancel(self.session, by=self.who))
            except NeuralClawError as error:
                self.show_error(error)

    async def _greet(self) -> None:
        """Say where it works, how freely, and what confines its commands."""
        told = plain(await self.desk.do("status"))
        self.interface.say(first_line(told), "dim")
        if told["warning"]:
            self.interface.say(typed(told["warning"]), "yellow")

    async def _look_around(self) -> str:
        """The model that answers, and what the session's record tells; its state, "" for a new one."""
        state = await self.look(self.session) if self.session is not None else ""
        try:
            told = await self.desk.do("models.show", model=self.options.get("model") or self.model, usable=True)
        except NeuralClawError as error:
            self.show_error(error)
        else:
            self.interface.session_status.model, self.interface.session_status.window = told["model"], told["context"]
        return state

    async def look(self, session: str) -> str:
        """Take up what the record of a session says about its context and its costs, and show its last turns; its state, "" where there is no such session."""
        try:
            shown = plain(await self.desk.do("sessions.show", session=session))
        except SessionNotFound:
            return ""
        self._begun = True
        self._watch.looked(session, shown["events"])
        self.interface.session_status.recount(shown["events"])
        for asked, answer in turns_of(shown["events"])[-_RECALLED:]:
            self.interface.recall(asked, answer)
        return str(shown["state"])

    async def _ask(self) -> WaitingMessage | None:
        """The next message that is typed; None when there will be none. A turn that a message from elsewhere begins meanwhile is followed, or told of."""
        while True:
            self.interface.ready()
            found = await self._watch.next(self.desk, self.session, self.interface)
            if found is None or isinstance(found, str):
                self.interface.taken()
                return None if found is None else WaitingMessage(found)
            self.interface.fresh()
            try:
                if self._watch.tells_beginning(found, self.interface):
                    await self._turn(self.desk.resume(self.session or "", self.client.defaults.starting(), by=self.who))
            except SessionBusy:
                self.interface.say(typed(ELSEWHERE.format(self.session)), "dim")
            except NeuralClawError as error:
                self.show_error(error)

    async def _line(self, line: str, message: WaitingMessage) -> None:
        if self._offered and await self._accepts(line):
            return
        if not line.strip():
            return
        try:
            if line.startswith("/"):
                await self.command(line)
            elif message.key and self.session is not None:
                if not (message.steers and await taken_up(self.desk, self.session, message.entry)):
                    await self._turn(self.desk.turn(self.session, self.client.defaults.word(line, key=message.key)))
            else:
                if self.session is None:
                    self.session = new_id()
                await self._turn(self.desk.turn(new_session(self.session), self._message(line, None)))
        except NeuralClawError as error:
            self.show_error(error)

    def _message(self, text: str, key: str | None) -> Inbound:
        """The message that begins a turn, with the pictures that it names."""
        return self.client.defaults.message(text, key=key, images=self._pictures(text), **self.options)

    def _pictures(self, text: str) -> tuple[Image, ...]:
        return mentioned(text, self.client.defaults.turn.workspace)

    def show_error(self, error: NeuralClawError) -> None:
        """Show an error that ended a turn; the chat goes on."""
        self.interface.trouble("NeuralClawError" if code_of(error) == 2 else error.kind, error.text, error.hint)

    async def _turn(self, turn: Any) -> None:
        """Follow a turn. What was said too late for it begins turns of its own, which are followed next."""
        await self._follow(turn)
        said, self._steered = self._steered, []
        for message in said:
            if not self.leaving and not await taken_up(self.desk, self.session or "", message.entry):
                self._wait_with(message)

    async def _follow(self, turn: Any) -> None:
        self.running, self._presses = True, 0
        self.interface.session_status.since = time.monotonic()
        try:
            async with turn as events, anyio.create_task_group() as group:
                self._events = events
                if self.interface.person:
                    group.start_soon(self._typed)
                async for event in events:
                    if not self._watch.repeats(event):
                        self.interface.show(event)
                        await self.saw(event)
                        await self.interface.room()
                group.cancel_scope.cancel()
        except BaseExceptionGroup as several:
            self.show_error(error_of_turn(several))
        finally:
            self.running, self._events = False, None
            self.interface.session_status.since = None
            self.interface.questions.clear()

    async def saw(self, event: Event) -> None:
        self.session, self._begun = event.session, True
        self._watch.saw(event)
        session_status, questions = self.interface.session_status, self.interface.questions
        match event.body:
            case TurnStarted(model=model):
                session_status.model = model
            case Message(usage=usage):
                session_status.count(usage)
            case ApprovalRequested() if self.asks:
                if questions.current is None:
                    self.interface.forget()
                questions.add(event.body)
            case ApprovalResolved():
                if questions.resolved(event.body) and (questions.current is not None or not self.interface.keys):
                    self.interface.forget()  # what was typed for it is no answer to the next one, and no message
            case TurnFinished(waiting=waiting):
                self._parked = bool(waiting)
                questions.clear()
            case _:
                pass

    async def _typed(self) -> None:
        """What the person types while a turn runs: an answer when a question stands there, else a word to the running turn."""
        while (line := await self.interface.next()) is not None:
            self.interface.taken()
            with anyio.CancelScope(shield=True):  # the turn may end meanwhile: what was taken from the input must not be lost
                try:
                    await self._meanwhile(clean(line))
                except NeuralClawError as error:
                    self.show_error(error)
        await self.leave()

    async def leave(self) -> None:
        """Nobody is there any more, or wants to be: a running turn is stopped, its questions are answered by nobody."""
        self.leaving = True
        if self.running and self.session is not None:
            await self.desk.leave(self.session)
            await self.desk.cancel(self.session, by=self.who)

    async def _meanwhile(self, line: str) -> None:
        questions = self.interface.questions
        if line.startswith("/"):
            await self.command(line)
        elif questions.current is not None:
            reply = questions.read(line)
            if reply is not None:
                await self.answer(reply.decision, reply.text)
        elif line.strip().lower() in LETTERS:
            raise UsageError("no question waits here; nothing was sent")
        elif line.strip():
            await self._steer(line)

    async def _steer(self, line: str) -> None:
        message = self._message(line, None)  # its options hold where it comes too late for the turn and begins one
        try:
            entry = await self.desk.steer(self.session or "", message)
        except SessionNotFound:  # the turn is about to begin
            self._wait_with(WaitingMessage(line))
        else:
            self._steered.append(WaitingMessage(line, message.key, entry, steers=True))

    def pick_up(self, wanted: bool = True) -> None:
        """Finish what is unfinished in the session, next."""
        self._pick_up = wanted

    async def queue(self, text: str) -> None:
        """Send it when the running turn has ended. A message is on record at once."""
        message = WaitingMessage(text)
        if self._events is not None and self.session is not None and not text.startswith("/"):
            inbound = self._message(text, None)
            accepted = await self.desk.queue(new_session(self.session), inbound)
            message = WaitingMessage(text, inbound.key, accepted.entry)
        self._wait_with(message)

    def _wait_with(self, message: WaitingMessage) -> None:
        insert(self.queued, message)
        self.interface.session_status.queued = len(self.queued)

    async def answer(self, decision: str, text: str | None = None) -> None:
        """Answer the question on the screen; the model reads the `text` of a no."""
        question = self.interface.questions.current
        if question is None:
            raise UsageError("no question waits here", hint="neuralclaw approvals list")
        decision = LETTERS.get(decision, decision)
        if decision not in question.choices:
            raise UsageError(f"this question takes one of {', '.join(question.choices)}")
        self.interface.questions.mine.add(question.approval_id)
        try:
            await self.desk.answer(question.approval_id, decision, by=self.who, text=text)
        except AlreadyAnswered:
            self.interface.questions.mine.discard(question.approval_id)
            raise
        self.interface.forget()
        self.interface.questions.drop(question.approval_id)

    async def command(self, line: str) -> None:
        """A line that begins with a slash."""
        word, _, rest = line[1:].partition(" ")
        word = word.strip()
        if word not in self.commands:
            raise no_slash_command(word, rest, self.commands)
        command, rest = self.commands[word], rest.strip()
        if rest and not command.takes:
            raise UsageError(f"/{word} takes no argument; nothing was done", hint=f"/{word} alone: {command.does}")
        await command.run(self, rest)

    def say(self, text: str) -> None:
        """Show what a command found."""
        self.interface.say(text)

    def table(self, rows: Sequence[Sequence[str]], *, drop: Sequence[int] = ()) -> None:
        """Show rows as wide as the screen; where it is narrow without the columns `drop`, the first of them first."""
        self.interface.say("\n".join(text_layout.table(rows, self.interface.screen.width, drop=drop)))
