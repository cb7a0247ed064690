"""History is searched for secrets once, and what holds one is cleaned every time it is read."""

import msgspec

from neuralclaw.agent.redaction import NoStream, Searched
from neuralclaw.ports import TextStream
from neuralclaw.types.entries import Entry, Header
from neuralclaw.types.events import Nudge


class Counting:
    """Redacts one word, and counts the texts it was asked about."""

    def __init__(self) -> None:
        self.asked = 0

    def redact(self, text: str) -> str:
        self.asked += 1
        return text.replace("secret", "[REDACTED]")

    def stream(self) -> TextStream:
        return NoStream()


def entry(record: int, text: str) -> Entry:
    header = Header(record=record, session="s", entry=record, turn=1, kind="nudge", version=1, time=0, labels=(), digest="", hash="")
    return Entry(header, Nudge(text=text))


def texts(entries: list[Entry]) -> list[str]:
    return [msgspec.structs.asdict(one.body)["text"] for one in entries if one.body is not None]


def test_a_clean_entry_is_searched_once_and_a_dirty_one_is_cleaned_each_time() -> None:
    counting = Counting()
    searched = Searched(counting)
    history = [entry(1, "hello"), entry(2, "my secret"), entry(3, "bye")]
    for read in range(3):
        assert texts(searched.entries(history)) == ["hello", "my [REDACTED]", "bye"]
        assert counting.asked == 3 + read


def test_what_this_process_wrote_is_not_searched_again() -> None:
    counting = Counting()
    searched = Searched(counting)
    searched.written([entry(1, "hello")])
    assert texts(searched.entries([entry(1, "hello")])) == ["hello"]
    assert counting.asked == 0


def test_only_the_newest_are_remembered() -> None:
    searched = Searched(Counting())
    searched.written([entry(number, "x") for number in range(Searched.LIMIT + 10)])
    assert len(searched._clean) == Searched.LIMIT
