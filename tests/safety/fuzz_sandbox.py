"""Runs lines with real bash, each in a directory as it was prepared, and says which ones changed something there.

This file is also what bubblewrap starts: without network, on a machine that is read-only but for that directory.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

FILES = {
    "a.txt": "alpha\nbeta\n",
    "b.txt": "beta\n",
    "y.txt": "y\n",
    "j.json": "{}\n",
    "x.sh": "#!/bin/sh\ntouch HIT\n",
    "x.py": "open('HIT', 'w')\n",
    "x.js": "require('fs').writeFileSync('HIT', '')\n",
    "x.awk": 'BEGIN { system("touch HIT") }\n',
    "x.sed": "w HIT\n",
    "opts.txt": "-oHIT\n",
    "ssh.cfg": "Host *\n  ProxyCommand touch HIT\n",
    "curl.cfg": "url = file:///etc/hostname\noutput = HIT\n",
    "evil.mk": "X := $(shell touch HIT)\nall:\n\t+touch HIT\n",
    "sub/Makefile": "X := $(shell touch HIT)\nall:\n",
    "opt/-oHIT": "",
    "opt/plain": "x\n",
    "-oHIT": "",
    "evil.git/HEAD": "ref: refs/heads/m\n",
    "evil.git/config": "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ./x.sh\n\tworktree = ..\n",
    **{f"bin/{name}": "#!/bin/sh\n>HIT\n" for name in ("ls", "cat", "wc", "evil", "git-evil", "sort", "grep")},
}
SECONDS = 3


def prepare(place: Path) -> None:
    """The files that lines are about: ordinary ones, and hostile ones that anybody may have left in a directory."""
    for name, text in FILES.items():
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        if text.startswith("#!"):
            file.chmod(0o755)
    (place / "big.txt").write_text("some words\n" * 500)
    for name in ("objects", "refs/heads"):
        (place / "evil.git" / name).mkdir(parents=True, exist_ok=True)
    quiet = {"check": True, "capture_output": True, "cwd": place}
    subprocess.run(["git", "init", "-q", "-b", "m", "."], **quiet)  # type: ignore[call-overload]
    subprocess.run(["git", "add", "a.txt", "b.txt"], **quiet)  # type: ignore[call-overload]
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x"], **quiet)  # type: ignore[call-overload]
    subprocess.run(["tar", "cf", "a.tar", "b.txt"], **quiet)  # type: ignore[call-overload]
    (place / "a.txt").write_text("alpha\ngamma\n")


def run_all(place: Path, found: list[str]) -> list[list[str]]:
    """What each line changed in the directory; empty where it changed nothing. The directory is a copy of `place`, made anew after each change."""
    work = Path("/tmp/work/w")
    before = _copied(place, work)
    changes = []
    for text in found:
        _run(text, work)
        after = _listing(work)
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        changes.append(changed)
        if changed:
            before = _copied(place, work)
    return changes


def _copied(place: Path, work: Path) -> dict[str, tuple[int, int]]:
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(place, work, symlinks=True)
    subprocess.run(["git", "status"], cwd=work, capture_output=True, check=True)  # writes its index now rather than under a line
    return _listing(work)


def _listing(work: Path) -> dict[str, tuple[int, int]]:
    """Every file but the index of git, which reading commands refresh: size and time of change."""
    found = {}
    for directory, directories, names in os.walk(work):
        for name in (*directories, *names):
            path = os.path.join(directory, name)
            facts = os.lstat(path)
            found[os.path.relpath(path, work)] = (facts.st_mode, 0) if name in directories else (facts.st_size, facts.st_mtime_ns)
    found.pop(".git/index", None)
    return found


def _run(text: str, work: Path) -> None:
    """Run a line until the last of its processes has ended: each has the end of a pipe that is closed with it."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running, held = os.pipe()
    with subprocess.Popen(["bash", "-c", text], cwd=work, start_new_session=True, pass_fds=(held,), **quiet) as process:
        os.close(held)
        select.select([running], [], [], SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    os.close(running)


def changes_of(place: Path, found: list[str]) -> list[list[str]]:
    """`run_all` in bubblewrap."""
    system = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")
    mounts = (*system, "--ro-bind", str(place), "/tmp/place", "--dir", "/tmp/work", "--ro-bind", __file__, "/tmp/run.py")
    environment = ("--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8")
    program = (sys.executable, "-I", "/tmp/run.py")
    done = subprocess.run(
        ["bwrap", *mounts, *environment, "--unshare-all", "--die-with-parent", *program], input=json.dumps(found), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    changes: list[list[str]] = json.loads(done.stdout)
    return changes


if __name__ == "__main__":
    json.dump(run_all(Path("/tmp/place"), json.load(sys.stdin)), sys.stdout)
