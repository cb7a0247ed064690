"""Model services and a file server in a thread of their own, for programs that a test waits for without its event loop."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Files = dict[str, Callable[["_Handler"], None]]


class Services:
    """Speaks Chat Completions, Ollama's own protocol and plain files on one port.

    `key`: what the service takes (None: anything). `models`: what it has. `calls`: the models that were called, with the key that came along.
    `files`: what answers a path. `bad`: what answers a call instead of a model. `on_call` runs before each answer of a model.
    """

    def __init__(self) -> None:
        self.key: str | None = None
        self.models: list[str] = ["gpt-4o", "gpt-4o-mini"]
        self.pulled: list[str] = []
        self.calls: list[tuple[str, str]] = []
        self.asked: list[str] = []
        self.files: Files = {}
        self.bad: Callable[[_Handler], None] | None = None
        self.on_call: Callable[[], None] = lambda: None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *given: _Handler(self, *given))
        self.port = self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def running(self) -> Iterator["Services"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, services: Services, *given: Any) -> None:
        self.services = services
        super().__init__(*given)

    def log_message(self, *_: object) -> None:
        pass

    @property
    def given_key(self) -> str:
        return (self.headers.get("Authorization") or "").removeprefix("Bearer ")

    def do_GET(self) -> None:
        self.services.asked.append(self.path)
        if self.path in self.services.files:
            self.services.files[self.path](self)
        elif self.path == "/api/tags" and self.services.pulled:
            self.answer({"models": [{"name": name} for name in self.services.pulled]})
        elif self.path == "/v1/models" and self._welcome():
            self.answer({"object": "list", "data": [{"id": name} for name in self.services.models]})
        elif self.path != "/v1/models":
            self.answer({"error": "not found"}, 404)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.services.calls.append((asked["model"], self.given_key))
        self.services.on_call()
        if not self._welcome():
            return
        if self.services.bad is not None:
            self.services.bad(self)
        elif asked["model"] not in (*self.services.models, *self.services.pulled):
            self.answer({"error": {"message": f"The model `{asked['model']}` does not exist", "code": "model_not_found"}}, 404)
        elif self.path == "/api/chat":
            lines = [
                {"message": {"role": "assistant", "content": "ready"}, "done": False},
                {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
            ]
            self.stream("application/x-ndjson", [json.dumps({"model": asked["model"], **line}).encode() + b"\n" for line in lines])
        else:
            chunks = [
                {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "ready"}}]},
                {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            ]
            self.stream("text/event-stream", [*(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks), b"data: [DONE]\n\n"])

    def _welcome(self) -> bool:
        good = self.services.key is None or self.given_key == self.services.key
        if not good:
            self.answer({"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}, 401)
        return good

    def answer(self, value: Any, status: int = 200) -> None:
        self.body(json.dumps(value).encode(), "application/json", status)

    def body(self, data: bytes, kind: str = "application/octet-stream", status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, kind: str, parts: list[bytes]) -> None:
        self.body(b"".join(parts), kind)

    def redirect(self, place: str) -> None:
        self.send_response(302)
        self.send_header("Location", place)
        self.send_header("Content-Length", "0")
        self.end_headers()
