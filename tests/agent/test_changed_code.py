"""A file that a command runs is changed between the question, the answer and the run: in a whole agent, in the spellings that people use."""

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
    "Makefile": "all:\n\t@echo {}\n",
    "lib.awk": 'BEGIN {{ print "{}" }}\n',
    "plain": "echo {}\n",
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
    asked: list[str] = []

    def approver(question: object) -> str:
        text = question.action.show  # type: ignore[attr-defined]
        asked.append(text)
        if asked.count(text) > 1:
            return "no"
        name = dict(SPELLINGS)[text]
        (work / name).write_text(FILES[name].format("second"))
        return "once"

    steps = [calls(call("terminal", command=text)) for text, _ in SPELLINGS]
    missed = []
    for (text, name), step in zip(SPELLINGS, steps, strict=True):
        (work / name).write_text(FILES[name].format("first"))
        async with agent(home, step, "done", approver=approver, approvals="ask") as a:
            seen = await events(a, session="s")
        if asked.count(text) != 2 or "second" in str(seen.one("tool.finished").content):
            missed.append(text)
    assert missed == []


async def test_so_is_one_that_is_changed_while_the_turn_is_parked(home: Path) -> None:
    work = lay_out(home)
    async with agent(home, calls(call("terminal", command="bash x.sh"))) as a:
        first = (await events(a, session="s", approvals="park")).one("approval.requested")
    assert list(first.action.files) == [f"{work}/x.sh"]
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
