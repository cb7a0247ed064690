"""The provider behind `tools call`: one call as it was spelled, then its result."""

from typing import Literal

import msgspec
import pytest

from neuralclaw.providers.direct_call import DirectProvider
from neuralclaw.types.messages import AssistantMessage, ChatMessage, Request, ToolCall, ToolMessage, UserMessage

TASK = UserMessage('{"tool": "echo", "arguments": {"text": "hi"}}')
CALL = ToolCall("direct", "echo", {"text": "hi"})


def proposed(provider: DirectProvider, *messages: ChatMessage) -> ToolCall:
    """The call that is proposed, without what makes its id unique."""
    (call,) = provider.reply(Request(model="", messages=messages)).tool_calls
    return msgspec.structs.replace(call, id=call.id.partition("-")[0])


def test_no_two_calls_have_the_same_id() -> None:
    ids = [call.id for _ in range(100) for call in DirectProvider().reply(Request(model="", messages=(TASK,))).tool_calls]
    assert len(set(ids)) == 100


def test_the_call_is_proposed_and_its_result_is_the_answer() -> None:
    provider = DirectProvider()
    assert proposed(provider, TASK) == CALL
    assert provider.reply(Request(model="", messages=(TASK, AssistantMessage("", (CALL,)), ToolMessage("direct", "echo", "hi")))).text == "hi"


def test_words_that_spell_no_call_are_a_failure() -> None:
    reply = DirectProvider().reply(Request(model="", messages=(TASK, UserMessage("and quickly", "steering"))))
    assert reply.failure is not None
    assert "spells no tool call" in reply.failure.text


@pytest.mark.parametrize("kind", ["nudge", "notice"])
def test_the_loops_own_word_changes_nothing(kind: Literal["nudge", "notice"]) -> None:
    word, provider = UserMessage("Go on where you were cut off.", kind), DirectProvider()
    assert proposed(provider, TASK, AssistantMessage(""), word) == CALL
    done = (TASK, AssistantMessage("", (CALL,)), ToolMessage("direct", "echo", "hi"), AssistantMessage("h"), word)
    assert provider.reply(Request(model="", messages=done)).text == "hi"
