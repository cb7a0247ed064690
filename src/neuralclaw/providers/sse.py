"""Server-sent events: bytes as the network cuts them become events (WHATWG HTML, section 9.2.6)."""

import msgspec

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""An event beyond this is no model's answer; it would only fill the memory."""

_BOM = b"\xef\xbb\xbf"


class SSEEvent(msgspec.Struct, frozen=True):
    """One event. `data` are the joined data lines as bytes, so that JSON is decoded without a detour over text."""

    data: bytes
    name: str = ""


class SSETooLarge(ValueError):
    """An event is larger than `MAX_EVENT_BYTES`."""


class SSEDecoder:
    """Feed it whatever arrives, wherever it was cut: in a line end, in a character, in a field name."""

    __slots__ = ("_after_cr", "_data", "_first", "_held", "_name", "_rest")

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # pieces of the line that has not ended
        self._held = 0  # bytes of the event that has not ended
        self._data: list[bytes] = []
        self._name = ""
        self._after_cr = False
        self._first = True

    def feed(self, chunk: bytes) -> list[SSEEvent]:
        """The events that `chunk` completes. Raises `SSETooLarge`."""
        if self._after_cr and chunk[:1] == b"\n":  # the second half of a CRLF that was cut in two
            chunk = chunk[1:]
            self._after_cr = False
        if not chunk:
            return []
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        else:
            self._after_cr = False
        self._held += len(chunk)
        lines = chunk.split(b"\n")
        if len(lines) == 1:
            self._rest.append(chunk)
            self._bound()
            return []
        if self._rest:
            self._rest.append(lines[0])
            lines[0] = b"".join(self._rest)
        last = lines.pop()
        self._rest = [last] if last else []
        events = self._lines(lines)
        self._bound()
        return events

    def close(self) -> list[SSEEvent]:
        """What was complete at the end of the stream but for its last line end; servers forget it after `[DONE]`."""
        lines = [b"".join(self._rest), b""] if self._rest else [b""]
        self._rest = []
        return self._lines(lines)

    def _bound(self) -> None:
        if self._held > MAX_EVENT_BYTES:
            raise SSETooLarge(f"an event of more than {MAX_EVENT_BYTES >> 20} MB")

    def _lines(self, lines: list[bytes]) -> list[SSEEvent]:
        events = []
        if self._first:
            self._first = False
            lines[0] = lines[0].removeprefix(_BOM)
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif not line:
                if self._data:
                    events.append(SSEEvent(self._data[0] if len(self._data) == 1 else b"\n".join(self._data), self._name))
                    self._data = []
                self._name = ""
                self._held = sum(map(len, self._rest))
            elif line.startswith(b"event:"):
                self._name = line[6:].strip().decode("utf-8", "replace")
            elif line == b"data":
                self._data.append(b"")
        return events
