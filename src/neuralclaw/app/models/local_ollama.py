"""The Ollama of this machine: whether it runs, and what it has. It is looked for when nobody chose a model, once."""

import threading
import time

import anyio.to_thread

from .service_models import has_model, names_in

MAX_LIST = 1_000_000
"""Bytes of the list that are read."""
PORT = 11434


class LocalOllama:
    """What a look for a running Ollama found. `host`: `OLLAMA_HOST`. Connecting and listing take at most `seconds` each."""

    def __init__(self, host: str, *, seconds: float) -> None:
        self._host, self._seconds = host, seconds
        self._lock = threading.Lock()
        self._models: tuple[str, ...] | None = None
        self.looked = False
        """What it has is known, or that it does not run."""

    async def look(self) -> None:
        """Look for it beside the event loop, unless that was done."""
        if not self.looked:
            await anyio.to_thread.run_sync(self.models)

    def models(self) -> tuple[str, ...] | None:
        """The names of its models, none where it does not tell in time; None where none runs. The first time this blocks for the look."""
        with self._lock:
            if not self.looked:
                self._models = self._find()
                self.looked = True
            return self._models

    def to_use(self, wanted: str) -> str:
        """`wanted` where Ollama has it or does not tell, else the first of its models that is not made for embeddings."""
        models = self.models() or ()
        if has_model(models, wanted):
            return wanted
        return next((name for name in models if "embed" not in name), wanted)

    def _find(self) -> tuple[str, ...] | None:
        authority = self._host.rpartition("://")[2].partition("/")[0]
        host, _, port = authority.rpartition(":") if ":" in authority else (authority, "", "")
        try:
            address = (host or "127.0.0.1", int(port or PORT))
        except ValueError:
            return None
        body = _tags(address, self._seconds)
        return None if body is None else names_in(body) or ()


def _tags(address: tuple[str, int], seconds: float) -> bytes | None:
    """The body of the list, empty where there is none in time; None where nothing listens. A refusal takes no time."""
    import http.client  # costs start-up time, and few runs need it

    asked = http.client.HTTPConnection(*address, timeout=seconds)
    body = b""
    try:
        asked.connect()
    except (OSError, ValueError):
        return None
    deadline = time.monotonic() + seconds
    try:
        asked.request("GET", "/api/tags")
        response = asked.getresponse()
        while response.status == 200 and len(body) < MAX_LIST and time.monotonic() < deadline:
            piece = response.read1(65_536)
            if not piece:
                return body
            body += piece
    except (OSError, http.client.HTTPException, ValueError):
        return b""
    finally:
        asked.close()
    return b""
