"""The log: lines of JSON, context over tasks and threads, rotation that processes share, and a disk that is slow or not there."""

import fcntl
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from neuralclaw import Agent, tool
from neuralclaw.log import LogWriter
from neuralclaw.log.log_writer import LONGEST, QUEUE
from neuralclaw.secrets import Redactor
from neuralclaw.testing import Reply, ScriptedProvider
from neuralclaw.types.logcontext import about

from .waiting import until

pytestmark = pytest.mark.anyio

MEGABYTE = 1_000_000
say = logging.getLogger("neuralclaw.test")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def book(folder: Path, *, level: str = "INFO", max_bytes: int = MEGABYTE, backups: int = 5) -> LogWriter:
    return LogWriter(str(folder), level=level, max_bytes=max_bytes, backups=backups, redact=Redactor([("KEY", "qT7-vv81_kkZp03xYw")]).redact)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[LogWriter]:
    opened = book(tmp_path / "logs")
    opened.open(whole_process=False)
    yield opened
    opened.close()


def written(kept: LogWriter) -> list[dict[str, Any]]:
    """Its lines, once it is closed."""
    kept.close()
    return lines(Path(kept.path))


def test_a_line_has_its_time_its_place_and_what_it_is_about(kept: LogWriter) -> None:
    with about(session="s1", turn=3):
        say.warning("%d things", 3, extra={"fields": {"ms": 12, "names": ["a", "b"], "odd": object()}})
    (line,) = written(kept)
    time = line.pop("time")
    assert (len(time), time[-1], time[10]) == (24, "Z", "T")
    expected = {"level": "WARNING", "logger": "neuralclaw.test", "message": "3 things", "pid": os.getpid(), "session": "s1", "turn": 3}
    assert line == expected | {"ms": 12, "names": ["a", "b"], "odd": "<object>"}


def test_an_error_is_one_field_of_one_line_with_its_traceback(kept: LogWriter) -> None:
    try:
        raise ValueError("no use: qT7-vv81_kkZp03xYw\nsecond line")
    except ValueError:
        say.exception("it failed")
    (line,) = written(kept)
    assert line["message"] == "it failed"
    assert line["error"].startswith("Traceback (most recent call last):\n")
    assert line["error"].endswith("ValueError: no use: [REDACTED:KEY]\nsecond line")
    assert "qT7-vv81" not in line["error"].replace('raise ValueError("no use: qT7', "")


def test_no_text_of_a_line_keeps_a_secret_and_none_is_endless(kept: LogWriter) -> None:
    say.warning("key %s", "qT7-vv81_kkZp03xYw", extra={"fields": {"env": {"qT7-vv81_kkZp03xYw": ["x qT7-vv81_\nkkZp03xYw"]}, "long": "a" * 50_000}})
    (line,) = written(kept)
    assert line["message"] == "key [REDACTED:KEY]"
    assert line["env"] == {"[REDACTED:KEY]": ["x [REDACTED:KEY]"]}
    assert len(line["long"]) < LONGEST + 100


def test_what_is_no_text_and_what_does_not_fit_is_still_a_line(kept: LogWriter) -> None:
    say.warning("half a pair \ud83d", extra={"fields": {"big": 10**30}})
    kept.handle(logging.LogRecord("x", logging.WARNING, "", 1, "%d", ("no number",), None))
    first, second = written(kept)
    assert (first["message"], first["big"]) == ("half a pair ?", "<int>")
    assert second["message"].startswith("%d (its arguments do not fit")


def test_below_the_level_nothing_is_written_and_the_loggers_are_left_as_they_were(tmp_path: Path) -> None:
    above = logging.getLogger("neuralclaw")
    before = (above.level, list(above.handlers))
    first, second = book(tmp_path / "a", level="ERROR"), book(tmp_path / "b", level="DEBUG")
    first.open(whole_process=False)
    second.open(whole_process=False)
    say.debug("fine print")
    say.error("trouble")
    first.note(logging.INFO, "x", "not this")
    assert [line["message"] for line in written(first)] == ["trouble"]
    assert [line["message"] for line in written(second)] == ["fine print", "trouble"]
    assert (above.level, above.handlers) == before


