"""Every command that the program prints for a person opens the home that the program was started with."""

import shlex
from functools import partial
from pathlib import Path

import pytest

from neuralclaw.channels import command_hints
from neuralclaw.channels.command_hints import typed
from neuralclaw.cli.main import is_noun

from .emulator import CTRL_D, Screen
from .model import served
from .program import Claw

pytestmark = pytest.mark.anyio


@pytest.fixture
def elsewhere(claw: Claw, tmp_path: Path) -> Claw:
    """The program in a world where only `--home` leads to the home of `claw`."""
    claw.home = tmp_path / "a home's dir"
    claw.home.mkdir()
    claw.env["NEURALCLAW_HOME"] = str(tmp_path / "another")
    return claw


def commands(text: str) -> list[str]:
    return [line[line.index("neuralclaw ") :] for line in text.splitlines() if "neuralclaw " in line]


async def test_the_printed_way_back_of_a_parked_task_works_as_it_stands(elsewhere: Claw) -> None:
    home = str(elsewhere.home)
    ran = await elsewhere("--home", home, "run", "--approvals", "park", "--trust", "low", "run rm -r gone")
    assert ran.code == 3, ran
    answer, resume = commands(ran.err)[-2:]
    for command in (answer, resume):
        assert command.startswith(f"neuralclaw --home {shlex.quote(home)} "), ran
    done = await elsewhere(*shlex.split(answer.split("|")[0])[1:-1], "no")
    assert done.code == 0, done
    assert commands(done.out)[0] == resume
    assert "a program answered no" in (await elsewhere(*shlex.split(resume)[1:])).out


async def test_hints_of_errors_and_of_doctor_name_the_home(elsewhere: Claw) -> None:
    home = str(elsewhere.home)
    missing = await elsewhere("sessions", "show", "nothing", "--home", home)
    assert f"   neuralclaw --home {shlex.quote(home)} sessions list" in missing.err
    assert f"neuralclaw --home {shlex.quote(home)} " in (await elsewhere("models", "list", "--home", home)).err
    plain = await elsewhere("sessions", "show", "nothing")
    assert "   neuralclaw sessions list" in plain.err


async def test_the_chat_says_how_to_come_back_to_this_home(elsewhere: Claw) -> None:
    home = str(elsewhere.home)
    with served(elsewhere.home) as model, Screen(elsewhere, "--home", home, columns=200) as chat:
        chat.until("context 0 %")
        chat.type("begin\r")
        model.say("Yes.")
        model.done()
        chat.until("Yes.", "context 10 %")
        chat.type(CTRL_D)
        assert chat.end() == 0
        assert f"Resume with: neuralclaw --home {shlex.quote(home)} --resume " in chat.text


async def test_commands_of_capabilities_and_completion_name_the_home_and_a_sentence_about_the_program_does_not(tmp_path: Path) -> None:
    home = str(tmp_path)
    command_hints.opened(home, partial(is_noun, home))
    try:
        assert typed("neuralclaw completion bash") == f"neuralclaw --home {home} completion bash"
        assert typed("try neuralclaw models list") == f"try neuralclaw --home {home} models list"
        assert typed("neuralclaw is not installed; neuralclaw reading add X") == "neuralclaw is not installed; neuralclaw reading add X"
    finally:
        command_hints.opened(None, bool)
