"""What a rule of the owner keeps from commands is kept by every sandbox, from scripts too."""

from pathlib import Path

import pytest

from neuralclaw.sandbox.container.mounted import mounted

from .grants import command_grant
from .processes import sandbox, sh

pytestmark = pytest.mark.anyio

SCRIPT = (
    "cat secrets.txt private/a; echo x > secrets.txt; echo x > private/a; rm -f secrets.txt; mv private other; cat other/a; ln secrets.txt linked; cat linked; "
    "echo seen > work/new; cat work/new"
)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "private").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "secrets.txt").write_text("SECRET")
    (tmp_path / "private/a").write_text("SECRET")
    return tmp_path


@pytest.mark.invariant("gate.owner-kept")
@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
async def test_a_script_neither_reads_nor_changes_what_a_rule_forbids(kind: str, workspace: Path) -> None:
    kept = (str(workspace / "secrets.txt"), str(workspace / "private"))
    done = await sh(sandbox(kind), command_grant(workspace, unseen=kept), SCRIPT)
    assert done.stdout == b"seen\n"
    assert (workspace / "secrets.txt").read_text() == (workspace / "private/a").read_text() == "SECRET"
    assert "is kept from commands by a rule of the owner" in done.refused


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
async def test_a_script_reads_and_does_not_change_what_a_rule_forbids_to_write(kind: str, workspace: Path) -> None:
    kept = (str(workspace / "secrets.txt"), str(workspace / "private"))
    script = "cat secrets.txt private/a; echo x > secrets.txt; echo x > private/a; rm -f secrets.txt private/a; mv private other; mv secrets.txt s"
    done = await sh(sandbox(kind), command_grant(workspace, unchanged=kept), script)
    assert done.stdout == b"SECRETSECRET"
    assert (workspace / "secrets.txt").read_text() == (workspace / "private/a").read_text() == "SECRET"
    assert sorted(path.name for path in workspace.iterdir()) == ["private", "secrets.txt", "work"]


def test_a_container_covers_what_a_rule_forbids(workspace: Path) -> None:
    envelope = command_grant(workspace, unseen=(str(workspace / "private"),), unchanged=(str(workspace / "secrets.txt"),)).envelope
    seen = mounted(envelope, str(workspace), home="/home/person", hidden=(), read_only=False, rootless=False)
    assert seen.hidden == (str(workspace / "private"),)
    assert str(workspace / "secrets.txt") in seen.kept
