"""What was refused, and what a policy says of a command, is shown with every hidden character marked."""

from pathlib import Path

import pytest

from .program import Claw

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("hidden", ["\u200b", "\u3164", "\ufe0f", "\U000e0041", "\u202e", "\x1b"])
async def test_a_refusal_and_an_explained_command_hide_no_character(home: Path, tmp_path: Path, hidden: str) -> None:
    claw = Claw(home, tmp_path / "work")
    refused = await claw("run", "--model", "offline", "--approvals", "none", f"run rm -r 'a{hidden}b'")
    explained = await claw("policy", "explain", "--command", f"rm -r 'a{hidden}b'")
    for ran in (refused, explained):
        assert hidden not in ran.out + ran.err, ran
        assert ascii(hidden)[1:-1] in ran.out + ran.err, ran
