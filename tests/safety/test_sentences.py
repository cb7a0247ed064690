"""What a question says in one sentence."""

import msgspec
import pytest

from neuralclaw.types.actions import Action
from neuralclaw.types.facts import FactSheet, Wants
from neuralclaw.types.options import Policy
from neuralclaw.types.questions import Answers
from neuralclaw.types.risk import Risk
from neuralclaw.types.signals import Parked

from .parts import DELETE, FETCH, LISTED, POLICY, TERMINAL, WORKSPACE, WRITE, FakeFacts, action, gate, spec

pytestmark = pytest.mark.anyio
FACTS = FakeFacts(digests={f"{WORKSPACE}/{name}": "1" for name in ("old.txt", "a.txt", "b.txt")}, addresses={"example.com": ("93.184.216.34",)})
ALL = Policy(programs=LISTED, home_dir="/home/ann", require_confirmation_for=tuple(Risk))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("rm old.txt", "deletes 1 file"),
        ("ls && rm a.txt b.txt", "deletes 2 files"),
        ("rm gone.txt", "deletes gone.txt, which is not there now"),
        ("rm *.txt", "deletes all that *.txt names"),
        ("find . -name '*.o' -delete", "deletes what it finds"),
        ("touch new.txt", "writes new.txt"),
        ("touch /tmp/x", "writes /tmp/x (outside the workspace)"),
        ("mv a.txt c.txt", "moves a.txt to c.txt"),
        ("chmod +x a.txt", "changes who may use a.txt"),
        ("curl -d @a.txt https://example.com/x", "sends data to example.com"),
        ("curl https://example.com/x", "connects to example.com"),
        ("npm install left-pad", "fetches and runs packages"),
        ("python build.py", "runs build.py"),
        ("python -m pytest", "runs the module pytest"),
        ("python -c 'print(1)'", "runs code from the command line"),
        ("frob x", "runs frob, which is not a program NeuralClaw knows"),
        ("make && git commit -m x", "runs what the project's files say, changes the repository"),
        ("$X", "could not be understood completely"),
        ("echo 'x", "cannot be read as shell code"),
        ("systemctl restart x", "changes the system with systemctl"),
        ("PATH=. ls", "PATH decides which code runs"),
        ("cat .ssh/id_rsa", "is a place where keys and passwords are kept"),
    ],
)
async def test_a_command_is_told_in_words_and_not_by_the_rules_that_it_meets(command: str, said: str) -> None:
    with pytest.raises(Parked) as parked:
        await gate(POLICY, FACTS).authorize(action(TERMINAL, command=command), Answers())
    question = parked.value.question
    assert question.summary.startswith(f"{command}: ")
    assert said in question.summary
    for machinery in ("not on the list", "trust level", "tier"):
        assert machinery not in question.summary
    assert question.reasons, "the reasons are kept beside it"


async def test_tools_say_what_they_do_to_which_file_or_host() -> None:
    for call, said in (
        (action(DELETE, path="old.txt"), "delete_file old.txt: deletes 1 file"),
        (action(WRITE, path="docs/new.md"), "write_file: writes docs/new.md"),
        (action(FETCH, url="https://example.com/a"), "web_fetch: fetches from example.com (93.184.216.34)"),
        (action(DELETE, path="gone.txt"), "delete_file: deletes gone.txt, which is not there now"),
        (action(spec("mail", risk=Risk.HIGH), to="ann@example.com", text="Hello Ann"), 'mail to=ann@example.com text="Hello Ann": runs your tool'),
        (action(spec("mail", risk=Risk.HIGH), count=3, cc=None, body="x" * 90), f"mail count=3 body={'x' * 23}…: runs your tool"),
        (action(spec("mail", risk=Risk.HIGH)), "mail: runs your tool"),
        (action(spec("end", risk=Risk.HIGH, category="system"), pid=7), "end pid=7: runs the tool end"),
    ):
        with pytest.raises(Parked) as parked:
            await gate(ALL, FACTS).authorize(call, Answers())
        assert parked.value.question.summary == said


async def test_a_file_that_is_only_counted_is_named_before_the_sentence_also_when_its_name_is_long() -> None:
    name = "deep/" * 20 + "old.txt"
    facts = FakeFacts(digests={f"{WORKSPACE}/{name}": "1"})
    with pytest.raises(Parked) as parked:
        await gate(ALL, facts).authorize(action(DELETE, path=name), Answers())
    summary = parked.value.question.summary
    assert summary.startswith("delete_file …")
    assert summary.endswith("/deep/old.txt: deletes 1 file")
    assert len(summary) < 100


@pytest.mark.parametrize("command", ["rm old.txt", "rm gone.txt", "rm a.txt b.txt"])
async def test_what_a_long_command_deletes_is_named_though_its_end_is_cut_off(command: str) -> None:
    long = f"echo {'word ' * 20} && {command}"
    with pytest.raises(Parked) as parked:
        await gate(POLICY, FACTS).authorize(action(TERMINAL, command=long), Answers())
    summary = parked.value.question.summary
    assert all(name in summary for name in command.split()[1:])


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("cp sub/s.txt .", "writes s.txt"),
        ("cp a.txt b.txt sub", "writes sub/a.txt, sub/b.txt"),
        ("cp -r sub /tmp", "writes /tmp/sub (outside the workspace)"),
        ("cp -t sub a.txt", "writes sub/a.txt"),
        ("ln -s ../x.txt .", "reads /home/ann/x.txt (outside the workspace), writes x.txt"),
        ("cp --parents sub/s.txt sub", "writes sub"),
        ("cp a.txt c.txt", "writes c.txt"),
        ("touch .", "writes the workspace"),
    ],
)
async def test_a_copy_into_a_directory_names_the_file_that_it_makes(command: str, said: str) -> None:
    with pytest.raises(Parked) as parked:
        await gate(POLICY, Folders()).authorize(action(TERMINAL, command=command), Answers())
    assert parked.value.question.summary == f"{command}: {said}"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("cp -r ~/private copy", "reads /home/ann/private (outside the workspace), writes copy"),
        ("tar cf a.tar ~/private", "reads /home/ann/private (outside the workspace), writes a.tar"),
        ("ln -s ~/private link", "reads /home/ann/private (outside the workspace), writes link"),
        ("sort -o sorted ~/d.txt", "reads /home/ann/d.txt (outside the workspace)"),
        ("cat /etc/hosts ~/d.txt", "reads /home/ann/d.txt (outside the workspace)"),
    ],
)
async def test_what_is_read_outside_is_named_whatever_else_the_command_does(command: str, said: str) -> None:
    with pytest.raises(Parked) as parked:
        await gate().authorize(action(TERMINAL, command=command), Answers())
    assert parked.value.question.summary == f"{command}: {said}"


class Folders(FakeFacts):
    """The workspace, `sub` in it and `/tmp` are directories."""

    async def look(self, action: Action, wants: Wants) -> FactSheet:
        sheet = await super().look(action, wants)
        places = (WORKSPACE, f"{WORKSPACE}/sub", "/tmp")
        paths = [msgspec.structs.replace(f, exists=True, kind="directory") if f.resolved in places else f for f in sheet.paths]
        return msgspec.structs.replace(sheet, paths=tuple(paths))


async def test_the_question_has_the_directory_and_the_added_variables() -> None:
    with pytest.raises(Parked) as parked:
        await gate().authorize(action(TERMINAL, command="make", working_dir="sub", env_vars={"LANG": "C"}), Answers())
    assert (parked.value.question.action.cwd, parked.value.question.action.variables) == (f"{WORKSPACE}/sub", {"LANG": "C"})
