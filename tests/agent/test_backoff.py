"""Waits double up to the longest one, and never beyond it."""

from itertools import islice

from neuralclaw.runtime.backoff import Backoff


def test_each_wait_is_twice_the_one_before_up_to_the_longest() -> None:
    assert list(islice(Backoff(first=1.0, longest=10.0).waits(), 6)) == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert Backoff(first=0.2, longest=10.0).after(2) == 0.4


def test_no_number_of_failures_makes_a_wait_that_cannot_be_computed() -> None:
    backoff = Backoff(first=1.0, longest=3600.0)
    assert (backoff.after(0), backoff.after(10_000)) == (1.0, 3600.0)
