"""A person at a terminal: events become lines on the screen."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio.lowlevel
import msgspec

from ..types.entries import Event
from ..types.events import (
    ApprovalRequested,
    ApprovalResolved,
    Debug,
    DecisionMade,
    ErrorEvent,
    LimitHit,
    Message,
    ReasoningDelta,
    RetryEvent,
    StatusEvent,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
)
from ..types.sentences import sentence
from .command_hints import answer_command, typed
from .question_prompts import outcome
from .screen import Screen, exact

_SHOWN_ARGUMENT = 200
UNCONFINED = "Commands run as plain processes here: limited, but free to read every file and to use the network. neuralclaw doctor says why."
_UNANSWERED = ("failed", "cancelled", "limit", "timed_out")
"""Status of a turn whose text is no answer but tells what was done so far."""
_NOT_RUN = {"stopped", "no_by"}
"""What the metadata of a call says that was kept from running, or stopped."""
_SEEN_ANYWAY = ("owner", "auto", "cancelled")
"""Who answers a question in a way that the screen shows otherwise."""


class TerminalView:
    """The renderer of a person. Shows one turn after the other. The answer goes to `out`, everything else to `err`.

    On a terminal the answer appears while it arrives; over a pipe `out` gets the finished answer and nothing else. `tools`: a line
    for each call. `verbose`: also what the agent tells for those who look closely. `answer` false: `out` is not written, somebody
    else prints the result. `named`: each line stands behind the name of its session.
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
        self._told: set[tuple[str, str]] = set()
        self._retried = ""  # the reason of the last retry
        self._failed: list[bool] = []  # of each call of this turn that failed, whether a line here said so
        self._limit = ""
        self._choices: dict[str, tuple[str, ...]] = {}
        self._given: dict[str, set[str]] = {}  # the arguments that the model wrote, by call

    def show(self, event: Event) -> None:
        """Show what there is to show of one event."""
        self._ready(event)
        match event.body:
            case TextDelta(text=text):
                self._delta(text)
            case Message():
                self._retried = ""
                self._message(event.body)
            case RetryEvent():
                self._retry(event.body)
            case ToolStarted() | ToolFinished():
                self._tool(event.body)
            case DecisionMade(by="auto"):
                self.err.line(sentence(event.body), "yellow")
            case ApprovalRequested(approval_id=question, choices=choices):
                self._choices[question] = choices
            case ApprovalResolved(by=by) if by not in _SEEN_ANYWAY:
                self.err.line(exact(sentence(event.body)), "dim")
            case LimitHit(text=text):
                self._limit = text
                self.err.line(typed(text), "yellow")
            case ErrorEvent(kind=kind, text=text, hint=hint) if kind != "TurnSetAside" or event.entry is None:
                # of a turn that is set aside, whoever took it up is told by the error that ends the attempt
                self._error(kind, text, hint)
            case StatusEvent(text=text):
                self.err.line(text, "dim")
            case ReasoningDelta() | ToolOutput() | Debug() if self._verbose:
                self._closely(event.body)
            case TurnFinished():
                self.end(event.session, event.body)
            case _:
                pass

    def _ready(self, event: Event) -> None:
        """The screens stand at the beginning of a line for what does not flow, and know whose lines come."""
        if self._named:
            self.out.lead = self.err.lead = f"{event.session}: "
        if self.out.tty and not isinstance(event.body, TextDelta | ReasoningDelta | ToolOutput):
            self.out.fresh()

    def _closely(self, body: ReasoningDelta | ToolOutput | Debug) -> None:
        """What only those see who look closely."""
        if isinstance(body, Debug):
            self.err.line(body.text, "dim")
        else:
            self.err.write(body.text, "dim")

    def _delta(self, text: str) -> None:
        if self.out.tty and self._answer and not self._named:
            if self._streamed == "" and self.err.tty:
                self.err.fresh()
            self._streamed += text
            self.out.stream_text(text)

    def _message(self, body: Message) -> None:
        if body.stop in ("length", "cancelled") and body.text and not self._streamed and self._answer:
            self.out.line(body.text.removesuffix("\n"))  # cut off: it is all of the answer that there will be
        if body.tool_calls:
            self._streamed = ""
        self._given = {call.id: set(call.arguments) for call in body.tool_calls}

    def _written(self, body: ToolStarted) -> dict[str, Any]:
        """The arguments without defaults that nobody gave; all of them where the call is not known or was mended."""
        given = self._given.get(body.call_id)
        if given is None or not given <= set(body.arguments):
            return body.arguments
        return {name: value for name, value in body.arguments.items() if name in given}

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
            self._failed.append(True)
            self.err.trouble("SecurityError", f"{body.name}: {body.error or body.content}")
        elif not body.ok:
            kind = "ToolTimeoutError" if body.metadata.get("kind") == "ToolTimeoutError" or body.metadata.get("timed_out") else ""
            self._failed.append(bool(kind) or self._tools)
            if kind:
                self.err.trouble(kind, body.error or body.content, style="yellow")
            elif self._tools:
                said = body.error or body.content
                failed = "" if _NOT_RUN & body.metadata.keys() or said.startswith("not run: ") else "failed: "
                self.err.line(f"  {failed}{outcome(body)}", "yellow")
        elif self._tools:
            self.err.line(f"  ok, {body.duration_ms} ms{', shortened' if body.truncated else ''}", "dim")

    def _error(self, kind: str, text: str, hint: str) -> None:
        self._told.add((kind, text))
        if not self._repeats(kind, text):
            self.trouble(kind, text, hint)

    def trouble(self, kind: str, text: str, hint: str = "") -> None:
        """An error and its next step."""
        self.err.trouble(kind, text)
        if hint:
            self.err.line(f"   {typed(hint)}", "dim")

    def turned(self) -> None:
        """All of it is shown already."""

    def _repeats(self, kind: str, text: str) -> bool:
        """Whether an error says no more than that calls failed of which a line here told why; one that names steps left undone says more."""
        return kind == "ToolExecutionError" and text.endswith("` failed") and bool(self._failed) and all(self._failed)

    def end(self, session: str, body: TurnFinished) -> None:
        """Show how a turn of this session ended."""
        if body.error is not None and (body.error.kind, body.error.text) not in self._told:
            self._error(body.error.kind, body.error.text, "")
        self._told.clear()
        self._failed.clear()
        shown = self._streamed.strip() and self._streamed.strip() == body.text.strip()
        if body.status in _UNANSWERED and not (body.status == "failed" and body.text):
            if body.text and body.text != self._limit:
                self.err.line(body.text, "yellow")
        elif body.text and self._answer and not shown:
            self.out.line(body.text.removesuffix("\n"))
        self._streamed = self._limit = self._retried = ""
        for question in body.waiting:
            self.err.line(answer_command(question, self._choices.get(question, ("once", "no"))), "yellow")
        if body.waiting:
            self.err.line(typed(f"then continue with: neuralclaw run --resume {session}"), "yellow")


def _arguments(arguments: dict[str, Any]) -> str:
    arguments = {name: value for name, value in arguments.items() if value is not None}
    text = " ".join(str(v) for v in arguments.values()) if len(arguments) == 1 else ", ".join(f"{k}={v}" for k, v in arguments.items())
    text = text.replace("\n", "\\n")
    return text if len(text) <= _SHOWN_ARGUMENT else text[:_SHOWN_ARGUMENT] + "…"
