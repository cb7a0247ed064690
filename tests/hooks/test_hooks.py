"""Hooks in whole agents, with real programs: what they are told, what they block, and how they end."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.errors import ConfigError

from ..agent.kit import agent, call, calls, events
from .kit import hook, keeps, refuses, runs, script, settings, told, write

pytestmark = pytest.mark.anyio


@pytest.mark.invariant("hooks.narrow")
async def test_a_hook_before_a_tool_blocks_with_what_it_says(home: Path) -> None:
    settings(home, hook("before_tool", refuses(home), tools=["write_file"], name="guard"))
    async with agent(home, calls(write()), "done") as a:
        seen = await events(a, approvals="auto")
    [finished], [end], [ran] = seen.of("tool.finished"), seen.of("turn.finished"), runs(seen)
    assert not finished.ok
    assert "guard" in finished.content
    assert "not today" in finished.content
    assert end.status == "denied"
    assert (ran.hook, ran.event, ran.outcome, ran.blocks, ran.reason, ran.exit_code) == ("guard", "before_tool", "blocked", True, "not today", 2)
    assert not (home.parent / "work" / "a.txt").exists()
    assert not seen.of("tool.started")


async def test_hooks_of_every_event_are_told_what_it_is_about(home: Path) -> None:
    kept = keeps(home)
    names = ("before_turn", "after_turn", "before_tool", "after_tool", "before_approval", "after_approval")
    settings(home, *(hook(name, kept) for name in names))
    async with agent(home, calls(write(), call("delete_file", path="a.txt")), "done", approver=_yes) as a:
        seen = await events(a, "please", session="s")
    lines = told(home)
    assert [line["hook_event_name"] for line in lines if line["hook_event_name"].endswith("turn")] == ["before_turn", "after_turn"]
    assert {line["hook_event_name"] for line in lines} == set(names)
    first, last = lines[0], lines[-1]
    assert (first["prompt"], first["session_id"], first["turn"], first["cwd"]) == ("please", "s", 1, str(home.parent / "work"))
    assert (last["status"], last["text"]) == ("done", "done")
    before = next(line for line in lines if line["hook_event_name"] == "before_tool")
    assert before["tool_name"] == "write_file"
    assert before["tool_input"] == {"path": "a.txt", "content": "x"}
    after = next(line for line in lines if line["hook_event_name"] == "after_tool")
    assert after["tool_response"]["ok"]
    assert next(line for line in lines if line["hook_event_name"] == "after_approval")["decision"] == "once"
    assert [ran.run_id for ran in runs(seen)] == [line["run_id"] for line in lines]
    assert [ran.outcome for ran in runs(seen)] == ["passed"] * len(lines)


async def _yes(question: Any) -> str:
    return "once"


@pytest.mark.invariant("hooks.narrow")
@pytest.mark.parametrize("event", ["before_approval", "after_approval"])
async def test_a_hook_refuses_what_a_person_would_allow(home: Path, event: str) -> None:
    (home.parent / "work").mkdir(exist_ok=True)
    (home.parent / "work" / "a.txt").write_text("x")
    settings(home, hook(event, refuses(home)))
    async with agent(home, calls(call("delete_file", path="a.txt")), "done", approver=_yes) as a:
        seen = await events(a)
    assert (home.parent / "work" / "a.txt").exists()
    assert seen.of("turn.finished")[0].status == "denied"
    assert bool(seen.of("approval.requested")) == (event == "after_approval")


async def test_a_hook_that_says_allow_allows_nothing(home: Path) -> None:
    allows = script(home, "allow.sh", '#!/bin/sh\necho \'{"decision": "approve", "hookSpecificOutput": {"permissionDecision": "allow"}}\'\n')
    settings(home, *(hook(event, allows) for event in ("before_tool", "before_approval")))
    async with agent(home, calls(call("delete_file", path="a.txt"), call("terminal", command="rm -rf /")), "done") as a:
        seen = await events(a, approvals="none")
    assert [event.ok for event in seen.of("tool.finished")] == [False, False]
    assert [event.decision for event in seen.of("decision")] == ["ask", "forbid"]


async def test_an_answer_of_json_blocks_and_one_that_asks_for_more_fails(home: Path) -> None:
    says = script(home, "says.sh", "#!/bin/sh\nprintf '%s' \"$1\"\n")
    block = hook("before_tool", says, '{"decision": "block", "reason": "by json"}', tools=["write_file"])
    more = hook("before_tool", says, '{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {}}}', tools=["list_files"])
    settings(home, block, more)
    async with agent(home, calls(write(), call("list_files", path=".")), "done") as a:
        seen = await events(a, approvals="auto")
    assert [(ran.outcome, ran.blocks) for ran in runs(seen)] == [("blocked", True), ("failed", True)]
    assert "by json" in seen.of("tool.finished")[0].content


@pytest.mark.parametrize("text", ["exit 7", "kill -9 $$", "exec sleep 60"])
@pytest.mark.parametrize("choice", ["block", "pass"])
async def test_a_failure_means_what_the_owner_chose(home: Path, text: str, choice: str) -> None:
    broken = script(home, "broken.sh", f"#!/bin/sh\n{text}\n")
    settings(home, hook("before_tool", broken, on_failure=choice, timeout=0.3 if "sleep" in text else 10))
    async with agent(home, calls(write()), "done") as a:
        seen = await events(a, approvals="auto")
    [ran] = runs(seen)
    assert (ran.outcome, ran.blocks) == ("failed", choice == "block")
    assert seen.of("tool.finished")[0].ok == (choice == "pass")


async def test_nothing_that_a_hook_started_is_left(home: Path) -> None:
    pids = home.parent / "own" / "pids"
    starts = script(home, "starts.sh", f"#!/bin/sh\nsetsid sleep 60 & echo $! > {pids}\nsleep 60 & echo $! >> {pids}\nexec sleep 60\n")
    settings(home, hook("before_tool", starts, timeout=0.5))
    async with agent(home, calls(write()), "done") as a:
        await events(a, approvals="auto")
        left = [pid for pid in pids.read_text().split() if (status := Path(f"/proc/{pid}/stat")).exists() and " Z " not in status.read_text()]
    assert left == []


@pytest.mark.invariant("hooks.pinned")
@pytest.mark.parametrize("choice", ["block", "pass"])
async def test_a_program_that_changed_or_is_not_pinned_blocks_and_does_not_run(home: Path, choice: str) -> None:
    kept = keeps(home)
    pinned, unpinned = hook("before_tool", kept, on_failure=choice), hook("before_turn", kept, on_failure=choice, digest="")
    kept.write_text(kept.read_text() + "# changed\n")
    settings(home, pinned)
    async with agent(home, calls(write()), "done") as a:
        seen = await events(a, approvals="auto")
    assert "changed since it was pinned" in seen.of("tool.finished")[0].content
    settings(home, unpinned)
    async with agent(home, "done") as a:
        end = (await events(a)).of("turn.finished")[0]
    assert end.status == "denied"
    assert "not pinned" in end.text
    assert told(home) == []


@pytest.mark.invariant("hooks.pinned")
async def test_a_hook_runs_the_bytes_that_were_hashed(home: Path) -> None:
    changing = home.parent / "own" / "self.sh"
    ran = home.parent / "own" / "ran"
    file = script(
        home, "self.sh", f"#!/bin/sh\nprintf '#!/bin/sh\\nexit 0\\n' > {changing}\necho old >> {ran}\ncat \"$0\" | grep -q 'exit 2'\necho no >&2\nexit 2\n"
    )
    settings(home, hook("before_tool", file))
    async with agent(home, calls(write()), calls(write("b.txt")), "done") as a:
        seen = await events(a, approvals="auto")
    assert ran.read_text() == "old\n"
    assert ["no" == run.reason or "changed" in run.reason for run in runs(seen)] == [True, True]
    assert all(run.blocks for run in runs(seen))


async def test_a_script_that_an_interpreter_runs_is_what_is_pinned(home: Path) -> None:
    file = script(home, "check.py", "import json, sys\nd = json.load(sys.stdin)\nprint('python says ' + d['tool_name'], file=sys.stderr)\nsys.exit(2)\n")
    given = hook("before_tool", file) | {"command": ["python3", str(file)]}
    settings(home, given)
    async with agent(home, calls(write()), "done") as a:
        seen = await events(a, approvals="auto")
    assert runs(seen)[0].reason == "python says write_file"


async def test_of_two_hooks_the_one_that_blocks_decides(home: Path) -> None:
    settings(home, hook("before_tool", keeps(home)), hook("before_tool", refuses(home)), hook("before_tool", keeps(home, "later")))
    async with agent(home, calls(write(), call("list_files", path=".")), "done") as a:
        seen = await events(a, approvals="auto")
    assert [event.ok for event in seen.of("tool.finished")] == [False, False]
    assert (len(told(home)), told(home, "later")) == (2, [])


async def test_a_hook_after_a_tool_keeps_its_result_back(home: Path) -> None:
    (home.parent / "work").mkdir(exist_ok=True)
    (home.parent / "work" / "a.txt").write_text("the number is zq-4711-xv")
    settings(home, hook("after_tool", refuses(home, "holds a number"), tools=["read_file"]))
    async with agent(home, calls(call("read_file", path="a.txt")), "done") as a:
        seen = await events(a)
        rows = await a.do("sessions.show", session=seen.of("turn.finished")[0].session)
    assert "holds a number" in seen.of("tool.finished")[0].content
    assert "zq-4711-xv" not in json.dumps(rows)


async def test_a_hook_after_a_turn_keeps_the_answer_back(home: Path) -> None:
    settings(home, hook("after_turn", refuses(home)))
    async with agent(home, "it is zq-4711-xv") as a:
        end = (await events(a)).of("turn.finished")[0]
    assert (end.status, "zq-4711-xv" in end.text, "not today" in end.text) == ("denied", False, True)


async def test_a_hook_has_a_clean_environment_and_no_secret(home: Path) -> None:
    shows = script(
        home,
        "env.sh",
        f"#!/bin/sh\nenv > {home.parent}/own/env\nls -l /proc/self/fd > {home.parent}/own/fds\npwd > {home.parent}/own/cwd\ncat > {home.parent}/own/in\n",
    )
    settings(home, hook("before_turn", shows))
    key = "sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
    env = {"PATH": f"{home.parent}/work/bin:/usr/bin:/bin", "HOME": str(home.parent), "OPENAI_API_KEY": key, "LD_PRELOAD": ""}
    async with agent(home, "done", environ=env) as a:
        await events(a, f"key {key}")
    own = home.parent / "own"
    assert "OPENAI" not in (own / "env").read_text()
    assert "work/bin" not in (own / "env").read_text()
    assert key not in (own / "in").read_text()
    assert (own / "cwd").read_text() == "/\n"
    assert len([line for line in (own / "fds").read_text().splitlines() if "->" in line]) <= 4


async def test_a_hook_may_print_without_end_and_read_nothing(home: Path) -> None:
    floods = script(home, "flood.sh", "#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x >&2\nexit 2\n")
    settings(home, hook("before_tool", floods))
    async with agent(home, calls(call("write_file", path="a.txt", content="y" * 300_000)), "done") as a:
        seen = await events(a, approvals="auto")
    assert runs(seen)[0].outcome == "blocked"
    assert len(runs(seen)[0].reason) <= 2100


@pytest.mark.invariant("hooks.pinned")
async def test_the_agent_cannot_write_a_pinned_hook_or_its_settings(home: Path) -> None:
    file = keeps(home)
    settings(home, hook("before_tool", file, tools=["recall"]))
    tries = [
        call("write_file", path=str(home / "config.json"), content="{}"),
        call("terminal", command=f"echo x >> {file}"),
        call("write_file", path=str(file), content="x"),
    ]
    async with agent(home, calls(*tries), "done", workspace=home.parent / "own") as a:
        seen = await events(a, approvals="auto")
    assert [event.ok for event in seen.of("tool.finished")] == [False, False, False]
    assert [event.decision for event in seen.of("decision")] == ["forbid"] * 3


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"event": "before_run"}, "before_run"),
        ({"command": []}, "command"),
        ({"command": ["./here.sh"]}, "relative path"),
        ({"command": ["/bin/sh -c true"]}, "list"),
        ({"event": "before_turn", "tools": ["terminal"]}, "about no call"),
        ({"digest": "abc"}, "SHA-256"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": 601}, "timeout"),
        ({"on_failure": "ignore"}, "on_failure"),
        ({"power": ["write"]}, "power"),
        ({"name": "a b"}, "name"),
    ],
)
async def test_a_hook_that_could_not_run_as_it_is_written_is_refused(home: Path, wrong: dict[str, Any], said: str) -> None:
    settings(home, {"event": "before_tool", "command": ["/bin/true"]} | wrong)
    with pytest.raises(ConfigError, match=said):
        async with agent(home):
            pass


async def test_hooks_see_calls_that_stand_beside_each_other(home: Path) -> None:
    settings(home, hook("before_tool", keeps(home), powers=["read"]))
    reads = [call("list_files", path="."), call("read_file", path="b.txt"), call("calculate", expression="1+1")]
    async with agent(home, calls(*reads), "done") as a:
        seen = await events(a)
    assert [line["tool_name"] for line in told(home)] == ["list_files", "read_file"]
    assert len(seen.of("tool.finished")) == 3
    assert Path(told(home)[0]["cwd"]).name == "work"


@pytest.mark.parametrize(
    "text",
    [
        "# mine\nhooks:\n  - event: before_tool  # why\n    command: [{file}]\n    name: guard\nagent: {{name: x}}\n",
        "hooks: [{{event: before_tool, command: [{file}], name: guard}}]  # kept\n",
        'hooks:\n- name: guard\n  digest: ""\n  event: before_tool\n  command:\n  - {file}\n',
    ],
)
async def test_a_hook_is_pinned_in_the_file_and_the_rest_of_it_stays(home: Path, text: str) -> None:
    file, written = refuses(home), home / "config.yaml"
    home.mkdir(exist_ok=True)
    written.write_text(text.format(file=file))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    async with agent(home) as a:
        [row] = await a.do("hooks.list")
        assert "not pinned" in row["state"]
        assert (await a.do("hooks.pin", name="guard"))["state"] == "pinned"
    left = written.read_text().replace(f'digest: "{digest}"', "").replace('digest: ""', "")
    kept = text.format(file=file).replace('digest: ""', "")
    assert left.split() == kept.split() or left.replace(" , ", " ").replace("{, ", "{") == kept
    async with agent(home, calls(write()), "done") as a:
        [row] = await a.do("hooks.list")
        assert (row["state"], row["digest"]) == ("pinned", digest)
        seen = await events(a, approvals="auto")
    assert runs(seen)[0].reason == "not today"


async def test_a_turn_that_parked_does_not_repeat_a_run_that_is_on_record(home: Path) -> None:
    kept = keeps(home)
    settings(home, hook("before_turn", kept), hook("before_tool", kept), hook("before_approval", kept), hook("after_approval", kept))
    (home.parent / "work").mkdir(exist_ok=True)
    (home.parent / "work" / "a.txt").write_text("x")
    async with agent(home, calls(call("delete_file", "c1", path="a.txt"))) as a:
        seen = await events(a, session="s", approvals="park")
        [asked] = seen.of("approval.requested")
        await a.do("approvals.answer", approval_id=asked.approval_id, decision="once")
    async with agent(home, "done") as a:
        async with a.resume("s") as stream:
            end = [event async for event in stream if event.type == "turn.finished"][-1]
    assert end.status == "done"
    assert [line["hook_event_name"] for line in told(home)] == ["before_turn", "before_tool", "before_approval", "after_approval"]
    assert len({line["run_id"] for line in told(home)}) == 4


async def test_a_hook_that_blocks_a_single_call_refuses_it(home: Path) -> None:
    settings(home, hook("before_tool", refuses(home)))
    async with agent(home) as a:
        found = await a.do("tools.call", name="write_file", arguments={"path": "a.txt", "content": "x"})
    assert (found["ok"], found["refused"]) == (False, "forbid")
