"""The README's two commands."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .pages import ROOT, blocks


def commands() -> list[str]:
    """The lines of the README's first two `sh` blocks, without those that fetch the source."""
    shell = [block for block in blocks((ROOT / "README.md").read_text(encoding="utf-8")) if block.language == "sh"]
    lines = [line for block in shell[:2] for line in block.text.splitlines()]
    return [line for line in lines if line and not line.startswith(("git clone", "cd "))]


def copied(target: Path) -> Path:
    """The files a clone would hold, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def bare_environment(home: Path) -> dict[str, str]:
    """This machine's way to its package index, without this environment's Python, and without a key or a home of anybody."""
    inner = Path(sys.prefix).resolve()
    path = [part for part in os.environ["PATH"].split(os.pathsep) if not Path(part).resolve().is_relative_to(inner)]
    kept = {
        name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.lower().endswith("_proxy") or name in ("SSL_CERT_FILE", "LANG")
    }
    return kept | {"PATH": os.pathsep.join(path), "HOME": str(home)}


@pytest.mark.full
def test_the_first_command_sets_up_and_does_the_main_job_without_a_key(tmp_path: Path, home: Path) -> None:
    source = copied(tmp_path / "clone")
    done = subprocess.run(
        ["bash", "-c", commands()[0]], cwd=source, env=bare_environment(home), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "README.md" in done.stdout
    assert done.stdout.rstrip().endswith("42")


def test_the_second_command_is_what_ci_runs() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert script[-1].endswith(f"exec {commands()[1]}")
    assert len(commands()) == 2
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_readme_shows_the_first_real_use_before_the_tests() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.index("It is for ") < text.index("## Start") < text.index("neuralclaw init") < text.index("$ neuralclaw  ") < text.index("bash tests/run")
    assert text.index("apt install bubblewrap") < text.index("bash tests/run")


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_every_locked_package_is_held_by_hash_and_names_no_place(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    entries = [entry for entry in text.replace("\\\n", " ").splitlines() if entry and not entry.startswith("#")]
    assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)
    assert not any(word in text for word in ("://", "--index", "--find-links", "--trusted-host", " @ "))


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_is_as_its_script_writes_it(name: str) -> None:
    names = re.findall(r"^([^ #=]+)==", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert names == sorted(re.sub(r"[-_.]+", "-", each).lower() for each in names)  # one has two versions where each is for other Pythons


def test_the_locks_hold_what_the_program_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {"requirements.lock": project["dependencies"], "requirements-dev.lock": [*project["dependencies"], *project["optional-dependencies"]["dev"]]}

    def key(requirement: str) -> str:
        return (
            requirement.partition(";")[0]
            .partition("[")[0]
            .partition(">")[0]
            .partition("=")[0]
            .partition("<")[0]
            .strip()
            .lower()
            .replace("_", "-")
            .replace(".", "-")
        )

    for name, requirements in wanted.items():
        locked = {key(line) for line in (ROOT / name).read_text(encoding="utf-8").splitlines() if "==" in line}
        assert {key(each) for each in requirements} - locked == set()


def test_the_changes_name_this_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"## {version}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
