"""npm `@copilotkit/aimock` as a running service: model services with scripted answers and faults that others wrote."""

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from .parts import node, npm_package
from .providers.loopback import free_port
from .waiting import until

VERSION = "1.43.0"


@contextmanager
def aimock(fixtures: Sequence[dict[str, Any]], *, port: int | None = None) -> Iterator[str]:
    """Its address, without a path. Letters come in chunks of 7, so that characters are cut; a request without a fixture is refused."""
    with TemporaryDirectory() as place:
        scripted = Path(place) / "fixtures.json"
        scripted.write_text(json.dumps({"fixtures": list(fixtures)}), encoding="utf-8")
        port = port or free_port()
        program = npm_package("@copilotkit/aimock", VERSION) / "dist" / "cli.js"
        command = [str(node()), str(program), "-p", str(port), "-f", str(scripted), "-c", "7", "--log-level", "silent", "--strict"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                _answers(f"http://127.0.0.1:{port}/health", process)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()


def _answers(url: str, process: "subprocess.Popen[bytes]") -> None:
    def answers() -> bool:
        assert process.poll() is None, "aimock ended"
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, ConnectionError):
            return False

    anyio.run(until, answers)
