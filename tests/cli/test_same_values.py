"""`agent.do` gives what `--json` prints, for every command; what a command does not take is refused."""

import argparse
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from neuralclaw import Agent
from neuralclaw.cli.completion import built_in
from neuralclaw.cli.parsing import Command
from neuralclaw.errors import AgentError, UsageError
from neuralclaw.testing import FunctionProvider, Reply, ScriptedProvider

from .program import Claw

pytestmark = pytest.mark.anyio


class Case(NamedTuple):
    """A command's words behind its name, the arguments of its verb, and what differs from one call to the next."""

    words: tuple[str, ...] = ()
    arguments: dict[str, Any] = {}  # noqa: RUF012  # never changed
    varies: str = "(?!)"


CHANGES = "changes the home: the table CHANGING has it"
# Every command with `--json`. QUESTION and FOLDER stand for what the prepared home has.
TIMES = r'"(time|session|created|updated|since)": "[^"]*"|"(seq|entry|duration_ms)": \d+'
CASES: dict[str, Case | str] = {
    "sessions list": Case(),
    "sessions show": Case(("s",), {"session": "s"}),
    "sessions delete": CHANGES,
    "sessions export": Case(("s",), {"session": "s"}),
    "sessions search": Case(("hello",), {"text": "hello"}),
    "sessions send": CHANGES,
    "sessions cancel": CHANGES,
    "sessions rename": CHANGES,
    "sessions compact": CHANGES,
    "sessions fork": CHANGES,
    "sessions import": CHANGES,
    "approvals list": Case(),
    "approvals show": Case(("QUESTION",), {"approval_id": "QUESTION"}),
    "approvals answer": CHANGES,
    "tools list": Case(),
    "tools show": Case(("bash",), {"name": "bash"}),
    "tools call": Case(
        ("calculate", '{"expression": "6*7"}', "--session", "t"),
        {"name": "calculate", "arguments": {"expression": "6*7"}, "session": "u"},
        rf"{TIMES}|direct-[a-z2-9]{{10}}",
    ),
    "policy explain": Case(("--command", "git push"), {"command": "git push"}),
    "policy check": Case(("FOLDER/rules.yaml",), {"file": "FOLDER/rules.yaml"}),
    "policy simulate": Case(("FOLDER/rules.yaml",), {"file": "FOLDER/rules.yaml"}),
    "policy suggest": Case(("--least", "1"), {"least": 1}),
    "policy rules": Case(),
    "audit verify": Case(),
    "undo": Case(("--session", "s"), {"session": "s"}),
    "redo": Case(("--session", "s"), {"session": "s"}),
    "diff": Case(("--session", "s"), {"session": "s"}),
    "audit show": Case(("call_2_0", "--session", "g"), {"call_id": "call_2_0", "session": "g"}),
    "audit anchor": CHANGES,
    "config show": Case(),
    "config check": Case(),
    "config schema": Case(),
    "config path": Case(),
    "config example": Case(),
    "config set": CHANGES,
    "models list": Case(),
    "models show": Case(("offline",), {"model": "offline"}),
    "models try": "calls models: its own tests compare it",
    "cost": Case(),
    "grants list": Case(),
    "grants add": CHANGES,
    "grants revoke": CHANGES,
    "hooks list": Case(),
    "hooks test": "needs a hook, and tells how long its run took: tests/hooks",
    "hooks pin": "needs a hook: docs/hooks.md runs it in a shell, tests/hooks in Python",
    "secrets list": Case(),
    "secrets set": "reads standard input: its own tests compare it",
    "secrets remove": "needs a secret: its own tests compare it",
    "sandbox build": "needs a container engine: its own tests compare it",
    "backup": "makes another directory each time: its own tests run both",
    "restore": "refused while an agent has the home open: its own tests run both",
    "doctor": Case((), {}, r"[\d,]+ MB free|\d+ ms"),
    "init": "asks a person and writes the configuration that an agent is opened with",
}


