"""`agent.do` gives what `--json` prints, for every command; what a command does not take is refused."""

import argparse
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from neuralclaw import Agent
from neuralclaw.cli.main import GROUPS
from neuralclaw.cli.parsing import Command
from neuralclaw.errors import UsageError
from neuralclaw.testing import Reply, ScriptedProvider

from .program import Claw

pytestmark = pytest.mark.anyio


class Case(NamedTuple):
    """A command's words behind its name, the arguments of its verb, and what differs from one call to the next."""

    words: tuple[str, ...] = ()
    arguments: dict[str, Any] = {}  # noqa: RUF012  # never changed
    varies: str = "(?!)"


# Every command with `--json`. QUESTION and FOLDER stand for what the prepared home has.
TIMES = r'"(time|session|created|updated)": "[^"]*"|"(seq|entry|duration_ms)": \d+'
CASES: dict[str, Case | str] = {
    "sessions list": Case(),
    "sessions show": Case(("s",), {"session": "s"}),
    "approvals list": Case(),
    "approvals show": Case(("QUESTION",), {"approval_id": "QUESTION"}),
    "approvals answer": "changes the home: the test below compares it",
    "tools list": Case(),
    "tools show": Case(("bash",), {"name": "bash"}),
    "tools call": Case(
        ("calculate", '{"expression": "6*7"}', "--session", "t"), {"name": "calculate", "arguments": {"expression": "6*7"}, "session": "u"}, TIMES
    ),
    "policy explain": Case(("--command", "git push"), {"command": "git push"}),
    "policy check": Case(("FOLDER/rules.yaml",), {"file": "FOLDER/rules.yaml"}),
    "policy simulate": "is not available yet",
    "policy rules": Case(),
    "audit verify": Case(),
    "audit show": Case(("--session", "s"), {"session": "s"}),
    "config show": Case(),
    "config check": Case(),
    "config schema": Case(),
    "config path": Case(),
    "doctor": Case((), {}, r"[\d,]+ MB free|\d+ ms"),
    "init": "asks a person and writes the configuration that an agent is opened with",
}


def with_json() -> dict[str, Command]:
    """The commands that have `--json`."""
    found = {}
    for noun, file in GROUPS.items():
        for command in import_module(f"neuralclaw.cli.{file}").COMMANDS:
            parser = argparse.ArgumentParser()
            if command.options is not None:
                command.options(parser)
            if any("--json" in action.option_strings for action in parser._actions):
                found[command.name] = command
                assert command.name.split()[0] == noun
    return found


def test_every_command_with_json_is_in_the_table() -> None:
    assert set(with_json()) == set(CASES)


async def opened(claw: Claw) -> Any:
    return Agent.open(home=claw.home, workspace=claw.workspace, environ=claw.env)


async def prepared(claw: Claw) -> str:
    """A home with a finished session `s` and a question that waits in `p`; the question's id."""
    (claw.home / "config.yaml").write_text("llm: {temperature: 0.2}\n")
    (claw.workspace / "rules.yaml").write_text("- {id: none, decision: forbid, tool: terminal}\n")
    remove = Reply("", tool_calls=[{"name": "delete_file", "arguments": {"path": "rules.yaml"}}])
    async with Agent.open(home=claw.home, workspace=claw.workspace, environ=claw.env, provider=ScriptedProvider("hello", remove)) as agent:
        await agent.ask("say hello", session="s", model="mine:one")
        waiting = (await agent.ask("remove the rules", session="p", approvals="park", model="mine:one")).waiting
    return waiting[0]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if isinstance(case, Case)])
async def test_python_and_the_command_line_give_the_same_value(claw: Claw, name: str) -> None:
    case = CASES[name]
    assert isinstance(case, Case)
    known = {"QUESTION": await prepared(claw), "FOLDER": str(claw.workspace)}

    def filled(text: Any) -> Any:
        return re.sub("|".join(known), lambda found: known[found[0]], text) if isinstance(text, str) else text

    async with await opened(claw) as agent:
        value = await agent.do(name.replace(" ", "."), **{key: filled(argument) for key, argument in case.arguments.items()})
    ran = await claw(*name.split(), *map(filled, case.words), "--json")
    assert ran.out, ran
    assert re.sub(case.varies, "…", json.dumps(value)) == re.sub(case.varies, "…", json.dumps(ran.json))


async def test_an_answer_gives_the_same_value_either_way(claw: Claw) -> None:
    question = await prepared(claw)
    async with await opened(claw) as agent:
        value = await agent.do("approvals.answer", approval_id=question, decision="no")
    (claw.home.parent / "second").mkdir(mode=0o700)
    second = Claw(claw.home.parent / "second", claw.workspace)
    again = await prepared(second)
    printed = (await second("approvals", "answer", again, "no", "--json")).json
    assert value | {"approval_id": again} == printed


async def test_what_prints_lines_or_text_is_a_value_too(claw: Claw) -> None:
    await prepared(claw)
    async with await opened(claw) as agent:
        assert await agent.do("audit.export") == (await claw("audit", "export")).lines
        assert await agent.do("config.example") == (await claw("config", "example")).out


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("sessions.lits", {}, "did you mean 'sessions.list'"),
    ("", {}, "there is no command"),
    ("sessions.show", {}, "needs the argument 'session'"),
    ("sessions.show", {"sesion": "s"}, "has no argument 'sesion'; did you mean 'session'"),
    ("sessions.show", {"session": 5}, "session of sessions.show cannot be 5"),
    ("sessions.show", {"session": "s", "after": "1"}, "after of sessions.show cannot be '1'"),
    ("sessions.list", {"unfinished": "yes"}, "unfinished of sessions.list"),
    ("tools.list", {"name": "x"}, "has no argument 'name'"),
    ("tools.call", {"name": "calculate", "arguments": "6*7"}, "arguments of tools.call"),
    ("approvals.answer", {"approval_id": "x"}, "needs the argument 'decision'"),
    ("policy.explain", {"comand": "ls"}, "cannot be explained"),
    ("policy.explain", {"command": 5}, "cannot be explained"),
]


@pytest.mark.parametrize(("verb", "arguments", "words"), WRONG)
async def test_a_command_that_is_not_there_or_takes_no_such_argument_is_a_usage_error(claw: Claw, verb: str, arguments: dict[str, Any], words: str) -> None:
    async with await opened(claw) as agent:
        with pytest.raises(UsageError, match=re.escape(words)):
            await agent.do(verb, **arguments)
        assert await agent.do("sessions.list") == []


async def test_a_path_object_is_a_path_for_a_command(claw: Claw) -> None:
    await prepared(claw)
    async with await opened(claw) as agent:
        assert await agent.do("policy.check", file=Path(claw.workspace) / "rules.yaml") == {"ok": True, "errors": []}
