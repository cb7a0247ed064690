"""What it costs to check 10,000 unchanged files for undo, beside a bare walk with stat in the same run: `python benchmarks/undo.py`."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from neuralclaw.sandbox.running_call import RunningCall
from neuralclaw.sandbox.undo.contents import KeptContents
from neuralclaw.sandbox.undo.saved_tree import SavedTree
from neuralclaw.sandbox.undo.tree_scan import ScanLimits

FILES, ROUNDS = 10_000, 15
LIMITS = ScanLimits(50_000_000, 1_000_000_000, 100_000)
CALL = RunningCall("s", 1, "c", "terminal")


def timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def walk(root: Path) -> None:
    for place, _, names in os.walk(root):
        for name in names:
            os.lstat(f"{place}/{name}")


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        root, kept = Path(directory, "w"), f"{directory}/kept"
        for number in range(FILES):
            place = root / f"d{number // 100}"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"f{number}").write_text(f"{number}\n" * 20)

        def tree() -> SavedTree:
            return SavedTree(str(root), f"{kept}/trees", KeptContents(f"{kept}/contents"), LIMITS)

        first = timed(lambda: tree().look())
        time.sleep(0.1)  # files that were just written are read once more
        same = tree()
        same.look()
        before, after, fresh, bare = [], [], [], []
        for _ in range(ROUNDS):
            bare.append(timed(lambda: walk(root)))
            before.append(timed(lambda: same.begin(CALL)))
            after.append(timed(lambda: same.finish(CALL)))
            same.recorded(CALL)
            fresh.append(timed(lambda: tree().look()))
        print(f"first copy of {FILES:,} files: {first:,.0f} ms")
        for name, found in (("os.walk with stat", bare), ("before a command", before), ("after it", after), ("in a new process", fresh)):
            print(f"{name:20} median {statistics.median(found):6.1f} ms   most {max(found):6.1f} ms")


if __name__ == "__main__":
    main()