CHANGING = {
    "approvals answer": Case(("QUESTION", "no"), {"approval_id": "QUESTION", "decision": "no"}),
    "sessions send": Case(("w", "calculate 6*7"), {"session": "w", "text": "calculate 6*7"}, TIMES),
    "sessions cancel": Case(("p",), {"session": "p"}),
    "sessions delete": Case(("s", "--yes"), {"session": "s", "yes": True}),
    "sessions fork": Case(("s", "--to", "other"), {"session": "s", "to": "other"}),
    "sessions import": Case(("EXPORTED", "--to", "other"), {"file": "EXPORTED", "to": "other"}),
    "sessions compact": Case(("s",), {"session": "s"}),
    "sessions rename": Case(("s", "The boiler"), {"session": "s", "title": "The boiler"}),
    "config set": Case(("llm.temperature", "0.3"), {"key": "llm.temperature", "value": "0.3"}),
    "audit anchor": Case(("--accept",), {"accept": True}, r'"(head|place)": "[^"]*"'),
    "grants add": Case(("read", "/srv", "--for", "1h"), {"op": "read", "what": "/srv", "lasting": "1h"}, r'"(grant_id|since|until|covers)": "[^"]*"'),
    "grants revoke": Case(("GRANT",), {"grant_id": "GRANT"}, TIMES),
}


def with_json() -> dict[str, Command]:
    """The commands that have `--json`."""
    found = {}
    for command in built_in():
        parser = argparse.ArgumentParser()
        if command.options is not None:
            command.options(parser)
        if any("--json" in action.option_strings for action in parser._actions):
            found[command.name] = command
    return found


def test_every_command_with_json_is_in_the_table() -> None:
    assert set(with_json()) == set(CASES)


async def opened(claw: Claw) -> Any:
    return Agent.open(home=claw.home, workspace=claw.workspace, environ=claw.env)


async def prepared(claw: Claw) -> str:
    """A home with a finished session `s`, a standing grant of the session `g`, and a question that waits in `p`; the question's id."""
    (claw.home / "config.yaml").write_text("llm: {temperature: 0.2}\n")
    (claw.workspace / "rules.yaml").write_text("- {id: none, decision: forbid, tool: terminal}\n")
    (claw.workspace / "old.txt").write_text("old")
    old, rules = ({"name": "delete_file", "arguments": {"path": path}} for path in ("old.txt", "rules.yaml"))
    model = ScriptedProvider("hello", Reply(tool_calls=[old]), "removed", Reply(tool_calls=[rules]))
    async with Agent.open(home=claw.home, workspace=claw.workspace, environ=claw.env, provider=model) as agent:
        await agent.ask("say hello", session="s", model="offline")
        [asked] = (await agent.ask("remove it", session="g", approvals="park", model="offline")).waiting
        await agent.answer(asked, "session")
        async with agent.resume("g") as events:
            assert [event async for event in events][-1].status == "done"
        waiting = (await agent.ask("remove the rules", session="p", approvals="park", model="offline")).waiting
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


@pytest.mark.parametrize("name", CHANGING)
async def test_a_command_that_changes_the_home_gives_the_same_value_either_way(claw: Claw, name: str) -> None:
    case = CHANGING[name]
    (claw.home.parent / "second").mkdir(mode=0o700)
    second = Claw(claw.home.parent / "second", claw.workspace)
    found = []
    for one in (claw, second):
        question = await prepared(one)
        assert (await one("run", "calculate 1+1", "--session", "w")).code == 0
        async with await opened(one) as agent:
            [grant] = await agent.do("grants.list")
            known = {"QUESTION": question, "GRANT": str(grant["grant_id"]), "EXPORTED": str(claw.workspace / "exported.json")}
            if one is claw:
                await agent.do("sessions.export", session="s", output=known["EXPORTED"])
                found.append(await agent.do(name.replace(" ", "."), **{key: known.get(text, text) for key, text in case.arguments.items()}))
        if one is second:
            ran = await one(*name.split(), *[known.get(word, word) for word in case.words], "--json")
            assert ran.out, ran
            found.append(ran.json)
        found[-1] = re.sub(rf"{case.varies}|{'|'.join(known.values())}|{one.home}", "…", json.dumps(found[-1]))
    assert found[0] == found[1]


def test_every_command_that_changes_the_home_is_compared() -> None:
    assert set(CHANGING) == {name for name, case in CASES.items() if case is CHANGES}


async def test_what_prints_lines_is_a_list_too(claw: Claw) -> None:
    await prepared(claw)
    async with await opened(claw) as agent:
        assert await agent.do("audit.export") == (await claw("audit", "export")).lines
        assert await agent.do("recover") == (await claw("recover", "--output", "stream-json")).lines == []


