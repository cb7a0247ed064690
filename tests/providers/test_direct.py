"""The provider behind `tools call`: one call as it was spelled, then its result."""

from typing import Literal

import pytest

from neuralclaw.providers.direct_call import DirectProvider
from neuralclaw.types.messages import AssistantMessage, Request, ToolCall, ToolMessage, UserMessage

TASK = UserMessage('{"tool": "echo", "arguments": {"text": "hi"}}')
CALL = ToolCall("direct", "echo", {"text": "hi"})


def test_the_call_is_proposed_and_its_result_is_the_answer() -> None:
    provider = DirectProvider()
    assert provider.reply(Request(model="", messages=(TASK,))).tool_calls == (CALL,)
    assert provider.reply(Request(model="", messages=(TASK, AssistantMessage("", (CALL,)), ToolMessage("direct", "echo", "hi")))).text == "hi"


def test_words_that_spell_no_call_are_a_failure() -> None:
    reply = DirectProvider().reply(Request(model="", messages=(TASK, UserMessage("and quickly", "steering"))))
    assert reply.failure is not None
    assert "spells no tool call" in reply.failure.text


@pytest.mark.parametrize("kind", ["nudge", "notice"])
def test_the_loops_own_word_changes_nothing(kind: Literal["nudge", "notice"]) -> None:
    word, provider = UserMessage("Go on where you were cut off.", kind), DirectProvider()
    assert provider.reply(Request(model="", messages=(TASK, AssistantMessage(""), word))).tool_calls == (CALL,)
    done = (TASK, AssistantMessage("", (CALL,)), ToolMessage("direct", "echo", "hi"), AssistantMessage("h"), word)
    assert provider.reply(Request(model="", messages=done)).text == "hi"
