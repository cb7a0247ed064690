"""Pieces that come faster than anybody reads are gathered; slow streams and beginnings are not held up."""

from neuralclaw.providers.stream_pacing import GATHER_SECONDS, MANY_READS, StreamPacer


class Reads:
    """A stream's reads: so many events each, so far apart."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pace = StreamPacer(lambda: self.now)

    def come(self, count: int, *, apart: float, events: int = 1) -> list[bool]:
        waits = []
        for _ in range(count):
            self.now += apart
            waits.append(self.pace.read(events))
            if waits[-1]:
                self.now += GATHER_SECONDS
        return waits


def test_a_model_at_a_hundred_tokens_a_second_is_never_held_up() -> None:
    assert not any(Reads().come(500, apart=0.01))


def test_a_whole_answer_in_a_few_reads_is_never_held_up() -> None:
    assert not any(Reads().come(MANY_READS - 1, apart=0.0001, events=200))


def test_a_crowd_is_gathered_until_it_is_none() -> None:
    reads = Reads()
    first = reads.come(MANY_READS, apart=0.0005, events=2)
    assert first == [False] * (MANY_READS - 1) + [True]
    assert all(reads.come(100, apart=0.001, events=50)), "gathered reads bring many events each"
    slow = reads.come(100, apart=0.02)
    assert not any(slow[10:])
