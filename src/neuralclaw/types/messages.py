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


class Image(msgspec.Struct, frozen=True):
    """A picture: its media type (`image/png`, `image/jpeg`, `image/gif` or `image/webp`) and its bytes.

    In an entry `data` is empty: the store keeps the `size` bytes once, under their SHA-256 `digest` (hex), however often they are named.
    """

    media_type: str
    data: bytes = b""
    name: str = ""
    digest: str = ""
    size: int = 0


class TextContent(msgspec.Struct, frozen=True, tag="text"):
    """A piece of text in a tool's result."""

    text: str


class ImageContent(msgspec.Struct, frozen=True, tag="image"):
    """A picture in a tool's result."""

    image: Image


class StructuredContent(msgspec.Struct, frozen=True, tag="structured"):
    """A JSON value in a tool's result."""

    value: Any


ContentPart = TextContent | ImageContent | StructuredContent


IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class UserMessage(msgspec.Struct, frozen=True, tag="user"):
    """What a person or program said. `kind` is for providers that are no model: what began the turn, what was sent during it, or the loop's own word
    (`nudge`, `notice` about a reply that was cut off, and `summary` of what was before)."""

    text: str
    kind: Literal["task", "steering", "nudge", "notice", "summary"] = "task"
    images: tuple[Image, ...] = ()


class ReasoningState(msgspec.Struct, frozen=True):
    """What a service gave with its reasoning and wants back unchanged to continue from it: signed or encrypted items.

    `items` are the service's own JSON objects, in order; only an adapter of the same wire format `api`, asking the same `model`, sends them back.
    """

    api: str
    model: str
    items: tuple[dict[str, Any], ...]


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant"):
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    state: ReasoningState | None = None


class ToolMessage(msgspec.Struct, frozen=True, tag="tool"):
    """The result of call `call_id`, as the model reads it: its text, and its pictures for models that take them. `ok` None: not known here.

    `plain` is the text without what is for a language model alone (line numbers, notes), where that differs; a provider that passes results on
    to people uses it.
    """

    call_id: str
    name: str
    content: str
    ok: bool | None = None
    images: tuple[Image, ...] = ()
    plain: str | None = None

    @property
    def for_people(self) -> str:
        return self.content if self.plain is None else self.plain


ChatMessage = UserMessage | AssistantMessage | ToolMessage


class ToolDef(msgspec.Struct, frozen=True):
    """A tool as a model is told of it; `parameters` is its JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One model call. `model` is the name within the provider (`gpt-4o`), without the provider's own name.

    `environment` describes the machine at this moment; adapters put it behind the messages, so that it breaks no cached prefix.
    `answer_schema` is a JSON Schema that the reply's text must fit, where the service can hold the model to one.
    """

    model: str
    messages: tuple[ChatMessage, ...]
    system: str = ""
    tools: tuple[ToolDef, ...] = ()
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    timeout: float = 120.0
    environment: str = ""
    answer_schema: dict[str, Any] | None = None
    others: bool = False
    """Another model can be asked instead, so that nobody needs to wait long for this one."""


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
    """A model failure as a value: the error's class name, its sentence, the next step, and what may be done about it.

    `lacks`: what the model cannot do and was asked for (`tools` or `images`): the same without it may work. `answered`: the reply's text is an
    answer all the same, and is kept. `detail`: what only the log and those who look closely are told. `failed_calls` not empty: it says no more than
    that these tool calls failed.
    """

    kind: str
    text: str
    hint: str = ""
    retryable: bool = False
    retry_after: float | None = None
    lacks: Literal["", "tools", "images"] = ""
    answered: bool = False
    detail: str = ""
    failed_calls: tuple[str, ...] = ()


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """A finished reply. `failure` is set exactly when `stop` is `error`.

    `model` is what the service says it was, else what was asked; `by` is the full name `P:M` of the model that was asked, where a chain chose it.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    stop: StopReason = "end"
    model: str = ""
    by: str = ""
    reasoning: str = ""
    state: ReasoningState | None = None
    usage: Usage = Usage()
    failure: Failure | None = None
    reservations: tuple[str, ...] = ()
    """Those of its cost, which are settled when the reply is recorded."""


class TextPart(msgspec.Struct, frozen=True, tag="text"):
    text: str


class ReasoningPart(msgspec.Struct, frozen=True, tag="reasoning"):
    text: str


class Retrying(msgspec.Struct, frozen=True, tag="retrying"):
    """An attempt failed and another follows after `wait_ms`; `discard`: the parts streamed so far are void.

    `model` is asked next: its full name `P:M`, or the name within its provider where that stays the same.
    """

    attempt: int
    wait_ms: int
    reason: str
    model: str
    discard: bool


class Notice(msgspec.Struct, frozen=True, tag="notice"):
    """Something the person should know about how the model is asked: shown, never part of the answer.

    `model`: the full name `P:M` of the one that is asked now, where it is another than the first of a chain.
    """

    text: str
    model: str = ""


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """The last event of every stream."""

    reply: ModelReply


ModelEvent = TextPart | ReasoningPart | Retrying | Notice | Finished


class Price(msgspec.Struct, frozen=True):
    """USD per million tokens. Where the prompt has more than `above` tokens, all tokens of the request cost what `long` says."""

    input: float
    output: float
    cached: float | None = None
    above: int | None = None
    long: "Price | None" = None

    def of(self, prompt: int) -> "Price":
        """The price that holds for a prompt of so many tokens."""
        return self.long if self.above is not None and self.long is not None and prompt > self.above else self


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a model. `context` in tokens.

    `tools`: native tool calls (true), tools as JSON in the prompt (false), or no tools at all (`none`).
    """

    context: int = 128_000
    tools: bool | Literal["none"] = True
    images: bool = False
    price: Price | None = None
    language: bool = True
    """A language model. The grammar and direct calls are none, and are not asked to continue after a promise."""
    schema: bool = False
    """Whether the model can be held to a JSON Schema (`Request.answer_schema`) so firmly that its reply always fits."""
