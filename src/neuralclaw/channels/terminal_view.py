"""A person at a terminal: events become lines on the screen."""

from collections.abc import Awaitable, Callable
from typing import Any, assert_never

import anyio.lowlevel
import msgspec

from ..types.entries import Event
from ..types.events import (
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    Cancel,
    Compaction,
    Debug,
    DecisionMade,
    Erased,
    ErrorEvent,
    GrantGiven,
    GrantRevoked,
    GrantUsed,
    HookRan,
    Inbound,
    LimitHit,
    Message,
    Nudge,
    ReasoningDelta,
    RetryEvent,
    SessionForked,
    SessionImported,
    SessionRenamed,
    StatusEvent,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    Unreadable,
)
from ..types.sentences import says_itself, sentence, unbacked_sentence
from .command_hints import answer_command, typed
from .question_prompts import outcome
from .screen import Screen, exact

_SHOWN_ARGUMENT = 200
UNCONFINED = "Commands run as plain processes here: limited, but free to read every file and to use the network. neuralclaw doctor says why."
_UNANSWERED = ("failed", "cancelled", "limit", "timed_out")
"""Status of a turn whose text is no answer but tells what was done so far."""
_SEEN_ANYWAY = ("owner", "auto", "cancelled")
"""Who answers a question in a way that the screen shows otherwise."""

_PART_OF_CALL = frozenset({"undo.saved"})
"""Events that say more of a call that has its own line: they are told where something cannot be brought back."""


