"""A request in the form of Anthropic's Messages. The same request gives the same bytes."""

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from ..types.messages import AssistantMessage, ChatMessage, Image, ModelInfo, Request, ToolCall, ToolDef, ToolMessage, UserMessage
from .images import base64, of_result, seen

API = "messages"
MAX_TOKENS = 4096
"""The service wants a limit in every request; this one where the request has none."""

_encoder = msgspec.json.Encoder()
_sorted = msgspec.json.Encoder(order="deterministic")  # a journal may give arguments back in another order
_BREAKPOINT = {"type": "ephemeral"}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")

MessageBlock = dict[str, Any]


def encode(request: Request, info: ModelInfo, *, without: frozenset[str]) -> bytes:
    """The body of `POST /v1/messages`. `without` names what the service or model refuses and is left out."""
    cached = "cache_control" not in without
    turns = _Turns(request.model, info)
    for message in request.messages:
        turns.add(message)
    environment = bool(request.environment.strip())
    if cached:
        turns.mark(followed=environment)
    if environment:
        turns.behind(_text(request.environment))
    body: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens or MAX_TOKENS, "messages": turns.wire, "stream": True}
    if request.system.strip():
        body["system"] = [_text(request.system)]
    body |= _tools(request, info)
    if cached:
        for part in ("tools", "system"):
            if part in body:
                body[part][-1]["cache_control"] = _BREAKPOINT
    if request.answer_schema is not None and "output_config" not in without:
        body["output_config"] = {"format": {"type": "json_schema", "schema": closed(request.answer_schema)}}
    return _encoder.encode(body)


