"""What is blocked for good is blocked also where a program runs it by an option: in every row of the table, and under scripts of `awk` and `sed`."""

import shlex

import pytest

from neuralclaw.safety.running_options import rows
from neuralclaw.safety.shell import analyse
from neuralclaw.types.risk import Decision

from .parts import POLICY, WORKSPACE, FakeFacts, judge

pytestmark = pytest.mark.anyio
EXAMPLES = sorted({line for row in rows().values() for line in row.examples})


@pytest.mark.parametrize("line", EXAMPLES)
async def test_a_block_holds_in_what_an_option_runs(line: str) -> None:
    verdict = await judge(line, facts=FakeFacts(undo_covers=True))
    assert verdict.decision is Decision.FORBID, verdict.reasons


@pytest.mark.parametrize(
    "line",
    [
        """awk 'BEGIN{system("sudo ls")}'""",
        """awk '{print | "sudo ls"}' a""",
        """awk 'BEGIN{"rm -rf /" | getline}'""",
        "sed 'e sudo ls' a",
        "sed '1e rm -rf /' a",
        "sed 's/a/sudo ls/e' a",
        "sed -n 'w /dev/sda' a",
        "nice timeout 5 tar --to-command='rm -rf /' -xf a",
        'bash -c "sort --compress-program=sudo a"',
        "xargs git grep -O'sudo ls' < a",
    ],
)
async def test_a_block_holds_in_a_script_and_under_a_wrapper(line: str) -> None:
    assert (await judge(line, facts=FakeFacts(undo_covers=True))).decision is Decision.FORBID


@pytest.mark.parametrize(
    "line",
    [
        "git commit -m 'sudo is no longer needed'",
        "git grep sudo",
        "tar -cf sudo.tar src",
        "tar --exclude=sudo -cf a.tar .",
        "rg 'sudo ls' src",
        "awk '/sudo/ {print $1}' a",
        "sed 's/sudo //' a",
        "sort -k 2 sudo",
        "zip -r a.zip sudo",
        "find . -name sudo",
        "git -c user.name='sudo ls' log",
    ],
)
async def test_naming_a_blocked_program_is_not_running_it(line: str) -> None:
    assert (await judge(line, facts=FakeFacts(undo_covers=True))).decision is not Decision.FORBID


@pytest.mark.parametrize("line", ["poetry run pytest -q", "uv run ruff check .", "tar -I zstd -cf a.tar src", "rg --pre cat a"])
def test_a_program_that_runs_another_one_stays_one_program(line: str) -> None:
    found = analyse(line, cwd=WORKSPACE, workspace=WORKSPACE, policy=POLICY, env={})
    assert (found.simple, found.by_argv, len(found.commands)) == (True, True, 1)
    assert found.commands[0].argv == tuple(shlex.split(line))
