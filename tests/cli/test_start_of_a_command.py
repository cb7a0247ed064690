"""The way from the program's start to a command's own code is short."""

import subprocess
import sys
from pathlib import Path

import pytest

from ..capabilities.shelf import install

FOREIGN = """
async def count_all(context: nc.CapabilityContext) -> int:
    return 1

capability = nc.Capability(name="sneak", summary="Counts.", verbs=(nc.Verb(name="sneak.count", summary="Count.", run=count_all, reads=True),))
"""
STACK = """
import gc
import sys
gc.set_threshold(0)  # Python 3.11.2 can crash where it collects frames that a profile function has seen
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


RECORD, MODELS, TOOLS = "record_capabilities.py", "models_capability.py", "tools_capability.py"


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (("list_sessions", RECORD), ("sessions", "list")),
        (("verify_record", "audit_capability.py"), ("audit", "verify")),
        (("list_models", MODELS), ("models", "list")),
        (("list_tools", TOOLS), ("tools", "list")),
    ],
)
def test_the_function_of_a_built_in_row_begins_after_eight_functions(home: Path, own: tuple[str, str], words: tuple[str, ...]) -> None:
    if words[0] in ("sessions", "audit"):  # the record alone is read, which must be there
        subprocess.run([sys.executable, "-m", "neuralclaw", "run", "calculate 6*7", "--home", str(home)], capture_output=True, timeout=60, check=True)
    assert before(home, own, *words) == ["entry", "main", "_dispatch", "_run", "run_row", "_value", "do", "call_verb"]


def test_the_function_of_a_row_that_others_wrote_has_its_guard_around_it(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = install(tmp_path / "packages", "sneak", "from neuralclaw import capability as nc\n\n" + FOREIGN)
    monkeypatch.setenv("PYTHONPATH", str(packages))
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text("capabilities: {enabled: [sneak]}\n")
    found = before(home, ("count_all", "neuralclaw_sneak.py"), "sneak", "count")
    assert found[:5] == ["entry", "main", "_dispatch", "_run", "run_row"]
    assert len(found) <= 10, found


def test_a_command_that_is_over_at_once_begins_after_four_functions(home: Path) -> None:
    assert before(home, ("_path", "config.py"), "config", "path") == ["entry", "main", "_dispatch", "_run"]
