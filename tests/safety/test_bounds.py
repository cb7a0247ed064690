"""An analysis has an end: by steps, length, depth and time. What stopped at one is not understood and never simply allowed."""

import collections
import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralclaw.app.home import beside
from neuralclaw.safety import bounds
from neuralclaw.safety.bounds import AnalysisBounds, Exceeded
from neuralclaw.safety.command_line import CommandLine
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.types.risk import Decision, Risk, Trust
from neuralclaw.types.verdicts import Verdict

from .hostile import DOUBLING, HEAVY, HOSTILE, LONG
from .parts import POLICY, READ, TERMINAL, WORKSPACE, FakeClock, FakeFacts, action, judge
from .test_command_lines import READS, plain

pytestmark = [pytest.mark.anyio, pytest.mark.full]

OVER = 2 * bounds.LENGTH
"""Steps by which the last count may pass the bound: an expansion that does not fit any more is never made."""


def read(text: str, limit: AnalysisBounds) -> CommandLine:
    return analyse(text, cwd=WORKSPACE, workspace=WORKSPACE, policy=POLICY, env={}, bounds=limit)


@pytest.mark.parametrize("name", HOSTILE)
async def test_what_would_keep_an_analysis_busy_ends_in_bounded_steps_and_is_not_understood(name: str) -> None:
    limit = AnalysisBounds()
    line = read(HOSTILE[name], limit)
    assert limit.steps > -OVER
    assert line.exceeded or line.broken
    verdict = await judge(HOSTILE[name], trust=Trust.HIGH)
    assert (verdict.understood, verdict.decision is Decision.ALLOW, verdict.risk >= Risk.HIGH) == (False, False, True)
    assert "gate.error" not in [rule.id for rule in verdict.rules]
    assert not verdict.auto


@pytest.mark.parametrize("name", HEAVY)
async def test_no_pattern_takes_long_over_hostile_text(name: str) -> None:
    begun = time.thread_time()
    verdict = await judge(HEAVY[name])
    assert time.thread_time() - begun < 2.0
    assert verdict.understood or verdict.decision is not Decision.ALLOW


@pytest.mark.parametrize("name", LONG)
async def test_a_long_command_of_ordinary_work_is_understood(name: str) -> None:
    verdict = await judge(LONG[name])
    assert verdict.understood, [rule.reason for rule in verdict.rules]
    assert not [rule.id for rule in verdict.rules if rule.id.startswith(("shell.", "gate.", "block."))]


async def test_the_reason_is_a_sentence_that_says_what_to_do_instead() -> None:
    rule = (await judge(DOUBLING + "echo $a")).rules[0]
    assert (rule.id, rule.decision) == ("shell.bounds", Decision.ASK)
    assert rule.reason == "what the command does cannot be worked out: it expands to more than 1,000,000 characters"
    assert rule.alternative == "a shorter, plainer command, or a script in a file"


async def test_a_line_that_nobody_can_read_is_forbidden() -> None:
    verdict = await judge("echo " + "x" * 300_000, trust=Trust.HIGH)
    assert next((rule.id, rule.decision) for rule in verdict.rules) == ("shell.bounds", Decision.FORBID)


@pytest.mark.parametrize("hidden", [DOUBLING + "rm -rf /", "rm -rf /; " + DOUBLING, "echo {1..999999999}; sudo ls"])
async def test_what_is_blocked_for_good_stays_so_beside_what_exceeds_a_bound(hidden: str) -> None:
    assert (await judge(hidden, trust=Trust.HIGH)).decision is Decision.FORBID


async def test_a_call_that_names_too_many_places_is_refused_in_words() -> None:
    gate = PolicyGate(POLICY, FakeFacts(), FakeClock(), analyse)
    verdict = await gate.judge(action(READ, path=[f"f{n}" for n in range(3_000)]))
    assert [(rule.id, rule.reason) for rule in verdict.rules] == [
        ("shell.bounds", "what the call does cannot be worked out: it touches more than 2,000 places")
    ]


def limited(steps: int) -> Callable[..., CommandLine]:
    """The analysis with no more than these steps, however often it is tried."""

    def read(text: str, **scene: Any) -> CommandLine:
        return analyse(text, **{**scene, "bounds": AnalysisBounds(steps=steps)})

    return read


