"""The file of typed messages: whole, for its owner only, without secrets, and shared by several chats."""

import json
import stat
import sys
from pathlib import Path

import anyio
import pytest

from neuralclaw.channels.history_file import LIMIT, HistoryFile
from neuralclaw.channels.input_history import InputHistory
from neuralclaw.secrets import Redactor

pytestmark = pytest.mark.anyio

SECRET = "correct-horse-battery-staple-77"
CHAT = """
import sys
from neuralclaw.channels.input_history import InputHistory
name, file, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
chat = InputHistory()
chat.begin(file, str)
for number in range(count):
    chat.append_string(f"{name} {number}")
    chat.append_string("the same long text " * 3_000)
    if number % 10 == 0:
        chat.load_history_strings()
chat.end()
"""


async def test_two_chats_that_write_and_rewrite_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "chat_history"
    async with anyio.create_task_group() as group:
        for name in ("a", "b"):
            group.start_soon(anyio.run_process, [sys.executable, "-c", CHAT, name, str(file), "300"])
    kept = HistoryFile(str(file), str).read()
    assert {f"{name} {number}" for name in ("a", "b") for number in range(300)} <= set(kept)
    for name in ("a", "b"):
        mine = [text for text in reversed(kept) if text.startswith(f"{name} ")]
        assert mine == [f"{name} {number}" for number in range(300)]
    assert file.stat().st_size <= LIMIT + 100_000  # it was written anew
    assert [path.name for path in tmp_path.iterdir()] == ["chat_history"]


async def test_no_configured_secret_stands_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "chat_history"
    file.write_text(json.dumps(f"before it was configured: {SECRET}") + "\n")
    chat = InputHistory()
    chat.whole = lambda text: text.replace("[pasted]", SECRET)
    chat.append_string(f"typed early: {SECRET}")
    chat.begin(str(file), Redactor([("llm.key", SECRET)]).redact)
    chat.append_string(f"my key is {SECRET}")
    chat.append_string("pasted: [pasted]")
    chat.end()
    assert chat.load_history_strings()[-1] == "before it was configured: [REDACTED:llm.key]"
    written = [json.loads(line) for line in file.read_text().splitlines()]
    told = ("before it was configured", "typed early", "my key is", "pasted")
    assert [text.partition(" [")[0].removesuffix(":") for text in written] == list(told)
    assert SECRET not in file.read_text()


async def test_only_the_owner_reads_it_whatever_it_was(tmp_path: Path) -> None:
    file = tmp_path / "chat_history"
    history = HistoryFile(str(file), str)
    history.append("one")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o644)
    history.append("two")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (tmp_path / "chat_history.new").write_text("left by a crash")
    file.write_text((json.dumps("x" * 60_000) + "\n") * 80 + json.dumps("last") + "\n")
    assert history.read() == ["last", "x" * 60_000]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert history.read() == ["last", "x" * 60_000]


async def test_a_line_that_was_cut_off_takes_no_other_with_it(tmp_path: Path) -> None:
    file = tmp_path / "chat_history"
    file.write_text('"first"\n"cut o')
    history = HistoryFile(str(file), str)
    history.append("next")
    assert history.read() == ["next", "first"]


async def test_a_home_that_cannot_be_written_to_lets_the_chat_go_on(tmp_path: Path) -> None:
    chat = InputHistory()
    chat.begin(str(tmp_path / "nowhere" / "chat_history"), str)
    chat.append_string("hello")
    chat.end()
    assert chat.load_history_strings() == []