class TerminalView:
    """The renderer of a person. Shows one turn after the other. The answer goes to `out`, everything else to `err`.

    On a terminal the answer appears while it arrives; over a pipe `out` gets the finished answer and nothing else. `tools`: a line
    for each call. `verbose`: also what the agent tells for those who look closely. `answer` false: `out` is not written, somebody
    else prints the result. `named`: each line follows the name of its session.
    """

    def __init__(self, out: Screen, err: Screen, *, tools: bool, verbose: bool, answer: bool = True, named: bool = False) -> None:
        self.out, self.err, self._answer, self._named = out, err, answer, named
        self._tools, self._verbose = tools, verbose
        self.room: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
        """Waits until there is room for more on both screens."""
        self.warned = False
        """It was said that commands run without confinement."""
        self.mark = "> "
        """What the line of a call begins with."""
        self._streamed = ""
        self._shown_errors: set[tuple[str, str]] = set()
        self._retried = ""  # the reason of the last retry
        self._failed: dict[str, bool] = {}  # of each call of this turn that failed, by its id, whether a line here said so
        self._limit = ""
        self._choices: dict[str, tuple[str, ...]] = {}
        self._model_arguments: dict[str, set[str]] = {}  # the arguments that the model wrote, by call

    def show(self, event: Event) -> None:
        """Show what there is to show of one event."""
        self._ready(event)
        if isinstance(event.body, AnyBody):
            self._show_built_in(event, event.body)
        elif event.body.type not in _PART_OF_CALL or getattr(event.body, "not_kept_count", False):
            self.err.line(exact(event.sentence), "dim")

    def _show_built_in(self, event: Event, body: AnyBody) -> None:
        match body:
            case TextDelta(text=text):
                self._delta(text)
            case Message():
                self._message(body)
            case RetryEvent():
                self._retry(body)
            case ToolStarted() | ToolFinished():
                self._tool(body)
            case ApprovalRequested(approval_id=question, choices=choices):
                self._choices[question] = choices
            case DecisionMade() | ApprovalResolved():
                self._decided(body)
            case LimitHit(text=text):
                self._limit = text
                self.err.line(typed(text), "yellow")
            case ErrorEvent(kind="TurnSetAside") if event.entry is not None:
                pass  # whoever took the turn up is told by the error that ends the attempt
            case ErrorEvent():
                self._error(body)
            case StatusEvent() | Compaction() | Unreadable() | HookRan():
                self._told(body)
            case ReasoningDelta() | ToolOutput() | Debug():
                self._closely(body)
            case TurnFinished():
                self.end(event.session, body)
            case (
                Inbound() | Cancel() | TurnStarted() | Nudge() | GrantGiven() | GrantUsed() | GrantRevoked()
                | Erased() | SessionRenamed() | SessionForked() | SessionImported()
            ):  # fmt: skip
                pass  # who sees this said it, or sees what comes of it
            case _:
                assert_never(body)

    def _told(self, body: StatusEvent | Compaction | Unreadable | HookRan) -> None:
        """A sentence on the side. A hook that passes changes nothing, and is not told."""
        if not isinstance(body, HookRan):
            self.err.line(exact(sentence(body)), "dim")
        elif body.outcome != "passed":
            self.err.line(exact(sentence(body)), "yellow")

    def _decided(self, body: DecisionMade | ApprovalResolved) -> None:
        """What let a call run that nobody on the screen said yes to, and who answered elsewhere."""
        if isinstance(body, ApprovalResolved):
            if body.by not in _SEEN_ANYWAY:
                self.err.line(exact(sentence(body)), "dim")
        elif body.by == "auto":
            self.err.line(sentence(body), "yellow")

    def _ready(self, event: Event) -> None:
        """The screens move to the beginning of a line for what does not flow, and know whose lines come."""
        if self._named:
            self.out.lead = self.err.lead = f"{event.session}: "
        if self.out.tty and not isinstance(event.body, TextDelta | ReasoningDelta | ToolOutput):
            self.out.fresh()

    def _closely(self, body: ReasoningDelta | ToolOutput | Debug) -> None:
        """What only those see who look closely."""
        if isinstance(body, Debug) and self._verbose:
            self.err.line(body.text, "dim")
        elif self._verbose:
            self.err.write(body.text, "dim")

    def _delta(self, text: str) -> None:
        if self.out.tty and self._answer and not self._named:
            if self._streamed == "" and self.err.tty:
                self.err.fresh()
            self._streamed += text
            self.out.stream_text(text)

    def _message(self, body: Message) -> None:
        self._retried = ""
        if body.stop in ("length", "cancelled") and body.text and not self._streamed and self._answer:
            self.out.line(body.text.removesuffix("\n"))  # cut off: it is all of the answer that there will be
        if body.tool_calls:
            self._streamed = ""
        self._model_arguments = {call.id: set(call.arguments) for call in body.tool_calls}

    def _written(self, body: ToolStarted) -> dict[str, Any]:
        """The arguments without defaults that nobody gave; all of them where the call is not known or was mended."""
        written = self._model_arguments.get(body.call_id)
        if written is None or not written <= set(body.arguments):
            return body.arguments
        return {name: value for name, value in body.arguments.items() if name in written}

    def _retry(self, body: RetryEvent) -> None:
        self._void(body.discard)
        again = msgspec.structs.replace(body, reason="the same again") if body.reason == self._retried else body
        self._retried = body.reason
        self.err.trouble("LLMError", sentence(again), style="yellow")

    def _void(self, discard: bool) -> None:
        if discard and self._streamed:
            self.err.line("(the answer so far is void)", "dim")
            self._streamed = ""

    def _tool(self, body: ToolStarted | ToolFinished) -> None:
        self._streamed = ""
        if isinstance(body, ToolFinished) and body.metadata.get("sandbox") == "process" and not self.warned:
            self.warned = True
            self.err.line(typed(UNCONFINED), "yellow")
        if isinstance(body, ToolStarted):
            if self._tools:
                self.err.line(f"{self.mark}{body.name} {_arguments(self._written(body))}", "dim")
        elif body.refused is not None:
            self._failed[body.call_id] = True
            self.err.trouble("SecurityError", f"{body.name}: {body.error or body.content}")
        elif not body.ok:
            kind = "ToolTimeoutError" if body.metadata.get("kind") == "ToolTimeoutError" or body.metadata.get("timed_out") else ""
            self._failed[body.call_id] = bool(kind) or self._tools
            if kind:
                self.err.trouble(kind, body.error or body.content, style="yellow")
            elif self._tools:
                failed = "" if says_itself(body) else "failed: "
                self.err.line(f"  {failed}{outcome(body)}", "yellow")
        elif self._tools:
            self.err.line(f"  ok, {body.duration_ms} ms{', shortened' if body.truncated else ''}", "dim")

    def _error(self, body: ErrorEvent) -> None:
        self._shown_errors.add((body.kind, body.text))
        if not self._repeats(body):
            self.trouble(body.kind, body.text, body.hint)

    def trouble(self, kind: str, text: str, hint: str = "") -> None:
        """An error and its next step."""
        self.err.trouble(kind, text)
        if hint:
            self.err.line(f"   {typed(hint)}", "dim")

    def turned(self) -> None:
        """All of it is shown already."""

    def _repeats(self, body: ErrorEvent) -> bool:
        """Whether an error says no more than that calls failed of which a line here told why."""
        return bool(body.failed_calls) and all(self._failed.get(call, False) for call in body.failed_calls)

    def end(self, session: str, body: TurnFinished) -> None:
        """Show how a turn of this session ended."""
        if body.error is not None and (body.error.kind, body.error.text) not in self._shown_errors:
            self.trouble(body.error.kind, body.error.text)
        self._shown_errors.clear()
        self._failed.clear()
        shown = self._streamed.strip() and self._streamed.strip() == body.text.strip()
        if body.status in _UNANSWERED and not (body.status == "failed" and body.text):
            if body.text and body.text != self._limit:
                self.err.line(body.text, "yellow")
        elif body.text and self._answer and not shown:
            self.out.line(body.text.removesuffix("\n"))
        self._streamed = self._limit = self._retried = ""
        if unbacked := unbacked_sentence(body):
            self.err.line(exact(unbacked), "yellow")
        for question in body.waiting:
            self.err.line(answer_command(question, self._choices.get(question, ("once", "no"))), "yellow")
        if body.waiting:
            self.err.line(typed(f"then continue with: neuralclaw run --resume {session}"), "yellow")


def _arguments(arguments: dict[str, Any]) -> str:
    arguments = {name: value for name, value in arguments.items() if value is not None}
    text = " ".join(str(v) for v in arguments.values()) if len(arguments) == 1 else ", ".join(f"{k}={v}" for k, v in arguments.items())
    text = text.replace("\n", "\\n")
    return text if len(text) <= _SHOWN_ARGUMENT else text[:_SHOWN_ARGUMENT] + "…"
