"""What a command's sandbox refused is asked for by a call of the same command, and the yes opens exactly this."""

import json
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.app.clock import SystemClock
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.choice import ChosenSandbox
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.tools.terminal import argv_of, terminal
from neuralclaw.types.actions import Action
from neuralclaw.types.grants import Grant
from neuralclaw.types.options import Policy
from neuralclaw.types.questions import Answer, Answers
from neuralclaw.types.signals import Denied, Parked

from .processes import PATH

pytestmark = pytest.mark.anyio


class Person:
    """A home with a project in it, its commands, and the questions that were asked."""

    def __init__(self, home: Path, kind: Any) -> None:
        self.home, self.work = home, home / "project"
        for name in ("project", "other", ".ssh", ".neuralclaw"):
            (home / name).mkdir(parents=True)
        (home / "other" / "notes.txt").write_text("notes")
        (home / "other" / "beside.txt").write_text("beside")
        (home / ".ssh" / "id").write_text("key")
        (self.work / "show.py").write_text("import sys, os\nfor n in ('notes', 'beside'):\n    print(open(os.path.expanduser(f'~/other/{n}.txt')).read())\n")
        (self.work / "change.py").write_text("import os\nopen(os.path.expanduser('~/other/notes.txt'), 'a').write('!')\n")
        policy = Policy(home_dir=str(home), protected_paths=(str(home), str(home / ".neuralclaw")))
        self.gate = PolicyGate(policy, SystemFacts(policy, PATH), SystemClock(), analyse)
        self.sandbox = ChosenSandbox(kind, path_env=PATH, hidden=(str(home / ".ssh"), str(home / ".neuralclaw")), home=str(home))
        self.spec = terminal(self.sandbox, {}).spec
        self.asked: list[str] = []

    async def grant(self, command: str, *access: str) -> Grant:
        """After a yes, if it asks. Raises `Denied`."""
        arguments: dict[str, Any] = {"command": command, **({"access": [*access]} if access else {})}
        action = Action(session="s", turn=1, call_id="c", spec=self.spec, arguments=arguments, workspace=str(self.work))
        try:
            return await self.gate.authorize(action, Answers())
        except Parked as parked:
            question = parked.question
            assert not access or (question.covers.session is None and question.covers.always is None and not question.auto)
            self.asked.append(question.summary)
            return await self.gate.authorize(action, Answers(by_hash={question.hash: Answer(approval_id=question.approval_id, decision="once", by="owner")}))

    async def run(self, command: str, *access: str) -> tuple[str, str]:
        grant = await self.grant(command, *access)
        env = {"PATH": PATH, "HOME": str(self.home)}
        done = await self.sandbox.exec(grant, argv_of(command), cwd=str(self.work), env=env, timeout=20, max_bytes=10_000)
        return done.stdout.decode(), done.refused


def offered(refused: str) -> list[str]:
    """What the sentence says to ask for."""
    found: list[str] = json.loads(refused.partition("with access ")[2].partition("]")[0] + "]")
    return found


@pytest.fixture(params=["landlock", "bubblewrap"])
def person(request: pytest.FixtureRequest, tmp_path: Path) -> Person:
    return Person(tmp_path.resolve() / "person", request.param)


async def test_the_same_command_with_what_was_offered_works_after_a_yes_and_nothing_beside_is_opened(person: Person) -> None:
    command = "python3 show.py"
    out, refused = await person.run(command)
    assert (out, offered(refused)) == ("", [f"read {person.home}/other/notes.txt"])
    out, refused = await person.run(command, *offered(refused))
    assert (out, offered(refused)) == ("notes\n", [f"read {person.home}/other/beside.txt"])
    assert f"also reads {person.home}/other/notes.txt" in person.asked[-1]
    out, refused = await person.run(command, f"read {person.home}/other/notes.txt", "read ../other/beside.txt")
    assert (out, refused) == ("notes\nbeside\n", "")


async def test_a_yes_to_read_is_none_to_change(person: Person) -> None:
    _, refused = await person.run("python3 change.py", f"read {person.home}/other/notes.txt")
    assert offered(refused) == [f"write {person.home}/other/notes.txt"]
    await person.run("python3 change.py", *offered(refused))
    assert (person.home / "other" / "notes.txt").read_text() == "notes!"
    assert f"also changes {person.home}/other/notes.txt" in person.asked[-1]


