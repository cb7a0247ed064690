"""What a tool's schema names outside of it."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.errors import ToolValidationError
from neuralclaw.tool import as_tool


class Listed:
    """An object as a tool, with that schema."""

    name = "listed"
    description = "A tool that others wrote."

    def __init__(self, schema: dict[str, Any]) -> None:
        self.input_schema = schema

    async def execute(self, input: dict[str, Any]) -> str:
        return "done"


@pytest.fixture
def asked() -> Iterator[tuple[int, list[str]]]:
    """The port of a server of schemas on this machine, and what it was asked for."""
    found: list[str] = []

    class Schemas(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.append(self.path)
            body = json.dumps({"type": "string"}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    with http.server.HTTPServer(("127.0.0.1", 0), Schemas) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server.server_port, found
        server.shutdown()


def test_a_schema_has_nothing_fetched_and_no_file_read(asked: tuple[int, list[str]], tmp_path: Path) -> None:
    port, requests = asked
    place = tmp_path / "schema.json"
    place.write_text('{"type": "string"}')
    for address in (f"http://127.0.0.1:{port}/x", place.as_uri()):
        made = as_tool(Listed({"type": "object", "properties": {"a": {"$ref": address}}}))
        with pytest.raises(ToolValidationError, match="is no valid JSON Schema"):
            made.check({"a": "text"})
    assert requests == []


def test_what_a_schema_names_within_it_and_the_schemas_of_json_schema_count() -> None:
    inner = {"type": "object", "properties": {"a": {"$ref": "#/$defs/text"}}, "$defs": {"text": {"type": "string"}}}
    made = as_tool(Listed({"$schema": "https://json-schema.org/draft/2020-12/schema", **inner}))
    assert made.check({"a": "text"}) == {"a": "text"}
    with pytest.raises(ToolValidationError):
        made.check({"a": 1})
