"""A model service that answers at once with bytes that stand ready, in all four wire formats: a call first, then the answer.

Each event is a chunk and a write of its own, as a model's tokens come.
"""

import asyncio
import json
import multiprocessing
import resource
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

ANSWER = "17 * 23 is 391, so 400 is the larger of the two numbers you asked about."
_WORDS = [word if number == 0 else f" {word}" for number, word in enumerate(ANSWER.split(" "))]
_PIECES = ('{"', "expression", '":"', "17", " *", " 23", '"}')
_ARGUMENTS = "".join(_PIECES)

Wire = tuple[Sequence[bytes], Sequence[bytes], bytes]
"""The response that calls and the one that answers, write by write, and what stands in a request that has the call's result."""


def _http(kind: str, pieces: Sequence[bytes]) -> Sequence[bytes]:
    """An HTTP response as it is written: the head, then each event as a chunk of the body; the end goes with the last of them."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]
    return [head, *chunks[:-1], chunks[-1] + b"0\r\n\r\n"]


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _events(values: Sequence[dict[str, Any]], *, named: bool = False) -> list[bytes]:
    return [(b"event: %b\n" % value["type"].encode() if named else b"") + b"data: " + _json(value) + b"\n\n" for value in values]


def _chat() -> Wire:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "instant", "choices": [choice], "usage": None}

    def response(deltas: Sequence[dict[str, Any]], finish: str) -> Sequence[bytes]:
        chunks = [chunk({"role": "assistant", "content": None}), *map(chunk, deltas), chunk({}, finish)]
        usage = {"prompt_tokens": 210, "completion_tokens": 24, "total_tokens": 234, "prompt_tokens_details": {"cached_tokens": 128}}
        chunks.append({**chunk({}), "choices": [], "usage": usage})
        return _http("text/event-stream", [*_events(chunks), b"data: [DONE]\n\n"])

    name = {"index": 0, "id": "call_abc", "type": "function", "function": {"name": "calculate", "arguments": ""}}
    calls = [{"tool_calls": [name]}, *({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in _PIECES)]
    return response(calls, "tool_calls"), response([{"content": word} for word in _WORDS], "stop"), b'"role":"tool"'


def _responses() -> Wire:
    def response(item: dict[str, Any], started: dict[str, Any], deltas: Sequence[dict[str, Any]]) -> Sequence[bytes]:
        head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "instant", "status": "in_progress", "output": []}
        usage = {"input_tokens": 210, "input_tokens_details": {"cached_tokens": 128}, "output_tokens": 24, "total_tokens": 234}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": head},
            {"type": "response.output_item.added", "output_index": 0, "item": started},
            *({"output_index": 0, "item_id": item["id"], **delta} for delta in deltas),
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**head, "status": "completed", "output": [item], "usage": usage}},
        ]
        return _http("text/event-stream", _events([{**event, "sequence_number": n} for n, event in enumerate(events)], named=True))

    call = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_abc", "name": "calculate", "arguments": _ARGUMENTS}
    arguments = [{"type": "response.function_call_arguments.delta", "delta": piece} for piece in _PIECES]
    said = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant"}
    words = [{"type": "response.output_text.delta", "content_index": 0, "delta": word, "logprobs": []} for word in _WORDS]
    return (
        response(call, {**call, "arguments": "", "status": "in_progress"}, arguments),
        response({**said, "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]}, {**said, "status": "in_progress", "content": []}, words),
        b'"function_call_output"',
    )


def _messages() -> Wire:
    def response(block: dict[str, Any], deltas: Sequence[dict[str, Any]], stop: str) -> Sequence[bytes]:
        usage = {"input_tokens": 82, "cache_read_input_tokens": 128, "cache_creation_input_tokens": 0, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "instant", "content": [], "stop_reason": None, "usage": usage}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 24}},
            {"type": "message_stop"},
        ]
        return _http("text/event-stream", _events(events, named=True))

    call = {"type": "tool_use", "id": "toolu_abc", "name": "calculate", "input": {}}
    return (
        response(call, [{"type": "input_json_delta", "partial_json": piece} for piece in _PIECES], "tool_use"),
        response({"type": "text", "text": ""}, [{"type": "text_delta", "text": word} for word in _WORDS], "end_turn"),
        b'"tool_result"',
    )


def _ollama() -> Wire:
    def response(messages: Sequence[dict[str, Any]]) -> Sequence[bytes]:
        head = {"model": "instant", "created_at": "2026-01-01T00:00:00Z"}
        lines: list[dict[str, Any]] = [{**head, "message": {"role": "assistant", "content": "", **message}, "done": False} for message in messages]
        end = {"done": True, "done_reason": "stop", "prompt_eval_count": 210, "eval_count": 24}
        lines.append({**head, "message": {"role": "assistant", "content": ""}, **end})
        return _http("application/x-ndjson", [_json(line) + b"\n" for line in lines])

    call = {"function": {"name": "calculate", "arguments": {"expression": "17 * 23"}}}
    return response([{"tool_calls": [call]}]), response([{"content": word} for word in _WORDS]), b'"role":"tool"'


WIRES = {b"/chat/completions": _chat(), b"/responses": _responses(), b"/messages": _messages(), b"/api/chat": _ollama()}
"""The end of a request's path -> what that format says."""


class InstantServer(asyncio.Protocol):
    """One connection of any of the formats. Every write is sent at once: Nagle's algorithm is off, and the socket takes what is written."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            path = self.buffer.split(b" ", 2)[1]
            length = int(self.buffer[:end].lower().split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self.buffer) < end + 4 + length:
                return
            body, self.buffer = self.buffer[end + 4 : end + 4 + length], self.buffer[end + 4 + length :]
            calls, says, result = next(wire for suffix, wire in WIRES.items() if path.endswith(suffix))
            answered = result in body.replace(b'": "', b'":"')
            for piece in says if answered else calls:
                self.transport.write(piece)  # type: ignore[attr-defined]


def _serve(port: "multiprocessing.Queue[int]") -> None:
    """Run the server until the process is ended; puts its port into the queue."""

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(InstantServer, "127.0.0.1", 0, backlog=4096)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    many_files()
    asyncio.run(main())


def many_files() -> None:
    """As many open files as this user may have, for 1,000 connections."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16384) if hard > 0 else 16384, hard))


@contextmanager
def server() -> Generator[str]:
    """The address of a server in a process of its own, without a path."""
    spawn = multiprocessing.get_context("spawn")
    port: multiprocessing.Queue[int] = spawn.Queue()
    process = spawn.Process(target=_serve, args=(port,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{port.get(timeout=30)}"
    finally:
        process.terminate()
        process.join()
