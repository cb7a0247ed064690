"""What goes to a model and what comes back. Wire formats live in `providers`; these values do not know them."""

from typing import Any, Literal

import msgspec

StopReason = Literal["end", "tools", "length", "error", "cancelled"]


class ToolCall(msgspec.Struct, frozen=True):
    """A call the model proposes.

    `error` is set when the arguments could not be read (they were not JSON, or no object): then `arguments` is `{}`, what the
    model wrote is never echoed, and the error becomes the call's result.
    """

    id: str
    name: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)
    error: str | None = None


class UserMessage(msgspec.Struct, frozen=True, tag="user"):
    """What a person or program said. `kind` is for providers that are no model: what began the turn, what was sent during it, or the loop's own word."""

    text: str
    kind: Literal["task", "steering", "nudge"] = "task"


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant"):
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""


class ToolMessage(msgspec.Struct, frozen=True, tag="tool"):
    """The result of call `call_id`, as the model reads it. `ok` None: not known here."""

    call_id: str
    name: str
    content: str
    ok: bool | None = None


ChatMessage = UserMessage | AssistantMessage | ToolMessage


class ToolDef(msgspec.Struct, frozen=True):
    """A tool as a model is told of it; `parameters` is its JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One model call. `model` is the name within the provider (`gpt-4o`), without the provider's own name."""

    model: str
    messages: tuple[ChatMessage, ...]
    system: str = ""
    tools: tuple[ToolDef, ...] = ()
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    timeout: float = 120.0


class Usage(msgspec.Struct, frozen=True):
    """Tokens and money of one or more model calls. `input` counts all prompt tokens, cached ones too; `usd` None: price unknown."""

    input: int = 0
    cached: int = 0
    output: int = 0
    usd: float | None = None

    def __add__(self, other: "Usage") -> "Usage":
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Usage(self.input + other.input, self.cached + other.cached, self.output + other.output, usd)


class Failure(msgspec.Struct, frozen=True):
    """A model failure as a value: the error's class name, its sentence, the next step, and what may be done about it."""

    kind: str
    text: str
    hint: str = ""
    retryable: bool = False
    retry_after: float | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A finished reply. `failure` is set exactly when `stop` is `error`. `model` is what the service says it was, else what was asked."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    stop: StopReason = "end"
    model: str = ""
    reasoning: str = ""
    usage: Usage = Usage()
    failure: Failure | None = None


class TextPart(msgspec.Struct, frozen=True, tag="text"):
    text: str


class ReasoningPart(msgspec.Struct, frozen=True, tag="reasoning"):
    text: str


class Retrying(msgspec.Struct, frozen=True, tag="retrying"):
    """An attempt failed and another follows after `wait_ms`; `discard`: the parts streamed so far are void."""

    attempt: int
    wait_ms: int
    reason: str
    model: str
    discard: bool


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """The last event of every stream."""

    reply: Reply


ModelEvent = TextPart | ReasoningPart | Retrying | Finished


class Price(msgspec.Struct, frozen=True):
    """USD per million tokens."""

    input: float
    output: float
    cached: float | None = None


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a model. `context` in tokens."""

    context: int = 128_000
    tools: bool = True
    images: bool = False
    price: Price | None = None
    language: bool = True
    """A language model. The grammar and direct calls are none, and are not asked to go on after a promise."""
