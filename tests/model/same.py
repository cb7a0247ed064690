"""What a fault must leave as it was: everything that was known before."""

from .reference import Call, Session, Turn

ANSWERS = ("answer", "cancel", "owner")
"""Those who may close a question: who answers, who cancels, and a person who says something else."""


def kept(old: Session, new: Session, by: str, key: str) -> None:
    """Fails where something of `old` is lost or changed in `new`. `by`, `key`: who did something to this session now, and the message that came."""
    assert new.keys[: len(old.keys)] == old.keys, f"messages of {old.name} were lost: {old.keys} became {new.keys}"
    assert set(new.keys[len(old.keys) :]) <= {key}
    for before, after in zip(old.turns, new.turns, strict=False):
        _kept_turn(before, after, by)
    assert len(new.turns) >= len(old.turns)
    for said in old.inbox:
        found = [s for s in new.inbox if s.key == said.key]
        handled = [t for t in new.turns if t.key == said.key or said.key in t.seen]
        assert len(found) + len(handled) == 1, f"{said.key} waits {len(found)} times and was handled {len(handled)} times"
        assert not said.withdrawn or all(s.withdrawn for s in found)
        assert not (said.withdrawn and said.queued) or all(t.status == "cancelled" for t in handled), f"{said.key} was withdrawn and run"


def _kept_turn(old: Turn, new: Turn, by: str) -> None:
    assert (new.number, new.key, new.mode) == (old.number, old.key, old.mode)
    assert new.seen[: len(old.seen)] == old.seen
    if old.status:
        assert (new.status, new.text, new.calls) == (old.status, old.text, old.calls), f"turn {old.number} had ended"
    if old.cancelled and not old.status:
        assert new.cancelled
        assert new.status in ("", "cancelled")
    if new.status == "cancelled" and not old.status:
        assert old.cancelled or by == "cancel", f"turn {old.number} was cancelled and nobody had said so"
    for before, after in zip(old.calls, new.calls, strict=False):
        _kept_call(before, after, old, by)
    assert len(new.calls) >= len(old.calls)


def _kept_call(old: Call, new: Call, turn: Turn, by: str) -> None:
    assert (new.name, new.tool) == (old.name, old.tool)
    assert new.starts >= old.starts
    assert not old.result or (new.result, new.starts) == (old.result, old.starts), f"{old.name} had its result"
    for question, answer in old.asked.items():
        if answer:
            assert new.asked[question] == answer, f"the answer to {old.name} changed"
        elif new.asked[question]:
            assert by in ANSWERS or turn.cancelled or turn.mode == "ask", f"the question about {old.name} was answered and nobody had said anything"