def closed(schema: Any) -> Any:
    """The schema with every object closed where it does not say: the service takes no other, and what fits it fits the original."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: closed(value) for name, value in schema.items()}
    return {**made, "additionalProperties": False} if schema.get("type") == "object" and "additionalProperties" not in schema else made


def _tools(request: Request, info: ModelInfo) -> dict[str, Any]:
    """The tools. A history with calls needs them even where none may be called now: then they are named, and forbidden."""
    if info.tools is True and request.tools:
        return {"tools": [_tool(tool) for tool in request.tools]}
    called = {_name(call.name) for message in request.messages if isinstance(message, AssistantMessage) for call in message.tool_calls}
    if not called:
        return {}
    return {"tools": [{"name": name, "input_schema": {"type": "object"}} for name in sorted(called)], "tool_choice": {"type": "none"}}


def _tool(tool: ToolDef) -> MessageBlock:
    described = {"description": tool.description} if tool.description.strip() else {}
    return {"name": tool.name, **described, "input_schema": {"type": "object", **tool.parameters}}


class _Turns:
    """The messages as the service wants them: users and assistant take turns, and all results of one message's calls come first in the next.

    Ids of calls that other services made up may repeat or hold other characters: then they are written anew, the same in call and result.
    """

    def __init__(self, model: str, info: ModelInfo) -> None:
        self.wire: list[dict[str, Any]] = []
        self._model, self._info = model, info
        self._used: set[str] = set()
        self._ids: dict[str, str] = {}  # of the last message with calls: its ids, in order, and what they are called here

    def add(self, message: ChatMessage) -> None:
        match message:
            case UserMessage():
                self.user(_user(message, self._info))
            case ToolMessage():
                self._result(message)
            case AssistantMessage():
                self._assistant(message)

    def user(self, blocks: list[MessageBlock]) -> None:
        self._put("user", blocks)

    def mark(self, *, followed: bool) -> None:
        """Breakpoints behind the last message and behind the one that the last answer was made from.

        `followed`: the environment will be behind the last one, inside a result too. There the text before it has the mark, which
        the service's types allow and its pages say little of; the other mark, on a whole block, keeps all that came before in any case.
        """
        users = [turn for turn in self.wire if turn["role"] == "user"][-2:]
        for turn in users:
            last = turn["content"][-1]
            if followed and turn is users[-1] and last.get("content"):
                last["content"] = [*last["content"][:-1], {**last["content"][-1], "cache_control": _BREAKPOINT}]
            else:
                turn["content"][-1] = {**last, "cache_control": _BREAKPOINT}

    def behind(self, block: MessageBlock) -> None:
        """Put a block behind all there is: into the last result, where one is last, since what is beside results counts as said by the person."""
        last = self.wire[-1]["content"][-1] if self.wire and self.wire[-1]["role"] == "user" else {}
        if last.get("type") == "tool_result":
            last["content"] = [*last.get("content", ()), block]
        else:
            self.user([block])

    def _put(self, role: str, blocks: list[MessageBlock]) -> None:
        if not blocks:
            return
        if self.wire and self.wire[-1]["role"] == role:
            self.wire[-1]["content"].extend(blocks)
        else:
            self.wire.append({"role": role, "content": blocks})

    def _assistant(self, message: AssistantMessage) -> None:
        """Thinking first, then text and calls. Thinking alone is no message that the service takes."""
        said: list[MessageBlock] = [_text(message.text)] if message.text.strip() else []
        if message.tool_calls:
            self._ids = {}
        said.extend(self._call(call) for call in message.tool_calls)
        state = message.state
        thought = state.items if said and state is not None and (state.api, state.model) == (API, self._model) else ()
        self._put("assistant", [*thought, *said])

    def _call(self, call: ToolCall) -> MessageBlock:
        """A call; its arguments are `{}` where they were unreadable."""
        made = call.id if _NAME.fullmatch(call.id) and call.id not in self._used else f"call_{len(self._used)}_of_history"
        self._used.add(made)
        self._ids[call.id] = made
        return {"type": "tool_use", "id": made, "name": _name(call.name), "input": msgspec.Raw(_sorted.encode(call.arguments))}

    def _result(self, message: ToolMessage) -> None:
        """A result with its pictures. The service takes nothing but text in a failed one: pictures are behind it then."""
        made = self._ids.get(message.call_id, message.call_id)
        text, images = seen(message, self._info)
        block: MessageBlock = {"type": "tool_result", "tool_use_id": made}
        content = [*_texts([text]), *(() if message.ok is False else _pictures(images))]
        if content:
            block["content"] = content
        if message.ok is False:
            block["is_error"] = True
        self._place(block)
        if images and message.ok is False:
            self.user([_text(of_result(message, images)), *_pictures(images)])

    def _place(self, block: MessageBlock) -> None:
        """A result goes before everything else in its turn, in the order of the calls."""
        if not self.wire or self.wire[-1]["role"] != "user":
            self._put("user", [block])
            return
        turn = self.wire[-1]
        order = list(self._ids.values())
        results = [other for other in turn["content"] if other["type"] == "tool_result"]
        rest = [other for other in turn["content"] if other["type"] != "tool_result"]
        results.append(block)
        results.sort(key=lambda result: order.index(result["tool_use_id"]) if result["tool_use_id"] in order else len(order))
        turn["content"] = results + rest


def _user(message: UserMessage, info: ModelInfo) -> list[MessageBlock]:
    """Pictures, then the text that speaks of them; a picture that the model cannot see is named. Blank texts are refused and left out."""
    text, images = seen(message, info)
    return [*_pictures(images), *_texts([text])]


def _pictures(images: Iterable[Image]) -> list[MessageBlock]:
    return [{"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": base64(image)}} for image in images]


def _texts(texts: Iterable[str]) -> list[MessageBlock]:
    return [_text(text) for text in texts if text.strip()]


def _text(text: str) -> MessageBlock:
    return {"type": "text", "text": text}


def _name(name: str) -> str:
    """A tool's name as the service takes it: a call that named no tool is in the history too."""
    return name if _NAME.fullmatch(name) else re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:128] or "unnamed"
