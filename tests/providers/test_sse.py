"""Server-sent events: how bytes become events."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralclaw.providers import sse
from neuralclaw.providers.sse import SSEDecoder, SSEEvent, SSETooLarge


def decoded(*chunks: bytes) -> list[SSEEvent]:
    decoder = SSEDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()


LINES = st.lists(
    st.sampled_from(["data: a", "data:b", "data", "data: ", "event: x", ": note", "id: 1", "retry: 5", "", "ümläut", "data:  zwei 🌍"]), max_size=12
)


@given(lines=LINES, end=st.sampled_from(["\n", "\r\n", "\r"]), places=st.lists(st.integers(0, 400), max_size=8))
def test_wherever_bytes_are_cut_and_however_lines_end_the_events_are_the_same(lines: list[str], end: str, places: list[int]) -> None:
    plain = "".join(f"{line}\n" for line in lines).encode()
    data = "".join(f"{line}{end}" for line in lines).encode()
    bounds = [0, *sorted(place for place in places if place < len(data)), len(data)]
    pieces = [data[start:stop] for start, stop in itertools.pairwise(bounds)]
    assert decoded(*pieces) == decoded(plain)


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"data: a\ndata: b\n\n", [SSEEvent(b"a\nb")]),
        (b"data:a\n\ndata:  a\n\n", [SSEEvent(b"a"), SSEEvent(b" a")]),
        (b"event: ping\ndata: {}\n\ndata: 1\n\n", [SSEEvent(b"{}", "ping"), SSEEvent(b"1")]),
        (b"event: ping\n\n: nothing\n\n", []),
        (b"data\n\n", [SSEEvent(b"")]),
        (b"dataset: a\nDATA: b\n\n", []),
        (b"\xef\xbb\xbfdata: a\n\n", [SSEEvent(b"a")]),
        (b"data: a", [SSEEvent(b"a")]),
        (b"data: a\n", [SSEEvent(b"a")]),
        (b"data: \xe2\x82\n\n", [SSEEvent(b"\xe2\x82")]),
    ],
)
def test_fields_mean_what_the_standard_says(data: bytes, events: list[SSEEvent]) -> None:
    assert decoded(data) == events
    for other in (data, data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r")):
        assert decoded(*(other[place : place + 1] for place in range(len(other)))) == events
        for place in range(len(other)):
            assert decoded(other[:place], b"", other[place:]) == events


@pytest.mark.parametrize("line", [b"x" * 65536, b"data: x\n" * 8192])
def test_an_event_without_end_is_refused_before_it_fills_the_memory(line: bytes) -> None:
    with pytest.raises(SSETooLarge):
        decoded(*[line] * (sse.MAX_EVENT_BYTES // len(line) + 2))


def test_many_events_of_any_sum_are_taken() -> None:
    decoder = SSEDecoder()
    event = b"data: " + b"x" * 1_000_000 + b"\n\n"
    assert sum(len(decoder.feed(event)) for _ in range(20)) == 20
