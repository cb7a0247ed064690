"""The facts the gate is told: real paths, kinds, digests, programs, addresses, the sandbox."""

import hashlib
import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.types.actions import Action
from neuralclaw.types.facts import FactSheet, PathWant, Wants
from neuralclaw.types.options import Policy
from neuralclaw.types.tools import ToolSpec, Touch

pytestmark = pytest.mark.anyio

FILE_TOOL = ToolSpec(name="write_file", description="", input_schema={}, touches=(Touch("path", "write"),))
TERMINAL = ToolSpec(name="terminal", description="", input_schema={}, touches=(Touch("command", "command"),))


async def look(workspace: Path, wants: Wants, *, spec: ToolSpec = FILE_TOOL, **facts: Any) -> FactSheet:
    policy = facts.pop("policy", Policy())
    action = Action(session="s", turn=1, call_id="c", spec=spec, arguments={}, workspace=os.path.realpath(workspace))
    return await SystemFacts(policy, path_env=facts.pop("path_env", "/usr/bin:/bin"), **facts).look(action, wants)


async def test_nothing_wanted_is_answered_without_a_look(tmp_path: Path) -> None:
    assert await look(tmp_path, Wants()) == FactSheet()


async def test_paths_are_resolved_through_links_as_far_as_they_exist(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    (workspace / "real").mkdir(parents=True)
    outside.mkdir()
    (workspace / "in").symlink_to("real")
    (workspace / "out").symlink_to(outside)
    (workspace / "real" / "f").write_text("x")
    paths = ["in/f", "in/new/deep", "out/new", "in/../../outside", "in", "/dev/null"]
    wants = tuple(PathWant(str(workspace / path), "read") for path in paths)
    facts = (await look(workspace, Wants(paths=wants))).paths
    assert [(fact.resolved, fact.kind, fact.inside, fact.exists) for fact in facts] == [
        (str(workspace / "real/f"), "file", True, True),
        (str(workspace / "real/new/deep"), "missing", True, False),
        (str(outside / "new"), "missing", False, False),
        (str(outside), "directory", False, True),
        (str(workspace / "real"), "directory", True, True),
        ("/dev/null", "other", False, True),
    ]


async def test_allowed_paths_count_as_inside_and_names_that_begin_the_same_do_not(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    wants = tuple(PathWant(path, "read") for path in (str(allowed / "f"), str(allowed), f"{allowed}-not/f"))
    facts = (await look(tmp_path / "workspace", Wants(paths=wants), policy=Policy(allowed_paths=(str(allowed),)))).paths
    assert [fact.inside for fact in facts] == [True, True, False]


async def test_what_would_be_changed_has_its_digest_and_what_is_read_has_none(tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    (tmp_path / "f").write_bytes(data)
    ops = ("write", "delete", "read", "list")
    facts = (await look(tmp_path, Wants(paths=tuple(PathWant(str(tmp_path / "f"), op) for op in ops)))).paths
    assert [fact.digest for fact in facts] == [hashlib.sha256(data).hexdigest()] * 2 + [None] * 2


async def test_a_link_to_be_deleted_is_judged_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    fact = (await look(tmp_path, Wants(paths=(PathWant(str(tmp_path / "link"), "delete"),)))).paths[0]
    assert (fact.resolved, fact.kind, fact.inside, fact.digest) == (str(tmp_path / "link"), "other", True, None)


async def test_programs_are_the_real_files_found_from_the_commands_directory(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("tool", "not-executable"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "tool").chmod(0o755)
    (tmp_path / "linked").symlink_to("bin/tool")
    names = ("tool", "./linked", "../linked", "bin/tool", "not-executable", "bin", "none")
    sheet = await look(tmp_path, Wants(programs=names, cwd=str(tmp_path)), path_env=f"/nowhere:{tmp_path}/bin")
    real = str(tmp_path / "bin/tool")
    assert sheet.programs == {"tool": real, "./linked": real, "../linked": None, "bin/tool": real, "not-executable": None, "bin": None, "none": None}


async def test_addresses_come_from_one_look_up_a_host(tmp_path: Path) -> None:
    asked: list[str] = []

    async def resolver(host: str) -> Sequence[str]:
        asked.append(host)
        return ["192.0.2.1", "192.0.2.1", "2001:db8::1"] if host == "a.example" else []

    sheet = await look(tmp_path, Wants(hosts=("a.example", "b.example")), resolver=resolver)
    assert sheet.addresses == {"a.example": ("192.0.2.1", "2001:db8::1"), "b.example": ()}
    assert sorted(asked) == ["a.example", "b.example", "ipv4only.arpa"]


async def test_the_systems_resolver_knows_this_machine_and_no_invalid_name(tmp_path: Path) -> None:
    sheet = await look(tmp_path, Wants(hosts=("localhost", "no-such-host.invalid")))
    assert {"127.0.0.1", "::1"} & set(sheet.addresses["localhost"])
    assert sheet.addresses["no-such-host.invalid"] == ()


async def test_a_script_has_the_digest_of_what_it_holds_now(tmp_path: Path) -> None:
    script = tmp_path / "build.py"
    script.write_text("print(1)\n")
    (tmp_path / "link.py").symlink_to(script)
    names = tuple(str(tmp_path / name) for name in ("build.py", "link.py", "nosuch.py", "."))
    facts = await look(tmp_path, Wants(programs=("sh",), scripts=names))
    digest = hashlib.sha256(b"print(1)\n").hexdigest()
    assert facts.scripts == {names[0]: digest, names[1]: digest}


async def test_what_is_deleted_with_a_slash_behind_it_is_where_the_link_leads(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    wants = tuple(PathWant(str(tmp_path / "link") + end, "delete") for end in ("", "/"))
    facts = (await look(tmp_path, Wants(paths=wants))).paths
    assert [fact.resolved for fact in facts] == [str(tmp_path / "link"), str(tmp_path / "there")]


async def test_a_hard_link_to_what_is_kept_from_calls_has_its_name_there(tmp_path: Path) -> None:
    data, work = tmp_path.resolve() / "data", tmp_path.resolve() / "work"
    (data / "deep").mkdir(parents=True)
    work.mkdir()
    for name in ("a", "deep/b"):
        (data / name).write_text("x")
        os.link(data / name, work / Path(name).name)
    (work / "own").write_text("x")
    os.link(work / "own", work / "own2")
    wants = tuple(PathWant(str(work / name), "read") for name in ("a", "b", "own", "own2", "none"))
    facts = (await look(work, Wants(paths=wants), policy=Policy(protected_paths=("/", str(data))))).paths
    assert [fact.others for fact in facts] == [(str(data / "a"),), (str(data / "deep/b"),), (), (), ()]


def test_a_bind_mount_has_the_name_that_it_shows(tmp_path: Path) -> None:
    work, kept = tmp_path.resolve() / "my work", tmp_path.resolve() / "kept"
    for place in (work / "shown", work / "own", kept / "deep"):
        place.mkdir(parents=True)
    (kept / "deep" / "key").write_text("x")
    script = f"""
from neuralclaw.sandbox.path_facts import PathFacts
from neuralclaw.types.facts import PathWant
from neuralclaw.types.options import Policy
facts = PathFacts({str(work)!r}, ({str(work)!r},), Policy(), in_command=False)
print([facts.fact(PathWant({str(work)!r} + name, "read")).others for name in ("/shown/deep/key", "/shown/none", "/own/x")])
"""
    mounted = ["bwrap", "--dev-bind", "/", "/", "--bind", str(kept), str(work / "shown"), sys.executable, "-c", script]
    done = subprocess.run(mounted, capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout.strip() == str([(str(kept / "deep/key"),), (str(kept / "none"),), ()]), done.stderr


async def test_wildcards_mean_what_a_shell_finds(tmp_path: Path) -> None:
    work, outside = tmp_path.resolve() / "work", tmp_path.resolve() / "outside"
    for path in ("a.txt", "b.txt", ".hidden", "sub/c.txt", "sub2/c.txt", "[x]"):
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text("x")
    outside.write_text("x")
    (work / "link.txt").symlink_to(outside)
    (work / "gone.txt").symlink_to("none")
    script = "cd {} && printf '%s\\n' {}"
    for pattern in ("*.txt", "*", ".*", "su*/c.txt", "s?b/*", "[ab].txt", "*/c*", "[[]x]", "none*", "sub*", "*/"):
        fact = (await look(work, Wants(paths=(PathWant(f"{work}/{pattern}".rstrip("/"), "read"),)))).paths[0]
        shell = subprocess.run(["bash", "-c", script.format(work, pattern)], capture_output=True, text=True, timeout=30, check=True).stdout.split()
        real = {os.path.realpath(work / name) for name in shell if name not in (".", "..", pattern)}
        found = {one.resolved for one in fact.expanded}
        assert real <= found, pattern
        assert {str(outside)} <= found or not any("link" in name for name in shell)
        assert fact.inside
        assert not fact.many


async def test_wildcards_that_mean_too_much_say_so(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for number in range(50):
        (tmp_path / "d" / str(number)).touch()
        (tmp_path / f"link{number}").symlink_to("d")
    fact = (await look(tmp_path, Wants(paths=(PathWant(f"{tmp_path}/link*/*", "read"),)))).paths[0]
    assert fact.many
    assert fact.expanded == ()


async def test_the_home_of_another_user_is_looked_up(tmp_path: Path) -> None:
    wants = (PathWant("/~root/.profile", "read"), PathWant("/~nobody-there/x", "read"))
    facts = (await look(tmp_path, Wants(paths=wants))).paths
    assert [fact.resolved for fact in facts] == [f"{os.path.realpath(pwd.getpwnam('root').pw_dir)}/.profile", "/~nobody-there/x"]


async def test_no_pattern_takes_long_to_compare(tmp_path: Path) -> None:
    (tmp_path / ("a" * 250)).touch()
    fact = (await look(tmp_path, Wants(paths=(PathWant(f"{tmp_path}/{'*a' * 100}*b", "read"),)))).paths[0]
    assert fact.expanded == ()
