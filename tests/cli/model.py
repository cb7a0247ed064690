"""A model service on loopback in a thread of its own, whose answers a test hands out piece by piece."""

import json
import queue
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import RLock, Thread
from typing import Any

from .program import DEADLINE

_END, _CUT = object(), object()


class Model:
    """`say` and `done` are what the model streams next; `asked` gives what the next request told it."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._open: deque[queue.Queue[Any]] = deque()
        """What the requests that wait for pieces get, the oldest first: one that was given up still takes its own end."""
        self._ahead: deque[Any] = deque()
        """Pieces for the next request."""
        self.requests: list[dict[str, Any]] = []
        """All that were made."""
        self._asked: queue.Queue[dict[str, Any]] = queue.Queue()

    def say(self, *pieces: str) -> None:
        for piece in pieces:
            self._put({"content": piece})

    def think(self, *pieces: str) -> None:
        for piece in pieces:
            self._put({"reasoning_content": piece})

    def done(self) -> None:
        self._put(_END)

    def cut(self) -> None:
        """Break off in the middle."""
        self._put(_CUT)

    def call(self, name: str, **arguments: Any) -> None:
        """Ask for a tool, and end the reply."""
        function = {"name": name, "arguments": json.dumps(arguments)}
        self._put({"tool_calls": [{"index": 0, "id": f"call_{name}", "type": "function", "function": function}]})
        self.done()

    def asked(self) -> str:
        """All messages of the next request, as text."""
        return json.dumps(self._asked.get(timeout=DEADLINE)["messages"], ensure_ascii=False)

    def deltas(self, request: dict[str, Any]) -> Iterator[Any]:
        self.requests.append(request)
        pieces: queue.Queue[Any] = queue.Queue()
        with self._lock:
            ahead, self._ahead = self._ahead, deque()
            self._open.append(pieces)
            for piece in ahead:
                self._put(piece)
        self._asked.put(request)
        while (piece := pieces.get()) is not _END:
            yield piece

    def _put(self, piece: Any) -> None:
        with self._lock:
            if not self._open:
                self._ahead.append(piece)
                return
            self._open[0].put(piece)
            if piece in (_END, _CUT):
                self._open.popleft()


@contextmanager
def served(home: Path, more: str = "") -> Iterator[Model]:
    """A home whose model `mine:big` is this one. `more`: further settings, as YAML."""
    model = Model()

    class Speaking(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            calls = False
            for delta in model.deltas(request):
                if delta is _CUT:
                    self.close_connection = True
                    return
                calls = calls or "tool_calls" in delta
                self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
            self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}]})
            self._event({"choices": [], "usage": {"prompt_tokens": 13_000, "completion_tokens": 107, "total_tokens": 13_107}})
            self._send(b"")

        def _event(self, event: dict[str, Any]) -> None:
            self._send(b"data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "big", **event}).encode() + b"\n\n")

        def _send(self, data: bytes) -> None:
            try:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
                self.wfile.flush()
            except OSError:  # the program has hung up
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Speaking)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    service = {"base_url": f"http://127.0.0.1:{server.server_port}/v1", "models": {"big": {"context": 131_072, "price": {"input": 1, "output": 2}}}}
    settings = f"llm: {json.dumps({'default_model': 'mine:big', 'providers': {'mine': service}})}\n"
    (home / "config.yaml").write_text(settings + more)
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
