"""Another spelling of a command gets no wider answer than the plain one, and no input makes the kernel fail."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from neuralclaw.errors import NeuralClawError
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.paths import absolute, secret
from neuralclaw.safety.shell import analyse
from neuralclaw.types.options import OwnerRule
from neuralclaw.types.risk import Decision, Risk
from neuralclaw.types.urls import parse
from neuralclaw.types.verdicts import Verdict

from .fuzz_run import LineJudge, is_crash
from .parts import POLICY, TERMINAL, FakeClock, FakeFacts, action, judge
from .rewrites import COMMANDS, REWRITES

pytestmark = pytest.mark.anyio
SCALE = (Decision.ALLOW, Decision.ASK, Decision.FORBID)
SHELL = st.text(st.sampled_from("abx ./~*?[]{}()$`'\"\\|&;<>!#=-+:,@%^0123\n\t\0é\u2028"), max_size=60)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True, database=None)


def wider(verdict: Verdict, plain: Verdict) -> bool:
    """Whether a verdict allows more than that on the plain spelling."""
    return SCALE.index(verdict.decision) < SCALE.index(plain.decision) or (verdict.decision is Decision.ALLOW and verdict.risk is Risk.LOW < plain.risk)


@pytest.mark.parametrize("name", REWRITES)
async def test_another_spelling_gets_no_wider_answer(tmp_path: Path, name: str) -> None:
    gate = LineJudge(tmp_path)
    found = {}
    for command in COMMANDS:
        rewritten = REWRITES[name](command)
        verdict, plain = await gate.judge(rewritten), await gate.judge(command)
        if wider(verdict, plain):
            found[rewritten] = f"{verdict.decision} where {command!r} is {plain.decision}"
    assert found == {}


@given(SHELL)
@QUICK
async def test_no_line_makes_the_gate_fail(text: str) -> None:
    assert not is_crash(await judge(text or "x"))


@given(st.text(max_size=40))
@QUICK
async def test_no_text_makes_the_gate_fail(text: str) -> None:
    assert not is_crash(await judge("cat " + text))


@given(SHELL, st.sampled_from(["/home/ann/project", "/"]))
@QUICK
async def test_a_path_is_absolute_and_its_spelling_does_not_hide_a_place_of_keys(text: str, base: str) -> None:
    assert absolute(text, base).startswith("/")
    for path in ("/home/ann/.ssh/id_rsa", "/home/ann/.aws/credentials"):
        assert (await judge(f"cat {path}")).decision is Decision.FORBID
        assert secret(path)
        assert (await judge(f"cat {path.replace('/', '/' * (len(text) % 3 + 1))}")).decision is Decision.FORBID


@given(st.one_of(st.text(max_size=40), SHELL, st.builds("http://{}:{}/{}".format, st.text(max_size=20), st.integers(-9, 99999), SHELL)))
@example("http://[::1")
@QUICK
async def test_an_address_is_read_or_refused(text: str) -> None:
    try:
        first = parse(text)
    except (NeuralClawError, ValueError):
        return
    assert parse(text) == first


@given(SHELL, SHELL)
@QUICK
async def test_a_rule_of_the_owner_that_forbids_never_widens_an_answer(command: str, path: str) -> None:
    rule = OwnerRule(id="mine", decision=Decision.FORBID, command=command or "x", path=path or None)
    policy = POLICY.__class__(programs=POLICY.programs, home_dir=POLICY.home_dir, rules=(rule,))
    for line in ("ls", "rm a.txt"):
        verdict = await judge(line, policy=policy)
        assert not is_crash(verdict)
        assert not wider(verdict, await judge(line, policy=POLICY.__class__(programs=POLICY.programs, home_dir=POLICY.home_dir)))


async def test_a_kernel_that_fails_refuses() -> None:
    class FailingFacts(FakeFacts):
        async def look(self, *_: object) -> None:  # type: ignore[override]
            raise RuntimeError("no facts")

    def fail(*_: object, **__: object) -> None:
        raise RecursionError("too deep")

    for gate in (PolicyGate(POLICY, FailingFacts(), FakeClock(), analyse), PolicyGate(POLICY, FakeFacts(), FakeClock(), fail)):  # type: ignore[arg-type]
        verdict = await gate.judge(action(TERMINAL, command="ls"))
        assert verdict.decision is Decision.FORBID
        assert is_crash(verdict)