def test_only_the_person_reads_the_log(kept: LogWriter) -> None:
    path = Path(kept.path)
    assert [oct(p.stat().st_mode & 0o777) for p in (path, path.parent)] == ["0o600", "0o700"]


@pytest.mark.parametrize("backups", [0, 1, 3])
def test_a_full_log_is_rotated_and_so_many_are_kept(tmp_path: Path, backups: int) -> None:
    kept = book(tmp_path, max_bytes=2_000, backups=backups)
    for number in range(100):
        kept.note(logging.INFO, "x", "filling", number=number, text="-" * 100)
    assert kept.finish()
    names = ["neuralclaw.jsonl", *(f"neuralclaw.jsonl.{n}" for n in range(1, backups + 1))]
    assert sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith(".")) == names
    numbers = [line["number"] for name in reversed(names) for line in lines(tmp_path / name)]
    assert numbers == list(range(100 - len(numbers), 100))


WRITER = """
import sys, logging
from neuralclaw.log import LogWriter
book = LogWriter(sys.argv[1], level="INFO", max_bytes=4000, backups=500, redact=str)
for number in range(300):
    book.note(logging.INFO, "x", "one of many", who=sys.argv[2], number=number)
    if number % 5 == 0:
        while book._queue.qsize():
            pass
assert book.finish(30)
"""


@pytest.mark.full
def test_processes_that_write_and_rotate_one_log_at_once_lose_no_line(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(n)]) for n in range(4)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    files = [p for p in tmp_path.iterdir() if not p.name.startswith(".")]
    told = [(line["who"], line["number"]) for p in files for line in lines(p)]
    assert len(files) > 10
    assert sorted(told) == sorted((str(who), number) for who in range(4) for number in range(300))