async def test_a_task_gives_the_same_value_either_way(claw: Claw) -> None:
    async with await opened(claw) as agent:
        value = await agent.do("run", task="calculate 6*7", session="a", max_iterations=3)
        with pytest.raises(UsageError, match="nonsense"):
            await agent.do("run", task="calculate 6*7", nonsense=3)
    printed = (await claw("run", "calculate 6*7", "--session", "b", "--output", "json")).json
    assert (value["type"], value["text"]) == ("turn.finished", "42")
    assert re.sub(TIMES, "…", json.dumps(value)) == re.sub(TIMES, "…", json.dumps(printed))


async def test_recovering_gives_the_events_that_it_prints(claw: Claw) -> None:
    async def stopped(session: str) -> None:
        begun = anyio.Event()

        async def model(request: object) -> str:
            begun.set()
            await anyio.sleep_forever()
            return ""

        async with Agent.open(home=claw.home, workspace=claw.workspace, environ=claw.env, provider=FunctionProvider(model)) as agent:
            async with anyio.create_task_group() as tasks:

                async def asked() -> None:
                    with pytest.raises(AgentError):
                        await agent.ask("calculate 6*7", session=session)

                tasks.start_soon(asked)
                await begun.wait()
                agent.closing()

    await stopped("r")
    async with Agent.open(home=claw.home, workspace=claw.workspace, environ=claw.env, provider=ScriptedProvider("done")) as agent:
        events = await agent.do("recover")
    assert events[-1] | {"time": "", "duration_ms": 0} == events[-1] | {"type": "turn.finished", "text": "done", "time": "", "duration_ms": 0}
    assert events[0]["session"] == "r"


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("sessions.lits", {}, "did you mean 'sessions.list'"),
    ("", {}, "there is no command"),
    ("memory.search", {"query": "x"}, "memory.search is not available yet"),
    ("memory", {}, "memory is not available yet"),
    ("undo", {"turn": 0}, "turn of undo cannot be 0"),
    ("recover", {"approvals": "maybe"}, "approvals of recover cannot be 'maybe'"),
    ("run", {"task": " \n"}, "the message is empty"),
    ("run", {"task": "x", "trst": "low"}, "run has no argument 'trst'; did you mean 'trust'"),
    ("run", {"task": "x", "timeout": "5"}, "timeout of run cannot be '5'"),
    ("run", {"task": "x", "images": 5}, "images cannot be 5"),
    ("models.try", {}, "needs the argument 'models'"),
    ("models.try", {"models": "offline"}, "models of models.try cannot be 'offline'"),
    ("models.try", {"models": ["offline"], "task": "x"}, "models.try has no argument 'task'; did you mean 'tasks'"),
    ("models.try", {"models": ["offline"], "tasks": 5}, "tasks of models.try cannot be 5"),
    ("models.try", {"models": ["offline"], "tasks": ["nothing"]}, "there is no task 'nothing'"),
    ("models.try", {"models": ["offline"], "timeout": "5"}, "timeout of models.try cannot be '5'"),
    ("models.try", {"models": ["offline"], "timeout": -1}, "timeout cannot be -1"),
    ("models.try", {"models": ["offline"], "runs": 1.5}, "runs of models.try cannot be 1.5"),
    ("models.try", {"models": ["offline"], "runs": 0}, "runs cannot be 0"),
    ("models.try", {"models": ["offline"], "keep": 5}, "keep of models.try cannot be 5"),
    ("models.try", {"models": ["offline"], "seed": 5}, "seed of models.try cannot be 5"),
    ("models.try", {"models": ["offline"], "progress": 5}, "progress of models.try cannot be 5"),
    ("models.try", {"models": []}, "there is no model to try"),
    ("approvals.show", {}, "needs the argument 'approval_id'"),
    ("sessions.show", {"sesion": "s"}, "has no argument 'sesion'; did you mean 'session'"),
    ("sessions.show", {"session": 5}, "session of sessions.show cannot be 5"),
    ("sessions.show", {"session": "s", "after": "1"}, "after of sessions.show cannot be '1'"),
    ("sessions.search", {"text": " "}, "the text to look for is empty"),
    ("sessions.search", {"text": "x", "limit": 0}, "limit of sessions.search cannot be 0"),
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
        assert await agent.do("policy.check", file=Path(claw.workspace) / "rules.yaml") == {"ok": True, "errors": [], "notices": []}
