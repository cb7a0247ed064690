"""Turns of everyday commands, undone: byte for byte, with modes, links and times."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from ..agent import kit
from ..ordinary_user import ORDINARY, run_as
from .trees import standing

pytestmark = pytest.mark.anyio

COMMANDS = """\
touch new.txt
touch -d 2001-01-01 a.txt
echo more >> a.txt
sed -i s/one/ONE/ a.txt
sed -i.bak s/two/TWO/ a.txt
mv a.txt b.txt
mv src lib
rm a.txt
rm -r src
rm -r src empty a.txt
mkdir -p deep/er/est
rmdir empty
cp -a src copy
cp a.txt src/
cp -f src/app.py a.txt
chmod 600 a.txt
chmod 711 src/app.py
chmod 0500 src
chmod -R go-rwx .
ln -s a.txt another
ln a.txt hard2
ln -sfn src link
rm hard
rm link
rm dangling
mv link moved-link
echo over > hard
cat a.txt > src/app.py
truncate -s 0 a.txt
truncate -s 100000 a.txt
tar cf all.tar src a.txt
tar cf all.tar src && rm -r src && tar xf all.tar
tar xf kept.tar
tar xf kept.tar -C empty
gzip kept.tar
gzip -k kept.tar
split -l 1 a.txt part-
sort -r a.txt -o a.txt
git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm one
git -C repo checkout -qf other
git -C repo checkout -q -b third
git -C repo rm -qf tracked
git -C repo mv tracked renamed
git -C repo reset -q --hard HEAD~1
git -C repo stash
git -C repo clean -fdq
git -C repo -c user.name=a -c user.email=a@b commit -qam more
git -C repo branch -D other
git -C repo gc -q
make all
make -s all
make all && rm -r out && mkdir out
python3 -m compileall -q src
python3 -m unittest -q src/test_app.py
python3 -c "open('made.bin','wb').write(bytes(range(256)))"
python3 -c "import os; os.rename('a.txt','src/a.txt')"
python3 -c "import shutil; shutil.rmtree('src')"
python3 -c "import os; os.utime('a.txt',(1,1))"
python3 -c "import os; os.mkfifo('pipe')"
rm a.txt && mkdir a.txt
rm -r src && echo file > src
rm link && mkdir link && touch link/x
rm a.txt && ln -s /etc/hostname a.txt
mkdir a && cd a && touch b && mkdir c
mv a.txt x && mv src/app.py a.txt && mv x src/app.py
find . -name '*.py' -delete
find src -type f -exec chmod 640 {} +
find . -name '*.txt' | xargs sed -i s/o/0/
for i in 1 2 3; do echo $i > n$i; done
for f in *.txt; do mv "$f" "$f.old"; done
awk '{print > ("w-" NR)}' a.txt
tee t1 t2 < a.txt
: > a.txt
install -m 700 a.txt installed
cp -l a.txt linked
patch -s a.txt fix.diff
cp --preserve=all a.txt copied.bin
printf 'x' | tee -a a.txt
echo 'ü' > 'ümlaut ü'
touch -- '-dash'
touch "$(printf 'new\\nline')"
touch "$(printf '\\377bad')"
rm "$(printf 'odd\\nname')"
mv "$(printf 'odd\\nname')" even
rm "$(printf '\\376')"
echo x > "$(printf '\\376')"
chmod 000 src/app.py
chmod a-w a.txt
ln -s ../.. up
ln -sf nowhere link
rm -r -f -- repo
mv repo elsewhere
mv repo/.git repo/git
echo '*' > .gitignore
mkdir node_modules && touch node_modules/a
touch .hidden
rm -r repo src empty kept.tar Makefile
find . -mindepth 1 -delete
tr a-z A-Z < a.txt > upper && mv upper a.txt
python3 -c "import pathlib; [p.write_text('x') for p in pathlib.Path().rglob('*.py')]"
touch src/app.py src/test_app.py
mkdir -m 700 private
rm fix.diff Makefile
cp kept.tar again.tar
cat kept.tar kept.tar > twice.tar
""".splitlines()
FIRST = r"""
printf 'one\ntwo\nthree\n' > a.txt; mkdir src empty; echo 'print(1)' > src/app.py; chmod 755 src/app.py
printf 'import unittest\nclass T(unittest.TestCase):\n def test(self): pass\n' > src/test_app.py
ln -s a.txt link; ln -s nowhere dangling; ln a.txt hard; tar cf kept.tar src; touch "$(printf 'odd\nname')"; echo 1 > "$(printf '\376')"
printf 'all:\n\tmkdir -p out; cp a.txt out/built\nclean:\n\trm -rf out\n' > Makefile
printf -- '--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n-one\n+uno\n two\n three\n' > fix.diff
g() { git -C repo -c user.name=a -c user.email=a@b "$@"; }
git init -q -b main repo; echo 1 > repo/tracked; g add .; g commit -qm 1; g checkout -qb other
echo 2 > repo/tracked; echo 3 > repo/extra; g add .; g commit -qm 2
g checkout -q main; echo 4 > repo/more; g add .; g commit -qm 3; echo untracked > repo/loose; echo changed > repo/tracked
touch -d '2020-01-01 01:02:03.123456789' a.txt src/app.py; chmod 640 kept.tar
"""


def first(workspace: Path) -> None:
    """What stands in the workspace of these tests."""
    workspace.mkdir(exist_ok=True)
    subprocess.run(["bash", "-ec", FIRST], cwd=workspace, check=True, env={"PATH": os.environ["PATH"], "HOME": str(workspace)})


@contextmanager
def days_work(place: Path) -> Iterator[tuple[Path, Path]]:
    workspace, home = place / "w", place / "h"
    first(workspace)
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text("memory: {max_short_term_turns: 1000, compaction: {entries: 1000}}\n")  # the script has no summaries
    yield workspace, home


async def run_all(place: Path, commands: list[str]) -> int:
    """Run each command in a turn, undo it, and compare; every tenth is redone and undone again. How many were undone."""
    with days_work(place) as (workspace, home):
        replies: list[Any] = [part for command in commands for part in (kit.calls(kit.call("terminal", command=command)), "done")]
        before, undone = standing(workspace), 0
        async with kit.agent(home, *replies, workspace=workspace, approvals="auto", trust="high") as agent:
            for number, command in enumerate(commands, 1):
                await kit.events(agent, f"turn {number}", session="work")
                after = standing(workspace)
                report = await agent.do("undo", session="work", turn=number)
                assert not report["left"], (command, report)
                assert standing(workspace) == before, command
                undone += bool(report["restored"])
                if number % 10 == 0 and report["restored"]:
                    redone = await agent.do("redo", session="work")
                    assert not redone["left"], (command, redone)
                    assert standing(workspace) == after, command
                    assert not (await agent.do("undo", session="work"))["left"]
                    assert standing(workspace) == before, command
        return undone


@pytest.mark.full
async def test_a_hundred_turns_of_everyday_commands_are_undone_byte_for_byte(tmp_path: Path, record_property: Any) -> None:
    record_property("cases", len(COMMANDS))
    assert len(COMMANDS) >= 100
    assert await run_all(tmp_path, COMMANDS) >= 95


@pytest.mark.full
def test_so_they_are_where_an_ordinary_user_runs_the_agent() -> None:
    place = Path(tempfile.mkdtemp())
    try:
        os.chown(place, ORDINARY, -1)
        env = {"PATH": os.environ["PATH"], "HOME": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
        words = [sys.executable, "-m", "tests.undo.test_turns", str(place)]
        done = run_as(ORDINARY, words, env=env)
        assert done.returncode == 0, done.stderr
        assert int(done.stdout.split()[0]) >= 95
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":  # as another user: `python -m tests.undo.test_turns DIRECTORY`
    print(anyio.run(run_all, Path(sys.argv[1]), COMMANDS), "of", len(COMMANDS))  # noqa: T201
