"""The way from the program's start to a command's own code is short."""

import subprocess
import sys
from pathlib import Path

import pytest

STACK = """
import sys
from neuralclaw.cli import main

def look(frame, event, argument):
    code = frame.f_code
    if event == "call" and (code.co_name, code.co_filename.rpartition("/")[2]) == {own!r}:
        sys.setprofile(None)
        names = []
        while (frame := frame.f_back) is not None:
            if "neuralclaw" in frame.f_code.co_filename:
                names.insert(0, frame.f_code.co_name)
        print(*names, file=sys.stderr)

sys.setprofile(look)
main.entry()
"""


def before(home: Path, own: tuple[str, str], *words: str) -> list[str]:
    """The functions of the program that are under way when the command's own begins: `own` is its name and its file."""
    program = [sys.executable, "-c", STACK.format(own=own), *words, "--home", str(home)]
    done = subprocess.run(program, input="", capture_output=True, text=True, timeout=60, check=False)
    return done.stderr.splitlines()[0].split()


@pytest.mark.parametrize(
    ("own", "words"),
    [(("_run", "run.py"), ("run", "calculate 6*7")), (("_recover", "recover.py"), ("recover",)), (("_call", "tool_commands.py"), ("tools", "call", "echo"))],
)
def test_a_command_that_takes_its_time_begins_after_six_functions(home: Path, own: tuple[str, str], words: tuple[str, ...]) -> None:
    assert before(home, own, *words) == ["entry", "main", "_dispatch", "_run", "run_command", "serve"]


def test_a_command_that_is_over_at_once_begins_after_four_functions(home: Path) -> None:
    assert before(home, ("_path", "config.py"), "config", "path") == ["entry", "main", "_dispatch", "_run"]
