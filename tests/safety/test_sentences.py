"""What a question says in one sentence."""

import pytest

from neuralclaw.types.actions import Answers
from neuralclaw.types.judging import Risk
from neuralclaw.types.options import Policy
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
        (action(DELETE, path="old.txt"), "delete_file: deletes 1 file"),
        (action(WRITE, path="docs/new.md"), "write_file: writes docs/new.md"),
        (action(FETCH, url="https://example.com/a"), "web_fetch: fetches from example.com"),
        (action(spec("mail", risk=Risk.HIGH), to="ann"), "mail: runs the tool mail"),
    ):
        with pytest.raises(Parked) as parked:
            await gate(ALL, FACTS).authorize(call, Answers())
        assert parked.value.question.summary == said


async def test_the_question_has_the_directory_and_the_added_variables() -> None:
    with pytest.raises(Parked) as parked:
        await gate().authorize(action(TERMINAL, command="make", working_dir="sub", env_vars={"LANG": "C"}), Answers())
    assert (parked.value.question.action.cwd, parked.value.question.action.variables) == (f"{WORKSPACE}/sub", {"LANG": "C"})
