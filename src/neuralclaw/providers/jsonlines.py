"""JSON lines: bytes as the network cuts them become one event a line."""

from .sse import MAX_EVENT_BYTES, SSEEvent, SSETooLarge


class JSONLinesDecoder:
    """Feed it whatever arrives, wherever it was cut. Lines end in LF or CRLF; empty ones are passed over."""

    __slots__ = ("_held", "_rest")

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # pieces of the line that has not ended
        self._held = 0  # their bytes

    def feed(self, chunk: bytes) -> list[SSEEvent]:
        """The lines that `chunk` completes. Raises `SSETooLarge`."""
        first, *lines = chunk.split(b"\n")
        self._rest.append(first)
        self._held += len(first)
        if self._held > MAX_EVENT_BYTES:
            raise SSETooLarge(f"a line of more than {MAX_EVENT_BYTES >> 20} MB")
        if not lines:
            return []
        last = lines.pop()
        whole = [b"".join(self._rest), *lines]
        self._rest, self._held = [last], len(last)
        return _events(whole)

    def close(self) -> list[SSEEvent]:
        """The last line, where nothing ends it."""
        last = b"".join(self._rest)
        self._rest, self._held = [], 0
        return _events([last])


def _events(lines: list[bytes]) -> list[SSEEvent]:
    return [SSEEvent(line) for line in (line.strip() for line in lines) if line]
