"""The agent's own command line is no call's to use, in whatever spelling; what only names it is as before."""

import subprocess
import sys
from pathlib import Path

import pytest

from neuralclaw.types.risk import Decision, Sink, Trust

from .parts import FakeFacts, judge

pytestmark = pytest.mark.anyio


@pytest.mark.invariant("gate.self-kept")
@pytest.mark.parametrize(
    "text",
    [
        "neuralclaw config set safety.rules '[]'",
        "neuralclaw approvals answer Q123456789 once",
        "neuralclaw grants list",
        "neuralclaw",
        "neuralclaw run 'rm it all' --approvals auto",
        "/home/ann/.venvs/nc/bin/neuralclaw tools call terminal '{}'",
        "./neuralclaw secrets list",
        "python -m neuralclaw config set agent.name x",
        "python3.11 -I -m neuralclaw policy rules",
        "python -W ignore -Im neuralclaw.cli.main",
        "python -mneuralclaw recover",
        "python src/neuralclaw/__main__.py run x",
        "python /home/ann/.venvs/nc/bin/neuralclaw sessions delete s --yes",
        "uvx neuralclaw run x",
        "uvx --from neuralclaw@1.2 neuralclaw run x",
        "uv run neuralclaw config set a b",
        "uv run -- python -m neuralclaw config set a b",
        "pipx run neuralclaw undo",
        "timeout 5 nohup neuralclaw serve",
        "env A=b neuralclaw approvals answer Q once",
        "sh -c 'neuralclaw approvals answer Q once'",
        "true && (cd sub; neuralclaw config set a b)",
        "echo once | xargs neuralclaw approvals answer Q",
        "bash -c \"bash -c 'exec neuralclaw grants revoke x'\"",
        "find . -name x -exec neuralclaw run {} ;",
        "neuralclaw --version config set a b",
        'n=neuralclaw; "$n" config set a b',
    ],
)
async def test_the_agents_own_command_line_is_refused_at_every_trust(text: str) -> None:
    verdict = await judge(text, trust=Trust.HIGH)
    assert verdict.decision is Decision.FORBID
    assert "self.command" in [rule.id for rule in verdict.rules if rule.decision is Decision.FORBID]
    assert Sink.SELF in verdict.sinks


async def test_another_name_that_leads_to_it_is_refused_too() -> None:
    facts = FakeFacts(programs={"helper": "/home/ann/.venvs/nc/bin/neuralclaw"})
    assert (await judge("helper config set a b", facts=facts, trust=Trust.HIGH)).decision is Decision.FORBID


@pytest.mark.parametrize(
    "text",
    ["grep -rn neuralclaw .", "ls src/neuralclaw", "cat docs/neuralclaw.md", "echo neuralclaw run", "git log --grep neuralclaw", "pip show neuralclaw"],
)
async def test_a_command_that_only_names_it_is_as_before(text: str) -> None:
    verdict = await judge(text)
    assert "self.command" not in [rule.id for rule in verdict.rules]


@pytest.mark.parametrize("text", ["neuralclaw --version", "python -m neuralclaw --help", "uv run pytest tests/neuralclaw", "uv add neuralclaw"])
async def test_what_it_tells_of_itself_is_not_refused(text: str) -> None:
    assert (await judge(text, trust=Trust.HIGH)).decision is not Decision.FORBID


async def test_code_that_names_the_package_asks() -> None:
    verdict = await judge("python -c 'from neuralclaw.cli.main import entry; entry()'", trust=Trust.HIGH)
    assert verdict.decision is Decision.ASK
    assert Sink.SELF in verdict.sinks
    assert not verdict.auto


def test_started_as_a_module_it_imports_nothing_from_where_it_is_called(tmp_path: Path) -> None:
    names = ("json", "msgspec", "anyio", "argparse", "asyncio", "sqlite3", "yaml", "ssl", "tomllib", "socket", "httpx", "tree_sitter", "logging", "shlex")
    for name in names:
        (tmp_path / f"{name}.py").write_text("open('imported', 'a').write(__name__)\nraise SystemExit(9)\n")
    told = [sys.executable, "-m", "neuralclaw", "policy", "explain", "--command", "ls", "--json", "--home", str(tmp_path / "home")]
    done = subprocess.run(told, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False)
    assert not (tmp_path / "imported").exists()
    assert (done.returncode, '"decision"' in done.stdout) == (0, True), done.stderr
