"""No attempt gets out of a sandbox, and each is possible without one: so it is the sandbox that holds."""

import inspect

import pytest

from . import attempts, granted_attempts, more_attempts, planting_attempts
from .cases import CASES
from .results import SANDBOXES, USERS, results

pytestmark = pytest.mark.full

# What the kernel or a setting of a machine may refuse to everyone, so that the control says nothing there.
DEPENDS = {"set_up_a_ring", "open_a_vsock", "type_into_the_terminal", "type_into_its_own_terminal", "enter_a_user_namespace", "fork_into_a_user_namespace"}
DEPENDS |= {"open_the_disk", "read_the_kernels_memory", "press_a_system_key", "speak_to_the_hardware", "paste_into_the_console"}
DEPENDS |= {"hand_a_module_to_the_kernel", "take_a_module_from_the_kernel", "replace_the_kernel", "take_away_swap", "replace_the_agent_of_control_groups"}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_an_attempt_to_get_out_is_held(sandbox: str, user: str, name: str) -> None:
    said, changed = results(sandbox, user)[name]
    assert said.split()[0] == ("escaped" if sandbox in CASES[name].open else "held"), said
    assert not changed


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("user", USERS)
def test_without_a_sandbox_the_attempt_succeeds(user: str, name: str) -> None:
    case = CASES[name]
    said, _ = results("outside", user)[name]
    expected = case.outside == "everyone" or (case.outside == "root" and user == "root")
    assert said.split()[0] != "broken", said
    if expected and name not in DEPENDS:
        assert said == "escaped"


def test_both_sandboxes_of_the_kernel_are_tried_here() -> None:
    assert SANDBOXES


def test_every_attempt_is_made_and_says_why_not_everyone_can() -> None:
    written = {
        name
        for module in (attempts, more_attempts, planting_attempts, granted_attempts)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_") and name not in ("call", "reached", "plant", "proxied")
    }
    assert written == set(CASES)
    assert [name for name, case in CASES.items() if case.outside == "root" and not case.why] == []
