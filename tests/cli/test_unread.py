"""Output that nobody reads stops what is shown, and nothing else: the turn, its limits and the signals go on."""

import json
import os
import select
import signal
import time

import pytest

from tests.waiting import until

from .emulator import CTRL_C, CTRL_D, Screen
from .model import Model, served
from .program import Claw, Started

pytestmark = pytest.mark.anyio

MUCH = 400_000
"""Characters: more than a pipe, a terminal and the queue before them take together."""
LINE = "x" * 99 + "\n"


def say_much(model: Model) -> None:
    for _ in range(MUCH // 4_000):
        model.say(LINE * 40)


async def ended(claw: Claw, session: str) -> str:
    """How the session's turn ended, as another process reads it from the record; "" while it runs."""
    shown = await claw("sessions", "show", session, "--json")
    ends = [event["status"] for event in shown.json["events"] if event["type"] == "turn.finished"] if shown.code == 0 else []
    return ends[-1] if ends else ""


async def gone(run: Started, seconds: float = 20) -> int:
    await until(lambda: run.process.poll() is not None, seconds=seconds)
    return run.process.wait()


@pytest.mark.parametrize("output", ["stream-json", "json", "text"])
async def test_a_turn_ends_while_nobody_reads_and_the_reader_gets_everything_later(claw: Claw, output: str) -> None:
    with served(claw.home) as model, claw.started("run", "go", "--output", output, "--session", "s") as run:
        model.asked()
        say_much(model)
        model.done()
        await until(lambda: ended(claw, "s"), seconds=20)
        assert run.process.poll() is None
        got = run.out.read()
        assert await gone(run) == 0
    if output == "text":
        assert got.decode() == LINE * (MUCH // len(LINE))
        return
    events = [json.loads(line) for line in got.splitlines()]
    assert events[-1]["text"] == (LINE * (MUCH // len(LINE)))
    if output == "stream-json":
        shown = (await claw("sessions", "show", "s", "--json")).json["events"]
        assert [event["entry"] for event in events if "entry" in event] == [event["entry"] for event in shown]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


async def test_the_time_limit_fires_while_nobody_reads(claw: Claw) -> None:
    with served(claw.home) as model, claw.started("run", "go", "--output", "stream-json", "--session", "s", "--timeout", "2") as run:
        model.asked()
        say_much(model)
        assert await until(lambda: ended(claw, "s"), seconds=10) == "timed_out"
        assert run.process.poll() is None
        assert json.loads(run.out.read().splitlines()[-1])["status"] == "timed_out"
        assert await gone(run) == 124
        model.done()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_cancels_the_turn_and_ends_the_program_while_nobody_reads(claw: Claw, number: signal.Signals) -> None:
    with served(claw.home) as model, claw.started("run", "go", "--output", "stream-json", "--session", "s") as run:
        model.asked()
        say_much(model)
        await until(lambda: full(run.out.fileno()), seconds=20)
        run.process.send_signal(number)
        assert await gone(run) == 130
        assert await ended(claw, "s") == "cancelled"
        model.done()


async def test_a_second_signal_leaves_at_once_while_nobody_reads(claw: Claw) -> None:
    seconds = {}
    for signals in (1, 2):
        with served(claw.home) as model, claw.started("run", "go", "--output", "stream-json", "--session", f"s{signals}") as run:
            model.asked()
            say_much(model)
            model.done()
            await until(lambda session=f"s{signals}": ended(claw, session), seconds=20)
            await until(lambda: full(run.out.fileno()), seconds=20)
            began = time.monotonic()
            run.process.send_signal(signal.SIGTERM)
            if signals == 2:
                await until(lambda: not pending(run.process.pid, signal.SIGTERM), seconds=20)
                run.process.send_signal(signal.SIGTERM)
            assert await gone(run) == 130
            seconds[signals] = time.monotonic() - began
    assert seconds[2] < seconds[1] - 0.5, "the first one alone waits a second for a reader"


async def test_a_reader_that_leaves_in_the_middle_ends_the_run_as_before(claw: Claw) -> None:
    with served(claw.home) as model, claw.started("run", "go", "--output", "stream-json", "--session", "s") as run:
        run.until("turn.started")
        model.asked()
        run.out.close()
        model.say("a word")
        assert await gone(run) == 141
        assert await ended(claw, "s") == "cancelled"
        assert run.err.read() == b""
        model.done()


async def test_messages_that_cannot_be_used_do_not_fill_the_memory_while_nobody_reads(claw: Claw) -> None:
    with claw.started("run", "--input", "stream-json", "--output", "stream-json", stdin=-1) as run:
        assert run.process.stdin is not None
        os.set_blocking(run.process.stdin.fileno(), False)
        accepted, last = 0, time.monotonic()

        def stands() -> bool:
            """The program has taken nothing for half a second."""
            nonlocal accepted, last
            try:
                accepted += os.write(run.process.stdin.fileno(), b"nonsense\n" * 1_000)  # type: ignore[union-attr]
                last = time.monotonic()
            except BlockingIOError:
                return accepted > 0 and time.monotonic() - last > 0.5
            return False

        await until(stands)
        assert accepted < 1_000_000


async def test_a_chat_over_a_pipe_ends_its_turn_while_nobody_reads(claw: Claw) -> None:
    with served(claw.home) as model, claw.started("--session", "s", stdin=-1) as chat:
        chat.say("go")
        model.asked()
        say_much(model)
        model.done()
        await until(lambda: ended(claw, "s"), seconds=20)
        chat.say("and again")
        chat.process.send_signal(signal.SIGTERM)
        assert await gone(chat) == 130


async def test_a_chat_at_a_terminal_that_takes_nothing_ends_its_turn_and_shows_all_of_it_later(claw: Claw) -> None:
    lines = [f"- point {number} {'x' * 60}\n" for number in range(3_000)]
    with served(claw.home) as model, Screen(claw, "--session", "s") as chat:
        chat.until("context 0 %")
        chat.type("go\r")
        model.asked()
        for at in range(0, len(lines), 50):
            model.say("".join(lines[at : at + 50]))
        model.done()
        assert await until(lambda: ended(claw, "s"), seconds=20) == "done"
        chat.until("point 2999", "context 10 %")
        chat.type(CTRL_D)
        assert chat.end() == 0
        shown = chat.all
    assert [f"point {number} x" in shown for number in range(3_000)].count(False) == 0


async def test_ctrl_c_three_times_leaves_a_chat_whose_terminal_takes_nothing(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw, "--session", "s") as chat:
        chat.until("context 0 %")
        chat.type("go\r")
        model.asked()
        for number in range(3_000):
            model.say(f"- point {number} {'x' * 60}\n")
        model.call("calculate", expression="6 * 7")
        model.asked()  # all of it has come
        os.write(chat.fd, CTRL_C.encode())
        assert await until(lambda: ended(claw, "s"), seconds=10) == "cancelled"
        os.write(chat.fd, CTRL_C.encode() * 2)
        await until(chat.left)
        model.done()


def full(fd: int) -> bool:
    """Nothing more goes in on the other side: the kernel says so, since a pipe of half-filled pages is full at any number of bytes."""
    other = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
    try:
        return not select.select([], [other], [], 0)[1]
    finally:
        os.close(other)


def pending(pid: int, number: int) -> bool:
    with open(f"/proc/{pid}/status") as file:  # noqa: PTH123
        masks = [int(line.split()[1], 16) for line in file if line.startswith(("SigPnd", "ShdPnd"))]
    return any(mask >> (number - 1) & 1 for mask in masks)
