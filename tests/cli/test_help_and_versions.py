"""What stands on the command line: versions, help, wrong words. None of it needs a home."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neuralclaw._version import __version__

from .program import Claw

pytestmark = pytest.mark.anyio


def test_the_version_stands_in_one_place_and_in_the_package() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'version = "{__version__}"' in project


async def test_version_and_help_name_what_there_is(claw: Claw) -> None:
    version, page, group, one = [await claw(*words) for words in (["--version"], ["--help"], ["policy", "--help"], ["--home", "x", "run", "--help"])]
    assert (version.code, version.err) == (0, "")
    assert re.fullmatch(rf"neuralclaw {re.escape(__version__)}( \(source checkout(, [0-9a-f]{{7}})?\))?\n", version.out)
    assert page.code == 0
    for noun in ("run", "recover", "doctor", "config", "sessions", "approvals", "tools", "policy", "audit"):
        assert re.search(rf"^  {noun} ", page.out, re.MULTILINE)
    assert "neuralclaw policy explain" in group.out
    assert "example:" in one.out
    assert "--approvals" in one.out
    assert not list(claw.home.iterdir())


async def test_a_wrong_word_is_answered_with_the_nearest_and_exit_2(claw: Claw) -> None:
    for words, near in (
        (["sesions", "list"], "sessions"),
        (["sessions", "lst"], "list"),
        (["run", "--modle", "x", "task"], "--model"),
        (["run", "--output", "jsno", "task"], "json"),
        (["run", "--json", "task"], "--output json"),
        (["run", "--timeout", "-3", "task"], "above 0"),
        (["run", "--session", "a/b", "task"], "a/b"),
        (["sessions"], "list"),
    ):
        ran = await claw(*words)
        assert (ran.code, ran.out) == (2, ""), ran
        assert near in ran.err, ran
        assert "Traceback" not in ran.err


async def test_the_parser_speaks_in_sentences_of_its_own(claw: Claw) -> None:
    for words, told in (
        (["sessions", "show", "s", "--after", "x"], "--after: 'x' is not a whole number from 0"),
        (["audit", "show", "--after", "-1"], "--after: '-1' is not a whole number from 0"),
        (["sessions", "show", "s", "--after", "3.0"], "--after: '3.0' is not a whole number from 0"),
        (["audit", "show", "--after", str(2**63)], f"--after: {2**63} is larger than any number"),
        (["tools", "show"], "neuralclaw tools show needs NAME"),
        (["approvals", "answer"], "neuralclaw approvals answer needs ID and once|session|always|no"),
        (["run", "task", "--model"], "--model needs a value"),
        (["sessions", "list", "--json=yes"], "--json takes no value"),
    ):
        ran = await claw(*words)
        assert (ran.code, ran.out) == (2, ""), ran
        assert told in ran.err, ran
        assert "argument" not in ran.err, ran


async def test_a_word_of_the_task_does_not_make_a_failure_json(claw: Claw) -> None:
    for words in (["--output", "text", "--model", "nope:x", "json"], ["--input", "stream-json", "--output", "text", "--session", "a/b"]):
        ran = await claw("run", *words)
        assert not ran.err.startswith("{"), ran


async def test_what_is_not_available_yet_says_so(claw: Claw) -> None:
    for words in (
        ["memory", "list"],
        ["run", "--soul", "x", "task"],
        ["run", "--mode", "deliberate", "task"],
    ):
        ran = await claw(*words)
        assert (ran.code, ran.out) == (2, ""), ran
        assert "is not available yet" in ran.err


async def test_a_failure_with_json_is_one_object_on_standard_error(claw: Claw) -> None:
    ran = await claw("sessions", "show", "nobody", "--json")
    assert (ran.code, ran.out) == (2, "")
    error = json.loads(ran.err)["error"]
    assert error["kind"] == "SessionNotFound"
    assert "nobody" in error["text"]
    assert set(error) == {"kind", "text", "hint"}


async def test_an_empty_task_is_wrong_usage(claw: Claw) -> None:
    for words, stdin in ((["run"], b""), (["run", "-"], b" \n"), (["run", ""], b""), (["run", "--input", "stream-json"], b""), (["run"], None)):
        ran = await claw(*words, stdin=stdin)
        assert (ran.code, ran.out) == (2, ""), (words, ran)


@pytest.mark.full
def test_version_and_help_start_as_fast_as_promised(tmp_path: Path) -> None:
    def fastest(*words: str) -> float:
        times = []
        for _ in range(15):
            start = time.perf_counter()
            subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True, cwd=tmp_path)
            times.append(time.perf_counter() - start)
        return min(times)

    bare = fastest("-c", "pass")
    assert fastest("-m", "neuralclaw", "--version") <= 3 * bare
    assert fastest("-m", "neuralclaw", "--help") <= 3 * bare


def test_version_loads_no_parser_and_no_agent(tmp_path: Path) -> None:
    program = "import sys; before = set(sys.modules); from neuralclaw.cli.main import main; main(['--help']); print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"argparse", "asyncio", "anyio", "msgspec", "re", "typing", "neuralclaw.errors", "neuralclaw.app"}
