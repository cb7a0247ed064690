"""Sessions under random steps: whatever people, programs, crashes and a failing disk do, the journal, the running code and a plain reference agree.

What a failure prints can be run again: the steps stand in its last lines.
"""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from .killed import Killed
from .machine import Sessions

pytestmark = pytest.mark.full

SLOW = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large, HealthCheck.large_base_example)
BASE = settings(deadline=None, database=None, print_blob=True, suppress_health_check=SLOW)


@pytest.mark.invariant("journal.started-first")
@pytest.mark.invariant("journal.finished-once")
@pytest.mark.invariant("journal.unfinished-asked")
@pytest.mark.invariant("journal.inbound-once")
@pytest.mark.invariant("journal.one-result")
@pytest.mark.invariant("sessions.one-turn")
def test_sessions_are_what_a_plain_reference_says_after_each_of_some_steps() -> None:
    run_state_machine_as_test(Sessions, settings=settings(BASE, max_examples=12, stateful_step_count=20, derandomize=True))


@pytest.mark.invariant("journal.started-first")
@pytest.mark.invariant("journal.finished-once")
@pytest.mark.invariant("journal.unfinished-asked")
@pytest.mark.invariant("journal.inbound-once")
@pytest.mark.invariant("journal.one-result")
@pytest.mark.invariant("sessions.one-turn")
def test_sessions_are_what_a_plain_reference_says_after_each_of_many_steps() -> None:
    run_state_machine_as_test(Sessions, settings=settings(BASE, max_examples=50, stateful_step_count=30))


@pytest.mark.invariant("journal.finished-once")
@pytest.mark.invariant("journal.inbound-once")
def test_processes_that_are_killed_at_any_write_lose_nothing_and_do_nothing_twice() -> None:
    run_state_machine_as_test(Killed, settings=settings(BASE, max_examples=12, stateful_step_count=15))