@pytest.mark.invariant("gate.bounded")
@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(READS), min_size=1, max_size=40), st.integers(1, 60_000), st.sampled_from(list(Trust)))
async def test_no_analysis_that_stopped_at_its_bound_is_allowed(reads: list[str], steps: int, trust: Trust) -> None:
    text = "\n".join(plain(read) for read in reads)
    verdict: Verdict = await PolicyGate(POLICY, FakeFacts(), FakeClock(), limited(steps)).judge(action(TERMINAL, command=text, trust=trust))
    if limited(steps)(text, cwd=WORKSPACE, workspace=WORKSPACE, policy=POLICY, env={}).exceeded:
        assert verdict.decision is not Decision.ALLOW
        assert not verdict.understood
        assert verdict.risk >= Risk.HIGH


async def test_few_steps_stop_an_analysis_that_all_steps_allow() -> None:
    text = "\n".join(plain(read) for read in READS)
    assert limited(5_000)(text, cwd=WORKSPACE, workspace=WORKSPACE, policy=POLICY, env={}).exceeded
    assert not limited(bounds.STEPS)(text, cwd=WORKSPACE, workspace=WORKSPACE, policy=POLICY, env={}).exceeded


async def test_the_clock_ends_an_analysis_whose_steps_would_go_on() -> None:
    times = iter(range(1_000_000))
    limit = AnalysisBounds(lambda: next(times) * 0.03)
    with pytest.raises(Exceeded, match="more than 100 ms"):
        collections.deque((limit.step() for _ in range(100_000)), maxlen=0)


class Waits:
    """The real analysis, which waits for a word before its second, longer attempt; by what thread each was made."""

    def __init__(self) -> None:
        self.go, self.begun = threading.Event(), threading.Event()
        self.threads: list[int] = []

    def __call__(self, text: str, **scene: Any) -> CommandLine:
        self.threads.append(threading.get_ident())
        if len(self.threads) > 1:
            self.begun.set()
            assert self.go.wait(60)
        return analyse(text, **scene)


async def test_others_go_on_while_a_hostile_command_is_analysed() -> None:
    shell = Waits()
    gate = PolicyGate(POLICY, FakeFacts(), FakeClock(), shell, beside=beside)
    verdicts: dict[str, Verdict] = {}

    async def one(command: str) -> None:
        verdicts[command] = await gate.judge(action(TERMINAL, command=command))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one, DOUBLING)
            await anyio.to_thread.run_sync(shell.begun.wait, 60)
            other = await PolicyGate(POLICY, FakeFacts(), FakeClock(), analyse, beside=beside).judge(action(TERMINAL, command="ls"))
            assert other.decision is Decision.ALLOW
            assert not verdicts
            shell.go.set()
    assert verdicts[DOUBLING].decision is Decision.ASK
    assert shell.threads[0] == threading.get_ident() != shell.threads[1]


async def test_a_turn_can_be_cancelled_during_an_analysis() -> None:
    shell = Waits()
    gate = PolicyGate(POLICY, FakeFacts(), FakeClock(), shell, beside=beside)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gate.judge, action(TERMINAL, command=DOUBLING))
            await anyio.to_thread.run_sync(shell.begun.wait, 60)
            tasks.cancel_scope.cancel()
    assert not shell.go.is_set()
    shell.go.set()


async def test_an_ordinary_command_needs_no_other_thread() -> None:
    async def never(work: object) -> None:
        raise AssertionError("a thread for an ordinary command")

    gate = PolicyGate(POLICY, FakeFacts(), FakeClock(), analyse, beside=never)
    for text in READS:
        assert (await gate.judge(action(TERMINAL, command=plain(text)))).decision is Decision.ALLOW, text


@pytest.mark.parametrize(
    ("text", "words"),
    [("{01..03}", "01 02 03"), ("{08..10..2}", "08 10"), ("{-01..1}", "-01 000 001"), ("{c..a}", "c b a"), ("{9998..10001}", "9998 9999 10000 10001")],
)
def test_a_range_is_what_bash_makes_of_it(text: str, words: str) -> None:
    assert read(f"echo {text}", AnalysisBounds()).commands[0].argv[1:] == tuple(words.split())


def test_all_lines_that_xargs_gets_are_judged() -> None:
    names = "\\n".join(f"f{n}" for n in range(30))
    line = read(f"printf '{names}' | xargs -I{{}} cat {{}}", AnalysisBounds())
    assert [c.argv for c in line.commands if c.argv[0] == "cat"][-1] == ("cat", "f29")
