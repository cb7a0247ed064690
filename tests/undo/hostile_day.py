"""Commands that a careless, or malicious, agent may run: what stands there first, then what is done. `python -m tests.undo.hostile_day` runs them all."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from neuralclaw.sandbox.running_call import RunningCall
from neuralclaw.sandbox.undo.contents import KeptContents
from neuralclaw.sandbox.undo.path_states import PathChange
from neuralclaw.sandbox.undo.restoring import Restoration
from neuralclaw.sandbox.undo.saved_tree import SavedTree
from neuralclaw.sandbox.undo.tree_scan import LINKED, ScanLimits

from .trees import standing

CALL = RunningCall("s", 1, "c", "terminal")
LIMITS = ScanLimits(1_000_000, 100_000_000, 50_000)
GIT = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=main"
ONE_COMMIT = f"{GIT} init -q; echo 1 > a; git add a; {GIT} commit -qm 1"

CASES: dict[str, tuple[str, str]] = {
    "names": (
        r"touch -- -rf '--' '...' ' ' 'a ' $'a\nb' $'\xff\xfe' $(printf 'x%.0s' {1..255}) .neuralclaw-0123456789abcdef running-x manifest carried-y lock a A",
        'for f in ./* ./.n*; do echo 2 > "$f"; done; mv ./A t; mv a A; mv t a; rm manifest ./-rf; mv .neuralclaw-0123456789abcdef .neuralclaw-1',
    ),
    "odd directories": (r"mkdir $'d\n\x01'; echo 1 > $'d\n\x01'/$'\xff'", r"mv $'d\n\x01' e; rm e/*"),
    "files become directories": (
        "echo 1 > f; mkdir -p d/e; echo 2 > d/e/x; ln -s d l",
        "rm f; mkdir f; echo 3 > f/f; rm -r d; echo 4 > d; rm l; mkdir l; echo 5 > l/e",
    ),
    "and back": ("echo 1 > f; mkdir -p d/e; echo 2 > d/e/x", "rm f; mkdir f; rmdir f; echo 1 > f; mv d dd; mkdir d; mv dd d/e2"),
    "directories become links": ("mkdir -p d/e; echo 1 > d/e/f; mkdir x; echo 2 > x/e", "rm -r d; ln -s x d; rm -r x; ln -s d x"),
    "a directory becomes a link outside": ("mkdir -p d/e; echo 1 > d/e/f", "mv d ../moved; ln -s $PWD/../moved d; echo 3 > d/e/f"),
    "hard links": ("echo 1 > a; ln a b; ln a ../out; mkdir d; ln a d/c", "echo 2 > b; rm a; echo new > a; ln d/c e; rm d/c"),
    "modes": (
        "echo 1 > a; chmod 4755 a; mkdir t; chmod 1777 t; mkdir g; chmod 2775 g; echo x > g/x; chmod 2711 g/x",
        "rm a; rm -r t; chmod 0700 g; echo y > g/x; rm -r g",
    ),
    "the mode of the workspace": ("touch a", "chmod 750 .; rm a"),
    "closed directories": ("mkdir -p r/s; echo 1 > r/s/f; chmod 500 r/s r", "chmod 700 r r/s; echo 2 > r/s/f; echo 3 > r/s/n; chmod 500 r/s r"),
    "times that are put back": ("echo aaaa > f; touch -d 2020-01-01 f", "cp -p f k; echo bbbb > f; touch -r k f; rm k"),
    "times": ("echo 1 > a; mkdir d; touch -d 1999-01-01 d a", "touch a; touch d; touch -d 1950-01-01 a"),
    "a repository removed and made again": (ONE_COMMIT, f"rm -rf .git; {GIT} init -q; echo 2 > a; git add a; {GIT} commit -qm 2"),
    "a repository packed": (
        f"{GIT} init -q; for i in 1 2 3 4; do echo $i > a; git add a; {GIT} commit -qm $i; done",
        f"git gc -q --prune=now; git repack -adq; {GIT} tag x",
    ),
    "a repository rebased": (ONE_COMMIT, f"git worktree add -q wt -b w; git stash; {GIT} commit --allow-empty -qm 2; git rebase -q HEAD~1"),
    "sparse files": ("truncate -s 900000 s; echo x >> s; truncate -s 950000 s", "rm s"),
    "links": (
        "ln -s loop loop; ln -s /proc/self/root p; ln -s $(printf 'y%.0s' {1..1000}) long; mkdir d; ln -s ../.. d/up",
        "rm -f loop p long d/up; ln -s p loop; ln -s / d/up; ln -s . p",
    ),
    "pipes": ("mkfifo p; mkdir d; mkfifo d/q; chmod 0444 d/q", "rm p; touch p; rm -r d"),
    "everything": ("for i in {1..500}; do echo $i > f$i; done", "find . -delete; mkdir x; for i in {1..200}; do echo $i > x/f$i; done"),
    "depth": ("p=.; for i in {1..90}; do p=$p/d; mkdir $p; echo $i > $p/f; done", "rm -r d; echo x > d"),
    "swapped directories": ("mkdir a b; echo 1 > a/1; echo 2 > b/2", "mv a t; mv b a; mv t b"),
    "names that go round": ("echo 1 > a; echo 2 > b; echo 3 > c", "mv a t; mv b a; mv c b; mv t c"),
}


class Day:
    """A workspace, and what is kept of it."""

    def __init__(self, place: Path) -> None:
        self.root = place / "w"
        self.root.mkdir(exist_ok=True)
        self.contents = KeptContents(str(place / "kept" / "contents"))
        self.tree = SavedTree(str(self.root), str(place / "kept" / "trees"), self.contents, LIMITS)

    def run(self, script: str) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.root.parent)}
        subprocess.run(["bash", "-c", script], cwd=self.root, capture_output=True, env=env, check=False)

    def begin(self) -> list[str]:
        self.tree.look()
        return [one.why for one in self.tree.begin(CALL)[0]]

    def end(self) -> list[PathChange]:
        state = self.tree.finish(CALL)
        self.tree.recorded(CALL)
        return state.changes

    def undo(self, changes: list[PathChange]) -> list[str]:
        return self.redo([change.reversed for change in changes])

    def redo(self, changes: list[PathChange]) -> list[str]:
        _, left = Restoration(changes, [str(self.root)], self.contents).run()
        return [f"{os.fsdecode(one.path)}: {one.why}" for one in left]


def live_through(place: Path, case: str) -> None:
    """Do it, undo it, redo it and undo it again; each time everything stands byte for byte as it did."""
    first, then = CASES[case]
    day = Day(place)
    day.run(first)
    before = (standing(day.root), day.root.stat().st_mode)
    assert set(day.begin()) <= {LINKED}
    day.run(then)
    after = (standing(day.root), day.root.stat().st_mode)
    changes = day.end()
    assert changes
    for step, wanted in ((day.undo, before), (day.redo, after), (day.undo, before), (day.redo, after), (day.undo, before)):
        assert step(changes) == []
        assert (standing(day.root), day.root.stat().st_mode) == wanted, case


if __name__ == "__main__":
    for name in CASES:
        directory = Path(tempfile.mkdtemp())
        try:
            live_through(directory, name)
        finally:
            subprocess.run(["chmod", "-R", "u+rwX", str(directory)], check=False)
            shutil.rmtree(directory)
    print(len(CASES))  # noqa: T201
