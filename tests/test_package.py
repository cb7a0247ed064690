"""What is built for a package index: what is in it, what it says of itself, and that a checkout and a built package tell which they are."""

import email
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from neuralclaw import __version__
from neuralclaw.cli.version import checkout

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the sdist and the wheel of this tree, built without network."""
    target = tmp_path_factory.mktemp("dist")
    done = subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(target)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return target


def members(built: Path) -> tuple[set[str], set[str]]:
    """The files of the wheel, and those of the sdist without its top directory."""
    [wheel], [sdist] = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = set(archive.namelist())
    with tarfile.open(sdist) as packed:
        return in_wheel, {name.partition("/")[2] for name in packed.getnames()}


def test_the_wheel_and_the_sdist_hold_the_package_its_licence_and_nothing_else(built: Path) -> None:
    info = f"neuralclaw-{__version__}.dist-info"
    wheel, sdist = members(built)
    source = {
        path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "neuralclaw").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }
    assert wheel == source | {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    assert "neuralclaw/py.typed" in wheel
    files = {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "hatch_build.py", "PKG-INFO", ".gitignore"}
    assert sdist == {f"src/{name}" for name in source} | files


def test_the_package_says_what_it_is_and_under_which_licence(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        told = email.message_from_bytes(archive.read(f"neuralclaw-{__version__}.dist-info/METADATA"))
    assert (told["License-Expression"], told.get_all("License-File"), told["Author"]) == ("MIT", ["LICENSE"], "NeuralClaw contributors")
    assert told["Keywords"]
    assert "Typing :: Typed" in (told.get_all("Classifier") or [])
    assert told["Description-Content-Type"] == "text/markdown"
    page = str(told.get_payload())
    assert page.startswith("# NeuralClaw")
    assert re.findall(r"\]\((?!https?:|#)", page) == []  # an index has no files beside its page
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License\n\nCopyright (c) 2026 NeuralClaw contributors\n")


def hook() -> ModuleType:
    spec = spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_index_has_absolute_pictures_where_the_repository_is_known() -> None:
    page = "# N\n\n![A chat](docs/images/a.svg)\n\nSee the [guide](docs/guide.md), [part](#part) and [site](https://x.example).\n"
    assert hook().index_page(page, "", "1") == "# N\n\nSee the guide, [part](#part) and [site](https://x.example).\n"
    known = hook().index_page(page, "https://forge.example/n", "1")
    assert "![A chat](https://forge.example/n/raw/v1/docs/images/a.svg)" in known
    assert "[guide](https://forge.example/n/blob/v1/docs/guide.md), [part](#part)" in known


def version(place: Path) -> str:
    environment = {"PYTHONPATH": str(place), "PATH": os.defpath}
    done = subprocess.run([sys.executable, "-m", "neuralclaw", "--version"], cwd=place, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_built_package_gives_its_version_and_a_checkout_its_commit(built: Path, tmp_path: Path) -> None:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "src")
    assert version(tmp_path / "src") == f"neuralclaw {__version__}"
    git = tmp_path / ".git"
    git.mkdir()
    assert version(tmp_path / "src") == f"neuralclaw {__version__} (source checkout)"
    (git / "HEAD").write_text("0123456789abcdef0123456789abcdef01234567\n")
    assert version(tmp_path / "src") == f"neuralclaw {__version__} (source checkout, 0123456)"


def test_the_commit_is_read_as_git_reads_it(tmp_path: Path) -> None:
    assert checkout(str(tmp_path)) is None

    def git(*words: str, place: Path = tmp_path) -> str:
        given = ["-c", "user.name=a", "-c", "user.email=a@x.example", "-c", "init.defaultBranch=main", *words]
        return subprocess.run(["git", *given], cwd=place, capture_output=True, text=True, check=True).stdout.strip()

    git("init")
    assert checkout(str(tmp_path)) == ""
    git("commit", "--allow-empty", "-m", "one")
    first = git("rev-parse", "HEAD")
    assert checkout(str(tmp_path)) == first
    git("worktree", "add", "-b", "beside", str(tmp_path / "beside"))
    git("commit", "--allow-empty", "-m", "two", place=tmp_path / "beside")
    assert checkout(str(tmp_path / "beside")) == git("rev-parse", "beside") != first
    git("pack-refs", "--all")
    assert checkout(str(tmp_path)) == first
    assert checkout(str(tmp_path / "beside")) == git("rev-parse", "beside")
    git("checkout", "--detach")
    assert checkout(str(tmp_path)) == first


def test_the_metadata_name_no_place_that_is_not_there() -> None:
    assert "urls" not in PROJECT or PROJECT["urls"].get("Repository", "").startswith("https://")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://forge.example/o/n.git", "https://forge.example/o/n"),
        ("git@forge.example:o/n.git", "https://forge.example/o/n"),
        ("ssh://git@forge.example/o/n", "https://forge.example/o/n"),
        ("https://name:key@forge.example/o/n.git", ""),
        ("/srv/n", ""),
        ("file:///srv/n.git", ""),
    ],
)
def test_the_repository_is_the_one_that_the_checkout_was_cloned_from(url: str, address: str) -> None:
    config = f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n\tfetch = +refs/heads/*\n[branch "main"]\n\tremote = origin\n'
    assert hook().origin(config) == address
    assert hook().origin("[core]\n\tbare = false\n") == ""
