"""What a running Ollama has, asked in a moment: which model answers where nobody chose one."""

import time

from .setup_reach import has_model, names_in

MAX_LIST = 1_000_000
"""Bytes of the list that are read."""


def to_use(address: tuple[str, int], wanted: str, *, seconds: float) -> str:
    """`wanted` where Ollama has it or does not tell within `seconds`, else the first of its models that is not made for embeddings."""
    models = names_in(_tags(address, seconds)) or ()
    if has_model(models, wanted):
        return wanted
    return next((name for name in models if "embed" not in name), wanted)


def _tags(address: tuple[str, int], seconds: float) -> bytes:
    """The body of the list; empty where there is none in time."""
    import http.client  # costs start-up time, and few runs need it

    deadline = time.monotonic() + seconds
    asked = http.client.HTTPConnection(*address, timeout=seconds)
    body = b""
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
