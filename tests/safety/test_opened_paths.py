"""What the words of a command name outside the workspace stands in its envelope, so that a sandbox that hides the rest of a home shows it."""

from posixpath import join
from typing import Any

import msgspec
import pytest

from neuralclaw.safety.paths import is_public
from neuralclaw.sandbox.visible import places
from neuralclaw.types.questions import Answers
from neuralclaw.types.signals import Denied, Parked
from neuralclaw.types.tools import ToolSpec

from .parts import POLICY, TERMINAL, WORKSPACE, WRITE, FakeFacts, action, answered, gate

pytestmark = pytest.mark.anyio


async def opened(command: str, *, asks: bool) -> tuple[str, ...]:
    """What may be read besides the workspace, after a yes where the command asks."""
    call, answers = action(TERMINAL, command=command), Answers()
    if asks:
        with pytest.raises(Parked) as parked:
            await gate().authorize(call, answers)
        assert any("which is outside the workspace" in reason for reason in parked.value.question.reasons)
        answers = answered(parked.value.question.hash, "once")
    grant = await gate().authorize(call, answers)
    return tuple(path for path in grant.envelope.read if path != WORKSPACE)


UNASKED = ("cat notes.txt", "echo x > /dev/null", "cat /etc/hosts /usr/share/dict/words")
"""They name nothing outside the workspace but the system's public places."""


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cat notes.txt", ()),
        ("cat /home/ann/notes.txt", ("/home/ann/notes.txt",)),
        ("cat ~/notes.txt ../other/x", ("/home/ann/notes.txt", "/home/ann/other/x")),
        ("grep -r word ~/code | head", ("/home/ann/code",)),
        ("head -n 3 < ~/notes.txt", ("/home/ann/notes.txt",)),
        ("cat ~/code/*.py", ("/home/ann/code",)),
        ("echo x > /dev/null", ()),
        ("cat /etc/hosts /usr/share/dict/words", ()),
    ],
)
async def test_a_path_in_the_words_is_asked_about_and_opened(command: str, paths: tuple[str, ...]) -> None:
    assert await opened(command, asks=command not in UNASKED) == paths


@pytest.mark.parametrize("command", ["cat ~/co*/x.py", "ls ~", "ls ..", "ls /home", "ls /", "find ~ -name d.txt", "cp -r ~ copy", "ls ~/*"])
async def test_a_whole_home_is_refused_without_a_question_since_a_yes_would_open_nothing(command: str) -> None:
    with pytest.raises(Denied, match="holds the agent's own data or a whole home, which is not opened to a command"):
        await gate().authorize(action(TERMINAL, command=command), Answers())


@pytest.mark.parametrize(
    ("command", "said", "place"),
    [
        ("touch .envrc", "writes .envrc, which direnv runs", ".envrc"),
        ("mv .envrc old", "moves .envrc to old, writes .envrc, which direnv runs", ".envrc"),
        ("rm -r .vscode", "deletes .vscode, which the editor runs", ".vscode"),
        ("mkdir d && cp ~/x/.envrc d/", "writes d/.envrc, which direnv runs", "d/.envrc"),
        ("curl -sS https://a.test/ -o AGENTS.md", "writes AGENTS.md, which later turns take as instructions", "AGENTS.md"),
        ("git checkout HEAD -- .github/ci.yml", "deletes work that git does not keep, writes .github/ci.yml, which the service", ".github/ci.yml"),
        ("git rm -q .pre-commit-config.yaml", "writes .pre-commit-config.yaml, which pre-commit runs", ".pre-commit-config.yaml"),
        ("git restore AGENTS.md", "writes AGENTS.md, which later turns", "AGENTS.md"),
        ("echo x >> ~/.profile", "writes /home/ann/.profile (outside the workspace)", "/home/ann/.profile"),
    ],
)
async def test_a_place_that_code_is_run_from_is_asked_about_by_its_name_and_the_yes_opens_it(command: str, said: str, place: str) -> None:
    call = action(TERMINAL, command=command)
    with pytest.raises(Parked) as parked:
        await gate().authorize(call, Answers())
    assert said in parked.value.question.summary
    grant = await gate().authorize(call, answered(parked.value.question.hash, "once"))
    assert join(WORKSPACE, place) in grant.envelope.write


async def test_a_place_of_keys_is_not_opened_by_naming_it() -> None:
    for path in ("~/.ssh/id_rsa", "/etc/shadow", "~/.local/share/neuralclaw/journal.db"):
        with pytest.raises(Denied):
            await opened(f"cat {path}", asks=False)


def test_what_a_sandbox_shows_to_every_command_is_read_unasked_and_what_is_beside_it_is_not() -> None:
    for place in (*places().public, places().processes):
        assert is_public(place), place
        assert is_public(f"{place}/below"), place
        assert not is_public(f"{place}-beside"), place
    assert not is_public("/var/lib")


OWN = msgspec.structs.replace(POLICY, own_places=(f"{WORKSPACE}/.venv", "/srv/claw"))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (TERMINAL, {"command": "echo x > .venv/bin/bwrap"}),
        (TERMINAL, {"command": "rm -rf .venv"}),
        (TERMINAL, {"command": "cp x .v*/bin/bwrap"}),
        (TERMINAL, {"command": "cp x /srv/claw/lib/x.py"}),
        (WRITE, {"path": ".venv/lib/x.py", "content": "x"}),
    ],
)
async def test_the_program_of_the_agent_itself_is_not_changed_by_any_call(tool: ToolSpec, arguments: dict[str, Any]) -> None:
    with pytest.raises(Denied) as denied:
        await gate(OWN).authorize(action(tool, **arguments), Answers())
    assert "the program of the agent itself" in str(denied.value.verdict.reasons)


async def test_the_program_of_the_agent_itself_may_be_read() -> None:
    assert await gate(OWN).authorize(action(TERMINAL, command="cat .venv/pyvenv.cfg"), Answers())


async def test_an_allowed_path_that_is_too_much_is_named_with_its_setting() -> None:
    policy = msgspec.structs.replace(POLICY, allowed_paths=("/home/ann",))
    verdict = await gate(policy, FakeFacts(allowed=("/home/ann",))).judge(action(TERMINAL, command="touch a"))
    reasons = [rule.reason for rule in verdict.rules if rule.id == "path.readonly"]
    assert reasons == ["/home/ann, which tools.filesystem.allowed_paths names, is too much to be written unasked"]
