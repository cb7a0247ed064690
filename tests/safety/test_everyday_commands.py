"""How many everyday commands ask: as docs/gate.md says, and no more than may."""

from pathlib import Path

import pytest

from neuralclaw.types.risk import Decision

from .asking import READING, WORKING, asking, fill, table

pytestmark = pytest.mark.anyio
PAGE = Path(__file__).parents[2] / "docs" / "gate.md"


async def test_the_page_says_how_many_of_the_everyday_commands_ask(tmp_path: Path) -> None:
    fill(tmp_path)
    rows, _ = await table(tmp_path)
    assert rows in PAGE.read_text(), rows
    assert len(set(READING)) == len(set(WORKING)) == 250


async def test_at_most_one_in_twenty_reading_commands_asks_and_none_is_refused(tmp_path: Path) -> None:
    fill(tmp_path)
    found = await asking(tmp_path, READING, sandbox=True)
    assert len(found[Decision.ASK]) <= 12, found[Decision.ASK]
    assert found[Decision.FORBID] == []