def held(kept: LogWriter) -> int:
    """A lock that keeps every writer of this log waiting, as a disk that does not answer would."""
    lock = os.open(Path(kept.path).parent / ".neuralclaw.jsonl.lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def test_a_disk_that_does_not_answer_costs_only_what_waits_too_long(tmp_path: Path) -> None:
    kept = book(tmp_path, max_bytes=100 * MEGABYTE)
    lock = held(kept)
    for number in range(QUEUE + 1_500):
        kept.note(logging.INFO, "x", "waits", number=number)
    assert not kept.finish(0.01)
    os.close(lock)
    told = written(kept)
    numbers = [line["number"] for line in told if line["message"] == "waits"]
    lost = [line["message"] for line in told if line["message"] != "waits"]
    assert numbers[:QUEUE] == list(range(QUEUE))
    assert numbers == sorted(set(numbers))  # on a slow machine the first of them are given up while the last come in: then the last are kept
    words = [text.partition(" ") for text in lost]
    assert sum(int(count) for count, _, _ in words) == QUEUE + 1_500 - len(numbers)
    assert {rest for _, _, rest in words} == {"records were lost: the disk was too slow or full"}


async def test_the_event_loop_runs_on_while_the_disk_does_not(kept: LogWriter) -> None:
    lock = held(kept)
    with anyio.fail_after(2):
        for _ in range(100):
            say.warning("waits")
            await anyio.lowlevel.checkpoint()
    os.close(lock)
    await until(lambda: len(lines(Path(kept.path))) == 100)


def test_warnings_and_libraries_of_the_program_itself_are_in_its_log(tmp_path: Path) -> None:
    code = """
import logging, sys, warnings
from neuralclaw.log import LogWriter
book = LogWriter(sys.argv[1], level="INFO", max_bytes=100000, backups=1, redact=str)
book.open(whole_process=True)
logging.getLogger("somebody.else").info("hello")
warnings.warn("old ways", DeprecationWarning)
"""
    done = subprocess.run([sys.executable, "-W", "always", "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = lines(tmp_path / "neuralclaw.jsonl")
    assert (first["logger"], first["message"]) == ("somebody.else", "hello")
    assert second["logger"] == "py.warnings"
    assert "old ways" in second["message"]


@tool(risk="LOW")
async def deep() -> str:
    "Logs in a task and in a thread."

    async def task() -> None:
        say.warning("in a task")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(task)
    await anyio.to_thread.run_sync(say.warning, "in a thread")
    return "told nobody but 4711"


@tool(risk="LOW")
async def broken() -> str:
    "Fails."
    raise RuntimeError("bad luck")


def the_log(home: Path) -> list[dict[str, Any]]:
    return lines(home / "logs" / "neuralclaw.jsonl")


async def test_a_turn_is_told_from_its_start_to_its_end_without_its_contents(home: Path, tmp_path: Path) -> None:
    script = ScriptedProvider(Reply("", [{"name": "deep", "arguments": {}}]), Reply("", [{"name": "broken", "arguments": {}}]), "the answer is 4711")
    async with Agent.open(home=home, workspace=tmp_path, provider=script, tools=[deep, broken], environ={}) as agent:
        await agent.ask("say 4711", session="mine")
    told = the_log(home)
    assert [(line["level"], line["message"]) for line in told] == [
        ("INFO", "process started"),
        ("INFO", "the turn begins with given:model"),
        ("INFO", "given:model wants to call deep"),
        ("WARNING", "in a task"),
        ("WARNING", "in a thread"),
        ("INFO", "deep ended well"),
        ("INFO", "given:model wants to call broken"),
        ("WARNING", "the tool broken failed"),
        ("INFO", "broken failed"),
        ("INFO", "given:model answers"),
        ("INFO", "the turn ended, done"),
    ]
    assert {(line["session"], line["turn"]) for line in told[1:]} == {("mine", 1)}
    assert {line["call_id"] for line in told[3:6]} == {told[5]["call_id"]}
    assert (told[5]["tool"], told[5]["decision"], told[5]["by"], told[5]["ok"]) == ("deep", "allow", "policy", True)
    assert told[7]["error"].endswith("RuntimeError: bad luck")
    assert told[7]["call_id"] == told[8]["call_id"]
    assert told[8]["ok"] is False
    assert (told[-1]["event"], told[-1]["status"], told[-1]["usd"]) == ("turn.finished", "done", 0.0)
    assert "4711" not in (home / "logs" / "neuralclaw.jsonl").read_text().replace(str(tmp_path), "")


async def test_the_settings_say_how_much_is_written_and_where(home: Path, tmp_path: Path) -> None:
    settings = {"logging.level": "DEBUG", "logging.log_dir": str(tmp_path / "elsewhere")}
    async with Agent.open(home=home, workspace=tmp_path, provider=ScriptedProvider("ok"), settings=settings, environ={"X_API_KEY": "short"}) as agent:
        await agent.ask("hello")
    assert not (home / "logs").exists()
    assert "the value of X_API_KEY is not looked for in texts: it is shorter than 8 characters" in [
        line["message"] for line in lines(tmp_path / "elsewhere" / "neuralclaw.jsonl")
    ]


async def test_where_no_log_can_be_written_one_notice_says_so_and_all_else_works(home: Path, tmp_path: Path) -> None:
    (home / "logs").write_text("in the way")
    async with Agent.open(home=home, workspace=tmp_path, provider=ScriptedProvider("ok"), environ={}) as agent:
        assert [notice for notice in agent.notices if "log" in notice] == [f"no log is kept: {home}/logs/neuralclaw.jsonl cannot be written: File exists"]
        assert (await agent.ask("hello")).text == "ok"


async def test_an_error_that_ends_the_agent_stands_in_the_log_in_full(home: Path, tmp_path: Path) -> None:
    with pytest.raises(LookupError):
        async with Agent.open(home=home, workspace=tmp_path, provider=ScriptedProvider(), environ={}):
            raise LookupError("nothing there")
    last = the_log(home)[-1]
    assert (last["level"], last["message"]) == ("ERROR", "LookupError: nothing there")
    assert "Traceback" in last["error"]


def test_the_program_has_written_its_log_when_it_ends(home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "neuralclaw", "run", "--model", "offline", "calculate 6*7"]
    done = subprocess.run(command, cwd=tmp_path, env={"NEURALCLAW_HOME": str(home), "PATH": os.environ["PATH"]}, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"42\n")
    assert [line["message"] for line in the_log(home)][-1] == "the turn ended, done"
    assert len({line["pid"] for line in the_log(home)}) == 1
    assert threading.active_count() < 20
