"""What labels cost does not grow with the messages of a session, nor with the files that are labelled."""

from collections.abc import Callable

import msgspec

from neuralclaw.agent.context import Conversation
from neuralclaw.app.flow.file_labels import FileLabels
from neuralclaw.safety import flow_private
from neuralclaw.safety.analysis import Analysis
from neuralclaw.safety.findings import Findings
from neuralclaw.types.entries import Entry, Header
from neuralclaw.types.events import Message, ToolFinished
from neuralclaw.types.labels import Labels
from neuralclaw.types.messages import ToolCall, Usage
from neuralclaw.types.risk import Risk
from neuralclaw.types.urls import parse

from ..growth import growth
from ..safety.parts import FETCH, action

SMALL, LARGE, STEPS = 2_500, 10_000, 200
MOST = 2.5
"""A cost that grows with the size is four times as much."""
OUTSIDE: Labels = frozenset({"owner", "private", "agent", "external:web/news.example"})


def entry(number: int, body: Message | ToolFinished) -> Entry:
    labels = tuple(sorted(OUTSIDE))
    return Entry(
        header=Header(record=number, session="s", entry=number, turn=1, kind=body.type, version=1, time=0, labels=labels, digest="", hash=""), body=body
    )


def steps(conversation: Conversation, begin: int, count: int) -> None:
    """So many calls that fetch a page, each with a link that the page before had."""
    for number in range(begin, begin + count):
        fetched = ToolCall(f"c{number}", "web_fetch", {"url": f"https://news.example/{number}"})
        conversation.apply(entry(2 * number + 1, Message(text="", tool_calls=(fetched,), model="m", stop="tools", usage=Usage())))
        judged(conversation, f"https://news.example/{number}")
        page = f"Go on at https://news.example/{number + 1} or https://shop.example/{number}. " + "word " * 40
        conversation.apply(entry(2 * number + 2, ToolFinished(call_id=fetched.id, name="web_fetch", ok=True, content=page, links="all", private=number == 0)))


def judged(conversation: Conversation, url: str) -> None:
    """What the flow rules look at before such a call."""
    links = conversation.links
    proposed = msgspec.structs.replace(
        action(FETCH, url=url),
        labels=OUTSIDE,
        said=conversation.said(),
        private_read=links.private_read,
        private_results=links.private_texts,
        private_links=links.private_links,
        known_links=links.known,
    )
    flow_private.judge(Findings(Risk.LOW), proposed, Analysis(urls=(parse(url),)), ("web/news.example",))


def session(calls: int) -> Callable[[], None]:
    """Steps behind so many calls."""
    conversation, made = Conversation(), [calls]
    steps(conversation, 0, calls)

    def go_on() -> None:
        steps(conversation, made[0], STEPS)
        made[0] += STEPS

    return go_on


def test_a_call_costs_no_more_behind_ten_thousand_messages() -> None:
    assert growth(session(SMALL // 2), session(LARGE // 2)) < MOST


def test_the_labels_of_a_path_are_found_as_fast_among_ten_thousand_files() -> None:
    def files(count: int) -> Callable[[], None]:
        known = FileLabels()
        for number in range(count):
            known.put(f"/w/d{number % 100}/f{number}", OUTSIDE)

        def look() -> None:
            for number in range(STEPS * 10):
                known.put(f"/w/new/f{number}", OUTSIDE)
                assert known.of(f"/w/d{number % 100}/f{number}") | known.below("/w") == OUTSIDE

        return look

    assert growth(files(SMALL), files(LARGE)) < MOST
