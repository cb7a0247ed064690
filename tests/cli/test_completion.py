"""Completion in real shells: words, options, and values that are looked up."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from neuralclaw.cli.completion import offers
from neuralclaw.cli.main import built_in_nouns

from .program import Claw, Terminal

pytestmark = pytest.mark.anyio

SHELLS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}


async def prepared(claw: Claw) -> dict[str, str]:
    """A home with the session `mysession`, a model of one's own, and the program on the path; the environment of its shell."""
    assert (await claw("run", "calculate 6*7", "--session", "mysession")).code == 0
    (claw.home / "config.yaml").write_text("llm: {providers: {mine: {base_url: 'http://127.0.0.1:1/v1', models: {big: {}}}}}\n")
    (claw.workspace / "folder" / "inner").mkdir(parents=True)
    return claw.env | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PS1": "> ", "COLUMNS": "200"}


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_line_is_completed_to_a_command_that_runs(claw: Claw, shell: str) -> None:
    env = await prepared(claw)
    with Terminal(["/usr/bin/env", *SHELLS[shell]], str(claw.workspace), env) as terminal:
        terminal.type(f'eval "$(neuralclaw completion {shell})"; echo re""ady\n')
        terminal.until("ready")
        terminal.type("neuralclaw sess\tsh\tmys\t--js\t\n")
        terminal.until('"session":"mysession"')
        terminal.type("neuralclaw run --mod\tmine:b\t--work\tfol\t --help; echo a line of $?\n")
        terminal.until("usage: neuralclaw run")
        terminal.until("a line of 0")
        line = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x08", "", terminal.seen)
        assert re.search(r"run +--model +mine:big +--workspace +folder/* ", line), terminal.seen
        terminal.type("neuralclaw policy explain --trust=m\t--op=wr\t--path x --json\n")
        terminal.until('"decision"')
        terminal.type("neuralclaw --home folder sess\tli\t; echo the end of $?\n")
        terminal.until("the end of 0")
        terminal.type("exit\n")
        terminal.end()


async def test_fish_offers_words_options_and_values(claw: Claw) -> None:
    env = await prepared(claw)

    def offered(line: str) -> set[str]:
        program = f"neuralclaw completion fish | source; complete -C {json.dumps(line)}"
        done = subprocess.run(["fish", "--no-config", "-c", program], env=env, cwd=claw.workspace, capture_output=True, text=True, timeout=20, check=True)
        assert done.stderr == ""
        return {word.split("\t")[0] for word in done.stdout.splitlines()}

    assert offered("neuralclaw ") >= set(built_in_nouns())
    assert offered("neuralclaw sessions sh") == {"show"}
    assert offered("neuralclaw sessions show ") == {"mysession"}
    assert {"--json", "--after"} <= offered("neuralclaw sessions show mysession --")
    assert offered("neuralclaw run --model m") == {"mine:big"}
    assert offered("neuralclaw run --approvals p") == {"park"}
    assert offered("neuralclaw run --workspace f") == {"folder/"}
    assert offered("neuralclaw --home . approvals answer x o") == {"once"}


async def test_every_command_and_option_stands_in_each_script(claw: Claw) -> None:
    for shell in ("bash", "zsh", "fish"):
        script = (await claw("completion", shell)).out
        for offer in offers():
            assert all(word in script for word in offer.name.split())
            names = [name for option in offer.options for name in option.names if len(name) > 2]
            assert all(re.search(rf"(?<![\w-])(--|-l ){re.escape(name[2:])}(?![\w-])", script) for name in names), offer.name


async def test_an_option_that_takes_a_value_takes_one_in_every_command() -> None:
    options = {(name, option.value is not None) for offer in offers() for option in offer.options for name in option.names}
    assert len({name for name, _ in options}) == len(options)


async def test_what_is_looked_up_is_printed_a_line_each_and_writes_nothing(claw: Claw) -> None:
    models = await claw("completion", "--values", "models", env={"OPENAI_API_KEY": "sk-1"})
    assert (models.code, models.out) == (0, "openai:gpt-4o\noffline\n")
    settings = (await claw("completion", "--values", "settings")).out.splitlines()
    assert {"llm.temperature", "agent.name"} <= set(settings)
    for kind in ("sessions", "approvals", "grants"):
        nothing = await claw("completion", "--values", kind)
        assert (nothing.code, nothing.out) == (0, "")
    assert list(claw.home.iterdir()) == []


async def test_a_shell_that_has_no_script_is_wrong_usage(claw: Claw) -> None:
    ran = await claw("completion", "tcsh")
    assert (ran.code, ran.out) == (2, "")
    assert "bash, zsh, fish" in ran.err
    assert (await claw("completion", env={"SHELL": "/usr/bin/zsh"})).out.startswith("#compdef neuralclaw")
