"""A file that a command runs is changed between the question, the answer and the run: in a whole agent, in the spellings that people use."""

import subprocess
from pathlib import Path

import pytest

from neuralclaw.errors import PermissionDeniedError
from neuralclaw.sandbox.code_digests import code_digests
from neuralclaw.sandbox.program_run import admit
from neuralclaw.types.grants import Binding, Envelope, Grant

from .kit import agent, call, calls, events

pytestmark = pytest.mark.anyio

FILES = {
    "x.sh": "#!/bin/sh\necho {}\n",
    "sub/y.sh": "echo {}\n",
    "x.py": "print('{}')\n",
    "mod/__init__.py": "",
    "mod/__main__.py": "print('{}')\n",
    "Makefile": "all:\n\t@echo {}\ninclude rules.inc\nincluded:\nscript:\n\t@sh x.sh\n",
    "lib.awk": 'BEGIN {{ print "{}" }}\n',
    "plain": "echo {}\n",
    "lib/loaded.py": "print('{}')\n",
    "outer.sh": ". sub/y.sh\n",
    "outer.py": "import sys; sys.path.append('lib'); import loaded\n",
    "list.txt": "x.sh\n",
    "rules.inc": "# {}\n",
    "sub/pre-commit": "#!/bin/sh\necho {}\n",
}
SPELLINGS = [
    ("bash x.sh", "x.sh"),
    ("sh -e ./x.sh", "x.sh"),
    ("./x.sh", "x.sh"),
    ("cd sub && sh y.sh", "sub/y.sh"),
    ("env A=1 timeout 5 bash x.sh", "x.sh"),
    (". ./x.sh", "x.sh"),
    ("source x.sh", "x.sh"),
    ("bash < plain", "plain"),
    ("cat plain | bash", "plain"),
    ("bash -c './x.sh'", "x.sh"),
    ("find . -maxdepth 1 -name Makefile -exec bash plain {} \\;", "plain"),
    ("echo a | xargs -n1 ./x.sh", "x.sh"),
    ("python3 x.py", "x.py"),
    ("python3 -u -W ignore x.py", "x.py"),
    ("python3 -m mod", "mod/__main__.py"),
    ("python3 mod", "mod/__main__.py"),
    ("make", "Makefile"),
    ("make -f Makefile all", "Makefile"),
    ("awk -f lib.awk", "lib.awk"),
    ("python3 -c 'exec(open(\"x.py\").read())'", "x.py"),
    ("sh *.sh", "x.sh"),
    ("for f in *.sh; do sh $f; done", "x.sh"),
    ("find sub -name y.sh -exec sh {} \\;", "sub/y.sh"),
    ("bash <(cat plain)", "plain"),
    ('eval "$(cat plain)"', "plain"),
    ("python3 -c 'import x'", "x.py"),
    ("PYTHONPATH=lib python3 -c 'import loaded'", "lib/loaded.py"),
    ("BASH_ENV=x.sh bash -c :", "x.sh"),
    ("bash --rcfile x.sh -ic :", "x.sh"),
    ("xargs -a list.txt sh", "x.sh"),
    ("xargs -a list.txt bash", "list.txt"),
    ("sh outer.sh", "sub/y.sh"),
    ("python3 outer.py", "lib/loaded.py"),
    ("make included", "rules.inc"),
    ("make script", "x.sh"),
    ("git commit --allow-empty -m x", ".git/hooks/pre-commit"),
    ("cd sub && git commit --allow-empty -m x", ".git/hooks/pre-commit"),
    ("git -c core.hooksPath=sub commit --allow-empty -m x", "sub/pre-commit"),
]


def lay_out(home: Path) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text("tools: {terminal: {sandbox: process}}\n")  # no undo covers what a command does there
    work = home.parent / "work"
    for name, text in FILES.items():
        place = work / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text.format("first"))
        place.chmod(0o755)
    return work


@pytest.mark.invariant("gate.held")
async def test_a_file_that_is_changed_between_the_question_and_the_run_is_asked_about_again(home: Path) -> None:
    work = lay_out(home)
    subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    asked: list[str] = []

    def approver(question: object) -> str:
        text = question.action.show  # type: ignore[attr-defined]
        asked.append(text)
        if asked.count(text) > 1:
            return "no"
        name = dict(SPELLINGS)[text]
        (work / name).write_text(FILES.get(name, "#!/bin/sh\necho {}\n").format("second") + "\n")
        return "once"

    steps = [calls(call("terminal", command=text)) for text, _ in SPELLINGS]
    missed = []
    for (text, name), step in zip(SPELLINGS, steps, strict=True):
        (work / name).write_text(FILES.get(name, "#!/bin/sh\necho {}\n").format("first"))
        async with agent(home, step, "done", approver=approver, approvals="ask") as a:
            seen = await events(a)
        if asked.count(text) != 2 or "second" in str(seen.one("tool.finished").content):
            missed.append(text)
    assert missed == []


async def test_so_is_one_that_is_changed_while_the_turn_is_parked(home: Path) -> None:
    work = lay_out(home)
    async with agent(home, calls(call("terminal", command="bash x.sh"))) as a:
        first = (await events(a, session="s", approvals="park")).one("approval.requested")
    assert list(first.action.files) == [f"{work}/x.sh", f"{work}/"]
    (work / "x.sh").write_text("touch ran.txt\n")
    async with agent(home, "done") as a:
        await a.answer(first.approval_id, "once")
        async with a.resume("s") as resumed:
            again = [event async for event in resumed if event.type == "approval.requested"]
    assert [event.approval_id != first.approval_id for event in again] == [True]
    assert not (work / "ran.txt").exists()


@pytest.mark.invariant("gate.as-judged")
def test_what_was_changed_after_it_was_judged_is_not_run(tmp_path: Path) -> None:
    script = tmp_path / "x.sh"
    script.write_text("echo first\n")
    files = code_digests([str(script)], [])
    envelope = Envelope(read=(str(tmp_path),), execute=True, binding=Binding(files=files))
    grant = Grant(session="s", call_id="c", tool="terminal", arguments={}, workspace=str(tmp_path), hash="", envelope=envelope)
    admit(grant, ["sh", "x.sh"], str(tmp_path), {"PATH": "/usr/bin:/bin"})
    script.write_text("echo second\n")
    with pytest.raises(PermissionDeniedError, match="was changed after it was judged; nothing was run"):
        admit(grant, ["sh", "x.sh"], str(tmp_path), {"PATH": "/usr/bin:/bin"})


@pytest.mark.invariant("gate.held")
async def test_a_standing_yes_to_a_commit_is_held_to_the_hooks_that_were_there(home: Path) -> None:
    work = lay_out(home)
    subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    commit = "git commit --allow-empty -m"
    async with agent(home, calls(call("terminal", command=f"{commit} a")), calls(call("terminal", command=f"{commit} b")), approvals="park") as a:
        asked = (await events(a, session="s")).one("approval.requested")
        assert asked.covers.session == f"{commit} … (any message) in {work} (the repository's settings and hooks as they are now), in this session only"
        await a.answer(asked.approval_id, "session")
    (work / "sub/pre-commit").rename(work / ".git/hooks/pre-commit")
    async with agent(home, calls(call("terminal", command=f"{commit} b")), approvals="park") as a, a.resume("s") as resumed:
        again = [event async for event in resumed]
    assert "tool.started" not in [event.type for event in again]
    assert [event.approval_id != asked.approval_id for event in again if event.type == "approval.requested"] == [True]
