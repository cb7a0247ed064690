"""Pictures in results of tools, in every wire format: models that see get them, the others are told of them. The official SDKs know each request."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

from neuralclaw.providers import anthropic_messages_request, chat_completions_request, local, ollama_request, responses_request
from neuralclaw.providers.plain_tools.wrapper import PlainTools
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types.messages import AssistantMessage, ChatMessage, Image, ModelInfo, Request, ToolCall, ToolDef, ToolMessage, UserMessage

CAT, DOG = Image("image/png", b"\x89PNG", "cat.png"), Image("image/gif", b"GIF8", "")
CAT_DATA, DOG_DATA = "iVBORw==", "R0lGOA=="
SEEING, BLIND = ModelInfo(images=True), ModelInfo()
LOOKED = AssistantMessage("", (ToolCall("a", "look", {"at": "cat"}), ToolCall("b", "look"), ToolCall("c", "echo")))
TURN = (
    UserMessage("Go"),
    LOOKED,
    ToolMessage("a", "look", "a cat", True, (CAT,)),
    ToolMessage("b", "look", "a dog", True, (DOG,)),
    ToolMessage("c", "echo", "hi", True),
)
PICTURES = "[picture in the result of look: cat.png]\n[picture in the result of look: image/gif]"
TOOLS = (ToolDef("look", "Look.", {"type": "object", "properties": {}}),)


def chat(request: Request, info: ModelInfo) -> bytes:
    return chat_completions_request.encode(request, info, without=frozenset())


def messages(request: Request, info: ModelInfo) -> bytes:
    return anthropic_messages_request.encode(request, info, without=frozenset({"cache_control"}))


def responses(request: Request, info: ModelInfo) -> bytes:
    return responses_request.encode(request, info, without=frozenset())


def ollama(request: Request, info: ModelInfo) -> bytes:
    return ollama_request.encode(request, info, window=None, without=frozenset())


Encode = Callable[[Request, ModelInfo], bytes]
SDKS: dict[Encode, Any] = {chat: CompletionCreateParamsStreaming, messages: MessageCreateParamsStreaming, responses: ResponseCreateParamsStreaming}
FORMATS = (*SDKS, ollama)


def told(*said: ChatMessage, environment: str = "") -> Request:
    return Request(model="m", messages=said, tools=TOOLS, environment=environment)


def sent(encode: Encode, request: Request, info: ModelInfo = SEEING) -> Any:
    return msgspec.json.decode(encode(request, info))


def data_part(media_type: str, data: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{data}"}}


def block(media_type: str, data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def plain(value: Any) -> Any:
    """What validation gave, its lazy iterators read to the end."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, Iterable) and not isinstance(value, str) else value


def test_chat_completions_get_them_behind_all_results_of_the_reply() -> None:
    *_, a, b, c, pictures, answer = sent(chat, told(*TURN, AssistantMessage("Nice.")))["messages"]
    assert [result["content"] for result in (a, b, c)] == ["a cat", "a dog", "hi"]
    parts = [{"type": "text", "text": PICTURES}, data_part("image/png", CAT_DATA), data_part("image/gif", DOG_DATA)]
    assert (pictures, answer["role"]) == ({"role": "user", "content": parts}, "assistant")


def test_ollama_gets_them_behind_all_results_of_the_reply() -> None:
    *_, c, pictures = sent(ollama, told(*TURN, environment="It is noon."))["messages"]
    assert c == {"role": "tool", "tool_name": "echo", "tool_call_id": "c", "content": "hi"}
    assert pictures == {"role": "user", "content": f"{PICTURES}\n\nIt is noon.", "images": [CAT_DATA, DOG_DATA]}


def test_messages_get_them_inside_the_result() -> None:
    a, b, c = sent(messages, told(*TURN))["messages"][-1]["content"]
    assert a == {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "a cat"}, block("image/png", CAT_DATA)]}
    assert b["content"][1] == block("image/gif", DOG_DATA)
    assert c["content"] == [{"type": "text", "text": "hi"}]


def test_messages_get_those_of_a_failed_result_behind_it() -> None:
    failed = ToolMessage("a", "look", "ERROR: half a cat", False, (CAT,))
    a, b, c, said, picture = sent(messages, told(UserMessage("Go"), LOOKED, failed, *TURN[3:]))["messages"][-1]["content"]
    assert a == {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "ERROR: half a cat"}], "is_error": True}
    assert [b["type"], c["type"]] == ["tool_result"] * 2
    assert said == {"type": "text", "text": "[picture in the result of look: cat.png]"}
    assert picture == block("image/png", CAT_DATA)


def test_responses_get_them_in_the_output_of_the_call() -> None:
    a, b, c = sent(responses, told(*TURN))["input"][-3:]
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{CAT_DATA}", "detail": "auto"}
    assert a == {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "a cat"}, picture]}
    assert [part["type"] for part in b["output"]] == ["input_text", "input_image"]
    assert c["output"] == "hi"


@pytest.mark.parametrize("encode", SDKS)
def test_the_official_sdk_knows_every_field(encode: Encode) -> None:
    body = sent(encode, told(*TURN, environment="It is noon."))
    adapter = TypeAdapter[Any](SDKS[encode])  # must outlive what it gave
    assert plain(adapter.validate_python(body)) == body, "what the SDK does not know is dropped"


@pytest.mark.parametrize("encode", FORMATS)
def test_a_model_that_cannot_see_is_told_of_them_in_the_result(encode: Encode) -> None:
    body = encode(told(*TURN), BLIND).decode()
    assert "a cat\\n[attached, but this model takes no pictures: cat.png]" in body
    assert CAT_DATA not in body
    assert body.count("attached") == 2


@pytest.mark.parametrize("encode", FORMATS)
def test_one_whose_bytes_are_gone_is_named_and_not_sent(encode: Encode) -> None:
    gone = msgspec.structs.replace(CAT, data=b"")
    for said in ((UserMessage("Go", images=(gone,)),), (UserMessage("Go"), LOOKED, ToolMessage("a", "look", "Go", True, (gone,)), *TURN[3:])):
        body = encode(told(*said), SEEING).decode()
        assert "Go\\n[attached, but not kept any more: cat.png]" in body
        assert 'base64,"' not in body


@pytest.mark.parametrize("encode", FORMATS)
def test_what_was_sent_stays_the_same_when_the_turn_goes_on(encode: Encode) -> None:
    """Same history, same bytes: a cached prefix holds."""
    name = "input" if encode is responses else "messages"
    before, after = (sent(encode, told(*TURN, *more))[name] for more in ((), (AssistantMessage("Nice."),)))
    assert after[: len(before)] == before


def test_a_model_in_this_process_is_told_of_them() -> None:
    told_messages = local._messages(told(*TURN))
    assert told_messages[2] == {"role": "user", "content": "a cat\n[attached, but this model takes no pictures: cat.png]"}


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.anyio
async def test_tools_told_as_text_keep_the_pictures_of_their_results(held: bool) -> None:
    async def nice(request: Request) -> Reply:
        return Reply('{"answer": "Nice."}')

    inner = FunctionProvider(nice, info=ModelInfo(tools=False, images=True, schema=held))
    async with PlainTools(inner).stream(told(*TURN)) as events:
        assert [event async for event in events]
    last = inner.requests[0].messages[-1]
    assert isinstance(last, UserMessage)
    assert last.images == (CAT, DOG)
