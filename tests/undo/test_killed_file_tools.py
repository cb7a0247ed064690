"""What a call of a file tool changed whose process died is told from what a person did later, as far as clocks can tell."""

import hashlib
import time
from pathlib import Path

import pytest

from neuralclaw.app.undo.interrupted_files import interrupted_calls
from neuralclaw.sandbox.undo.saved_tree import LATER_THAN_DEATH
from neuralclaw.types.entries import Entry, Header
from neuralclaw.types.events import ToolStarted
from neuralclaw.types.risk import Effect, Risk, Tier


def started(path: Path, held: bytes, at: float) -> Entry:
    body = ToolStarted(
        call_id="c",
        name="write_file",
        arguments={},
        risk=Risk.LOW,
        tier=Tier.WRITE,
        effect=Effect.RECONCILABLE,
        before={str(path): hashlib.sha256(held).hexdigest()},
    )
    header = Header(record=1, session="s", entry=1, turn=1, kind="tool.started", version=1, time=round(at * 1e6), labels=(), digest="", hash="")
    return Entry(header, body)


@pytest.mark.parametrize(("ahead", "shared"), [(0, ""), (7_200, LATER_THAN_DEATH), (-7_200, LATER_THAN_DEATH)])
def test_where_the_clock_was_set_back_nobody_can_tell_what_a_killed_file_tool_changed(workspace: Path, ahead: int, shared: str) -> None:
    (workspace / "a.txt").write_text("two\n")
    [(_, [change])] = interrupted_calls([started(workspace / "a.txt", b"one\n", time.time() + ahead)])
    assert change.shared == shared