@pytest.mark.parametrize(
    ("access", "reason"),
    [
        ("read ~/.ssh/id", "keys and passwords"),
        ("read {home}/.ssh/id", "keys and passwords"),
        ("read {home}", "a whole home"),
        ("write {home}", "a whole home"),
        ("read /", "a whole home"),
        ("write {home}/made", "is not there, and to make it"),
        ("read {home}/.neuralclaw/db", "the agent's own data"),
        ("read /etc/shadow", "password hashes"),
        ("read {home}/other/none", "is not there"),
        ("write /dev/sda", "device"),
        ("connect 127.0.0.1:80", "this machine"),
        ("connect localhost:80", "this machine"),
        ("connect 169.254.169.254:80", "cloud metadata"),
        ("connect example.com", "HOST:PORT"),
        ("connect https://example.com/", "cannot be reached"),
        ("open everything", "none of `read PATH`"),
        ("", "none of `read PATH`"),
    ],
)
async def test_what_no_call_may_use_is_no_question(tmp_path: Path, access: str, reason: str) -> None:
    person = Person(tmp_path.resolve() / "person", "process")
    with pytest.raises(Denied) as denied:
        await person.grant("python3 show.py", access.format(home=person.home) or " ")
    assert reason in str(denied.value)


async def test_a_block_stays_one_whatever_is_asked_for_beside_it(tmp_path: Path) -> None:
    person = Person(tmp_path.resolve() / "person", "process")
    with pytest.raises(Denied):
        await person.grant(f"rm -rf {person.home}", f"write {person.home}/other")


@pytest.mark.parametrize(
    ("command", "access", "hosts"),
    [
        ("python3 show.py", ("connect example.com:443",), ("example.com:443",)),
        ("curl https://a.example/x", (), ("a.example:443",)),
        ("curl -L https://a.example/x", ("connect b.example:443",), ("a.example:443", "b.example:443")),
        ("git clone https://user:token@a.example/x.git", (), ("a.example:443",)),
        ("git fetch", (), ()),
        ("curl $PLACE", (), ()),
        ("curl https://a.example/x; pip install thing", (), ()),
    ],
)
async def test_the_places_of_a_command_are_those_that_its_question_shows(tmp_path: Path, command: str, access: tuple[str, ...], hosts: tuple[str, ...]) -> None:
    person = Person(tmp_path.resolve() / "person", "process")
    envelope = (await person.grant(command, *access)).envelope
    assert (envelope.network, envelope.hosts) == (True, hosts)
    assert all(f"also connects to {one.removeprefix('connect ')}" in person.asked[-1] for one in access) or not hosts


@pytest.mark.parametrize(
    "settings",
    [
        "[user]\n\tname = Ann\n[include]\n\tpath = ~/.gitconfig-work\n",
        "[core]\n\texcludesFile = ~/.gitconfig-work\n",
        "[include] path = ~/.gitconfig-work\n",
        '[include]\n\tpath = "~/my settings/../.gitconfig-work"  # mine\n',
        "[include]\n\tpath = ~/my settings/../.gitconfig-work ; mine\n",
    ],
)
@pytest.mark.parametrize("text", ["[user]\n\temail = ann@example.com\n", "[github]\n\ttoken = abcdef\n"])
async def test_git_works_with_settings_that_name_a_file_of_the_home(person: Person, settings: str, text: str) -> None:
    (person.home / "my settings").mkdir()
    (person.home / ".gitconfig").write_text(settings)
    (person.home / ".gitconfig-work").write_text(text)
    out, _ = await person.run("git init -q . && git add show.py && git status --short; python3 -c 'print(open(\"../.gitconfig-work\").read())'")
    assert out.startswith("A  show.py\n")
    assert (text in out) is ("token" not in text)


async def test_git_and_wget_work_with_settings_that_are_not_shown(person: Person) -> None:
    (person.home / ".gitconfig").write_text("[github]\n\ttoken = abcdef\n")
    (person.home / ".wgetrc").write_text("password = hunter2\n")
    out, refused = await person.run("git init -q . && git add show.py && git status --short && wget --version | head -c 8")
    assert (out, refused) == ("A  show.py\n?? change.py\nGNU Wget", "")
