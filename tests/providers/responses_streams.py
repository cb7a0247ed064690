"""Streams of OpenAI's Responses as the service spells them, every event with all its fields, so that the official SDK reads them too."""

from typing import Any

import msgspec

USAGE = {
    "input_tokens": 1000,
    "input_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 1020,
}


def message(*pieces: str, phase: str | None = None, refusal: bool = False) -> dict[str, Any]:
    return {"type": "message", "pieces": pieces, "phase": phase, "refusal": refusal}


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def reasoning(*summary: str, sealed: str | None = None, clear: str = "") -> dict[str, Any]:
    return {"type": "reasoning", "summary": summary, "sealed": sealed, "clear": clear}


class Script:
    """The events of one stream. `items` are what `message`, `call` and `reasoning` give."""

    def __init__(self, *items: dict[str, Any], status: str = "completed", **response: Any) -> None:
        self.values: list[dict[str, Any]] = []
        self.output: list[dict[str, Any]] = []
        self._add("response.created", response=self._response("in_progress", []))
        self._add("response.in_progress", response=self._response("in_progress", []))
        for index, item in enumerate(items):
            getattr(self, f"_{item['type']}")(index, item)
        self._add(f"response.{status}", response=self._response(status, self.output, usage=USAGE, **response))

    @property
    def events(self) -> list[bytes]:
        return [event(value) for value in self.values]

    def _add(self, kind: str, **fields: Any) -> None:
        self.values.append({"type": kind, "sequence_number": len(self.values), **fields})

    def _response(self, status: str, output: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        fixed = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "metadata": {}, "instructions": None, "error": None}
        return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m-2026", "status": status, "output": output, **fixed, **more}

    def _item(self, index: int, began: dict[str, Any], ended: dict[str, Any]) -> None:
        self._add("response.output_item.done", output_index=index, item={**began, **ended, "status": "completed"})
        self.output.append(self.values[-1]["item"])

    def _message(self, index: int, item: dict[str, Any]) -> None:
        kind = "refusal" if item["refusal"] else "output_text"
        name, empty = ("refusal", {}) if item["refusal"] else ("text", {"annotations": [], "logprobs": []})
        began = {"id": f"msg_{index}", "type": "message", "role": "assistant", "content": [], **({"phase": item["phase"]} if item["phase"] else {})}
        place = {"item_id": began["id"], "output_index": index, "content_index": 0}
        self._add("response.output_item.added", output_index=index, item={**began, "status": "in_progress"})
        self._add("response.content_part.added", **place, part={"type": kind, name: "", **empty})
        for piece in item["pieces"]:
            self._add(f"response.{kind}.delta", **place, delta=piece, **({} if item["refusal"] else {"logprobs": []}))
        whole = "".join(item["pieces"])
        self._add(f"response.{kind}.done", **place, **{name: whole}, **({} if item["refusal"] else {"logprobs": []}))
        self._add("response.content_part.done", **place, part={"type": kind, name: whole, **empty})
        self._item(index, began, {"content": [{"type": kind, name: whole, **empty}]})

    def _function_call(self, index: int, item: dict[str, Any]) -> None:
        began = {"id": f"fc_{index}", "type": "function_call", "call_id": item["call_id"], "name": item["name"], "arguments": ""}
        place = {"item_id": began["id"], "output_index": index}
        self._add("response.output_item.added", output_index=index, item={**began, "status": "in_progress"})
        half = len(item["arguments"]) // 2
        for piece in (item["arguments"][:half], item["arguments"][half:]):
            self._add("response.function_call_arguments.delta", **place, delta=piece)
        self._add("response.function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"])
        self._item(index, began, {"arguments": item["arguments"]})

    def _reasoning(self, index: int, item: dict[str, Any]) -> None:
        began: dict[str, Any] = {"id": f"rs_{index}", "type": "reasoning", "summary": []}
        place = {"item_id": began["id"], "output_index": index}
        self._add("response.output_item.added", output_index=index, item={**began, "encrypted_content": item["sealed"] and "begun"})
        for number, text in enumerate(item["summary"]):
            self._add("response.reasoning_summary_part.added", **place, summary_index=number, part={"type": "summary_text", "text": ""})
            for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
                self._add("response.reasoning_summary_text.delta", **place, summary_index=number, delta=piece)
            self._add("response.reasoning_summary_text.done", **place, summary_index=number, text=text)
            self._add("response.reasoning_summary_part.done", **place, summary_index=number, part={"type": "summary_text", "text": text})
        ended: dict[str, Any] = {"summary": [{"type": "summary_text", "text": text} for text in item["summary"]]}
        if item["sealed"]:
            ended["encrypted_content"] = item["sealed"]
        if item["clear"]:
            self._add("response.reasoning_text.delta", **place, content_index=0, delta=item["clear"])
            self._add("response.reasoning_text.done", **place, content_index=0, text=item["clear"])
            ended["content"] = [{"type": "reasoning_text", "text": item["clear"]}]
        self._item(index, began, ended)


def event(value: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (value.get("type", "error").encode(), msgspec.json.encode(value))


WEATHER = call("call_a", "weather", '{"city":"Köln 🌧","days":[1,2]}')
TIME = call("call_b", "time", '{"zone":"Europe/Berlin"}')

SCRIPTS: dict[str, Script] = {
    "text": Script(message("Grüße, ", "🌍 und\r\n", "¶ Ende")),
    "one call": Script(WEATHER),
    "text, then two calls": Script(message("Let me look."), WEATHER, TIME),
    "reasoning summaries, then text": Script(reasoning("Hm, easy.", "So: 42."), message("42")),
    "sealed reasoning before each call": Script(reasoning("Hm.", sealed="AAA"), WEATHER, reasoning("Now ", "the time.", sealed="BBB"), TIME),
    "reasoning in clear": Script(reasoning(clear="Hm, easy."), message("42")),
    "a remark and the answer": Script(
        reasoning(sealed="AAA"), message("I look.", phase="commentary"), reasoning(sealed="BBB"), message("It ", "rains.", phase="final_answer")
    ),
    "a refusal": Script(message("I can't ", "help.", refusal=True)),
    "an empty answer": Script(message("")),
    "length": Script(message("and so"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
}
