"""The one door, as Protocols: `Desk`, which every client of the program talks to, and `Channel`, a client that a capability brings."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from .types.entries import Event
from .types.events import Inbound
from .types.options import StartOptions
from .types.records import Accepted


class Subscriber(Protocol):
    """One reader of the event stream, with its own bounded buffer."""

    def __aiter__(self) -> AsyncIterator[Event]: ...
    async def __anext__(self) -> Event: ...


class TurnEvents(Protocol):
    """The events of one turn, up to its `turn.finished`; `Desk.stop` ends it."""

    @property
    def session(self) -> str: ...
    @property
    def number(self) -> int | None:
        """The turn, None while its message waits for it."""
        ...

    def __aiter__(self) -> AsyncIterator[Event]: ...
    async def __anext__(self) -> Event: ...


class VerbCaller(Protocol):
    """What runs commands by their names: the desk, and a home of which only a part is open."""

    async def do(self, verb: str, /, **arguments: Any) -> Any:
        """Run a command by its name. Its value in plain JSON types, as `--json` prints it.

        Raises `UsageError` for a command that is not there and for arguments that it does not take.
        """
        ...


class Desk(VerbCaller, Protocol):
    """The one door: all that a person or program can do, wherever they sit. `by` and `Inbound.by` say for whom it is done; it goes on record.

    A message whose `options` are None runs under those of the session's last turn, that of a new session under the desk's own; in options that are
    given an empty `model` or `workspace` is the desk's own. `start` None: the turn that the message begins runs as its options say, and an older turn that
    is unfinished goes on before it as it was recorded, with nobody there; in `resume` and `recover`, as the desk's owner is there.
    What cannot be used raises `UsageError` or `ConfigError` before anything is recorded; a turn that fails raises nothing.

    What a call has written survives `kill -9` when it returns. The desk that a channel is given, in `serve` and in the context that it is made with, and the
    one of a service wait until it is on the disk: it survives a power cut too, and may be acknowledged to where it came from. Of these desks the own options
    are: a question parks the turn, and the workspace is `workspaces/SESSION` of the home.
    """

    def turn(self, session: str, inbound: Inbound, start: StartOptions | None = None) -> AbstractAsyncContextManager[TurnEvents]:
        """Send a message and follow its turn. Leaving before its end cancels it, or withdraws the message that waits for its turn.

        A key that was accepted before follows what that message began. A person's message to a parked session withdraws its open questions; a
        program's waits for their answers. Raises `SessionBusy` when the session's turn runs in another process.
        """
        ...

    async def send(self, session: str, inbound: Inbound, start: StartOptions | None = None) -> Accepted:
        """The same without following: returns when the message is on record; the turn runs in the background.

        It survives `kill -9`, and from a channel's desk a power cut: a channel acknowledges it then, and not before. That desk raises `StoreError` where
        the message is on record and could not be brought to the disk; sent again with its key, it is the same message.
        """
        ...

    async def queue(self, session: str, inbound: Inbound) -> Accepted:
        """Record a message that waits for the end of the turn that runs or is parked, in whichever process, and begins a turn then; at once where none is."""
        ...

    async def steer(self, session: str, inbound: Inbound) -> int:
        """Say something to the turn that runs, in whichever process: it is seen before the next model call. Gives its entry number.

        Where no turn runs it begins one, here. Its options hold for a turn that it begins, and change none that runs. Raises `SessionNotFound`.
        """
        ...

    def resume(self, session: str, start: StartOptions | None = None, *, by: str) -> AbstractAsyncContextManager[TurnEvents]:
        """Go on with what is unfinished or waits in the session and follow that turn; with nothing to do, the last turn's end again.

        A turn that runs in this process already is followed as it was started: `start` holds for what is gone on with, not for what runs.

        Raises `SessionBusy`, `SessionNotFound`, and `UsageError` for a session without a turn.
        """
        ...

    def recover(self, start: StartOptions | None = None, *, by: str) -> AsyncIterator[Event]:
        """Finish every unfinished turn of the home, one session after the other; their events. What runs elsewhere is left, and a session that cannot
        go on is named by a passing `error` event."""
        ...

    async def stop(self, events: TurnEvents, *, by: str) -> None:
        """Stop the turn of these events and no other; where its message waits, withdraw it and stop what stands before it."""
        ...

    async def cancel(self, session: str, *, by: str, turn: int | None = None, message: int | None = None) -> None:
        """Stop the session's turn, wherever it runs; a parked or unfinished one ends when it is taken up.

        `turn`: that one and no other. `message`: what the message of this entry began or will begin. Raises `SessionNotFound`.
        """
        ...

    async def answer(
        self, approval_id: str, decision: str, *, by: str, value: Mapping[str, Any] | None = None, text: str | None = None, channel: str = ""
    ) -> None:
        """Answer a question; the first answer counts. `text`: what the person says with a no, for the model. `channel`: through which it came.

        Raises `UnknownQuestion`, `AlreadyAnswered`, and `UsageError` for an answer that the question does not offer.
        """
        ...

    async def leave(self, session: str) -> None:
        """Nobody is there any more for this session: open questions of its run here are answered no, by nobody."""
        ...

    def events(self, session: str, *, after: int | None = None) -> AbstractAsyncContextManager[Subscriber]:
        """The events of a session: recorded ones with an entry number above `after` (None: all), passing ones from now on."""
        ...


class Channel(Protocol):
    """A place where a person sits. One process of a home at a time has it, under the lease `channel:NAME`: it serves and delivers there.

    Neither method may block the event loop or shield itself from a cancellation.
    """

    async def serve(self, desk: Desk) -> None:
        """Hand over what people write, until cancelled. After an error it is started again a while later; where it returns, answers are delivered still."""
        ...

    async def deliver(self, address: str, event: Event) -> None:
        """Bring the end of a turn, whose text may be empty, to this address. Returns when it has arrived, within 60 s.

        Whatever it raises, it is tried again later, and so it is where it was cancelled because its time was up: whether it arrived is not known then.
        So it may come twice; `event.session` and `event.entry` are the same each time, and belong to no other answer. The answers to one address come
        one after the other, in their order; those to several addresses at the same time. `Undeliverable` (in `types.signals`): it is given up at once.
        A turn that waits for an answer has not ended.
        """
        ...
