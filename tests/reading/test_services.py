"""Reading mode over a real model service: it is held to the schema where it can be, and its answer is checked where it cannot."""

import json
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.testing import EventCapture

from ..providers.loopback import Response, Seen, loopback
from .kit import opened, reads, run

pytestmark = pytest.mark.anyio
SCHEMA = {"type": "object", "properties": {"amount": {"type": "number", "minimum": 0}, "code": {"type": "string", "pattern": "^INV-"}}}


def said(delta: dict[str, Any], finish: str) -> Response:
    chunks = [{"choices": [{"index": 0, "delta": delta}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}]
    return Response([*(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks), b"data: [DONE]\n\n"])


def service(seen: Seen, *, refuses: bool, reading: list[dict[str, Any]]) -> Response:
    """Makes the call of an acting model, and answers that of a reading one; where it `refuses`, it knows no schema for answers."""
    asked = seen.json
    if asked["messages"][0]["content"].startswith("You read one content"):
        reading.append(asked)
        if refuses and "response_format" in asked:
            error = {"error": {"message": "Unknown parameter: 'response_format'.", "param": "response_format", "type": "invalid_request_error"}}
            return Response([json.dumps(error).encode()], status=400, kind="application/json")
        return said({"content": '{"value": {"amount": 300.5, "code": "INV-0042"}}'}, "stop")
    if any(message["role"] == "tool" for message in asked["messages"]):
        return said({"content": "done"}, "stop")
    call = {"name": "read_as", "arguments": json.dumps(reads(SCHEMA, path="invoice.txt")["arguments"])}
    return said({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": call}]}, "tool_calls")


@pytest.mark.parametrize("refuses", [False, True])
async def test_a_service_is_given_the_structure_and_its_answer_is_checked_either_way(tmp_path: Path, refuses: bool) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/invoice.txt").write_text("Invoice INV-0042: 300.50 EUR")
    reading: list[dict[str, Any]] = []
    async with loopback() as server:
        server.answer = lambda seen: service(seen, refuses=refuses, reading=reading)
        (tmp_path / "home").mkdir()
        models = "models: {m: {context: 32000, tools: true, price: {input: 1, output: 1}}}"
        mine = f"{{api: chat, base_url: '{server.url}', {models}}}"
        (tmp_path / "home/config.yaml").write_text(f"llm:\n  default_provider: mine\n  default_model: m\n  providers:\n    mine: {mine}\n")
        async with opened(tmp_path, None) as agent:
            events: EventCapture = await run(agent, "What does the invoice say?")
    assert events.one("tool.finished").content == '{"value":{"amount":300.5,"code":"INV-0042"}}'
    assert "tools" not in reading[0]
    form = reading[0]["response_format"]["json_schema"]["schema"]
    value = {"amount": {"type": "number"}, "code": {"type": "string"}}
    inner = {"type": "object", "properties": value, "required": ["amount", "code"], "additionalProperties": False}
    assert form["properties"]["value"] == {"anyOf": [inner, {"type": "null"}]}
    assert [("response_format" in request) for request in reading] == ([True, False] if refuses else [True])
