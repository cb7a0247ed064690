"""What only SQLite understands is said in few files, so that a second database is a second one of each of these."""

import re
from pathlib import Path

import pytest

from neuralclaw import store

OWN = re.compile(r"PRAGMA|INSERT OR|BEGIN IMMEDIATE|ON CONFLICT|INDEXED BY|WITHOUT ROWID|STRICT|sqlite_master|\bTEMP\b|wal_checkpoint|iif\(")
FILES = {"connection.py", "database_copy.py", "dialect.py", "migrations.py", "readers.py", "temporary_tables.py"}
PLACE = Path(store.__file__).parent


@pytest.mark.parametrize("path", sorted(PLACE.glob("*.py")), ids=lambda path: path.name)
def test_words_of_sqlite_alone_stand_in_its_own_files(path: Path) -> None:
    found = [line for line in path.read_text().splitlines() if OWN.search(line)]
    assert bool(found) == (path.name in FILES), found
