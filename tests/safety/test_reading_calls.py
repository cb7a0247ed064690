"""Programs with subcommands: a call is LOW where its subcommand stands first, each option is on the list of that subcommand, and so are its operands."""

from pathlib import Path

import msgspec
import pytest

from neuralclaw.errors import ConfigError
from neuralclaw.safety.reading_calls import TABLE, checked_calls, refused_words
from neuralclaw.safety.shell_words import ShellWord
from neuralclaw.types.risk import Risk

from .fuzz_run import LineJudge

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "command",
    [
        "git config core.hooksPath list",
        "git config alias.get list",
        "git --null config core.pager get",
        "git remote add get-url x",
        "git remote -v add get-url x",
        "git branch --sort=refname new",
        "git tag --format x new HEAD",
        "git stash list --output=new",
        "git stash show -p --output=new",
        "git reflog -n 1 expire",
        "git log --min-parents --output=new",
        "git diff -U --output=new",
        "git diff -M --output=new",
        "git --bare log",
        "git nonsense",
        "apt list -o Dir::Bin::dpkg=./x.sh",
        "apt-cache search x -o Dir::Cache=.",
        "mount -l --bind a b",
        "rpm -qa --pipe 'touch new'",
        "sysctl -a -w kernel.x=1",
        "sysctl -a kernel.hostname=x",
        "ip -s -batch y.txt",
        "ip a a 192.0.2.1 dev lo",
        "ip link s lo do",
        "route -n add default gw 192.0.2.1",
        "arp -n -d 192.0.2.1",
        "ifconfig -a lo down",
        "hostname -s new",
        "crontab -l -r",
        "crontab",
        "timedatectl status set-time 12:00",
        "dpkg -l -i x.deb",
        "systemctl status -H evil@host",
        "docker ps -H tcp://x",
        "pip list --log new",
        "pip list --python ./x.sh",
        "npm ls --logs-dir=new",
        "cargo locate-project --config x",
        "go version ./x",
    ],
)
async def test_what_stands_behind_a_subcommand_and_is_not_on_its_list_is_not_low(tmp_path: Path, command: str) -> None:
    assert (await LineJudge(tmp_path).judge(command)).risk is not Risk.LOW


@pytest.mark.parametrize("command", ["git diff /elsewhere/x a", "git grep -f ../x", "git blame --ignore-revs-file=../x a", "git blame ../x", "git log -- ../x"])
async def test_a_file_outside_that_git_is_told_to_read_is_a_read_outside(tmp_path: Path, command: str) -> None:
    assert "path.outside" in [rule.id for rule in (await LineJudge(tmp_path / "work").judge(command)).rules]


def test_no_option_of_a_list_takes_another_option_for_its_value() -> None:
    for row in TABLE.calls:
        program, *sub = row.names[0].split()
        for option in (*(f"-{letter}" for letter in row.flags + row.valued + row.joined), *(f"--{name}" for name in (*row.long, *row.long_valued)), *row.exact):
            words = [ShellWord(word) for word in (*sub, option, "--another-option", "x")]
            assert refused_words(program, words), (row.names, option)


def test_a_row_whose_example_is_read_otherwise_is_refused() -> None:
    row = TABLE.calls[0]
    with pytest.raises(ConfigError, match=r"reading_calls\.json, calls\[0\]\.examples \(git log --output=x\): it is not LOW"):
        checked_calls([msgspec.structs.replace(row, examples={"git log --output=x": Risk.LOW})])
