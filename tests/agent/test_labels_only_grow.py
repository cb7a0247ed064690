"""Labels of files only grow, whatever the calls do, until a file tool deletes the file."""

import random
from typing import Any

import msgspec
import pytest

from neuralclaw.app.flow.file_labels import FileLabels
from neuralclaw.app.flow.labelled_files import BELOW, fold
from neuralclaw.app.undo.undo_events import ChangesSaved
from neuralclaw.types.entries import Entry, Header
from neuralclaw.types.events import ToolFinished
from neuralclaw.types.labels import Labels
from neuralclaw.types.tools import FileChange

FILES = ("/w/a", "/w/b", "/w/d/c")
LABELS = ("agent", "owner", "private", "public", "external:web/a.example", "external:tool/mail", "external:workspace")


class TableInMemory:
    """The rows of the table."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}

    def get(self, **key: Any) -> dict[str, Any] | None:
        return self.kept.get(key["path"])

    def put(self, **values: Any) -> None:
        self.kept[values["path"]] = values

    def delete(self, **key: Any) -> None:
        self.kept.pop(key["path"], None)

    def files(self) -> dict[str, Labels]:
        return {path: frozenset(msgspec.json.decode(row["labels"], type=list[str])) for path, row in self.kept.items() if path.startswith("/")}

    def labels(self) -> FileLabels:
        """What a reader makes of the rows."""
        read = FileLabels()
        for path, labels in self.files().items():
            read.put(path, labels)
        return read


def entry(record: int, body: ToolFinished | ChangesSaved, labels: tuple[str, ...]) -> Entry:
    header = Header(record=record, session="s", entry=record, turn=1, kind=body.type, version=1, time=0, labels=labels, digest="", hash="")
    return Entry(header=header, body=body)


@pytest.mark.invariant("flow.labels-join")
@pytest.mark.parametrize("seed", range(20))
def test_labels_of_files_only_grow(seed: int) -> None:
    chance, table = random.Random(seed), TableInMemory()
    for record in range(1, 120):
        labels = tuple(chance.sample(LABELS, chance.randrange(1, 5)))
        paths = tuple(chance.sample(FILES, chance.randrange(1, 3)))
        deleted = set(paths) if chance.random() < 0.1 else set()
        before = table.files()
        outside = {label for label in labels if label.startswith("external:")}
        if chance.random() < 0.4:
            hidden = chance.random() < 0.3
            saved = ChangesSaved(call_id=f"c{record}", tool="terminal", changes="", created=len(paths) + hidden, paths=paths, top="/w")
            fold(entry(record, saved, ("agent", "private")), table)
            fold(entry(record, ToolFinished(call_id=f"c{record}", name="terminal", ok=True, content=""), labels), table)
            assert not outside or not hidden or outside <= table.files()["/w" + BELOW]
            deleted = set()
        else:
            changes = tuple(FileChange(path, None, None if path in deleted else "x") for path in paths)
            fold(entry(record, ToolFinished(call_id=f"c{record}", name="write_file", ok=True, content="", changes=changes), labels), table)
        after = table.files()
        for path in FILES:
            if path not in deleted:
                assert before.get(path, frozenset()) <= after.get(path, frozenset())
        for path in set(paths) - deleted:
            assert outside <= table.labels().of(path)
            assert outside <= table.labels().below("/w")
        assert not [key for key in table.kept if key.startswith("call:")]
