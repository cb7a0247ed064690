"""What the analysis takes `$((…))` for is what a shell makes of it."""

import random
import subprocess

import pytest

from neuralclaw.safety.shell_arithmetic import shell_number


def expression(chance: random.Random, depth: int) -> str:
    if depth == 0 or chance.random() < 0.2:
        return str(chance.choice([0, 1, 2, 7, 10, 4_294_967_296, 2**62, 2**63 - 1]))
    if chance.random() < 0.3:
        return chance.choice(["({})", "- {}", "+ {}"]).format(expression(chance, depth - 1))
    return f"{expression(chance, depth - 1)} {chance.choice('+-*/%')} {expression(chance, depth - 1)}"


def test_a_value_that_is_known_is_the_one_a_shell_has() -> None:
    chance = random.Random(1)
    known = {text: value for text in (expression(chance, 4) for _ in range(400)) if (value := shell_number(text)) is not None}
    lines = "\n".join(f"echo $(({text}))" for text in known)
    said = subprocess.run(["bash", "-c", lines], capture_output=True, text=True, check=True).stdout.split()
    assert said == [str(value) for value in known.values()]
    assert len(known) > 100


@pytest.mark.parametrize("text", ["9223372036854775807 + 1", "9223372036854775808", "2**3", "7//2", "1 / 0", "010", "٣", "x", "a[0]"])
def test_a_value_that_a_shell_may_see_otherwise_is_not_known(text: str) -> None:
    assert shell_number(text) is None


@pytest.mark.parametrize(("text", "value"), [("-7 / 2", -3), ("-7 % 3", -1), ("7 % -3", 1), (" (1+2) * 3 ", 9), ("-9223372036854775807 - 1", -(2**63))])
def test_division_is_that_of_a_shell(text: str, value: int) -> None:
    assert shell_number(text) == value
