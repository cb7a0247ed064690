"""Writes requirements.lock and requirements-dev.lock anew from pyproject.toml: every package with its version and hashes, for every Python and system.

    pip install uv && python scripts/lock.py

What is locked stays at its version where it still fits; `--upgrade` takes the newest. Nothing in the files is written by hand.
"""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCKS = {"requirements.lock": (), "requirements-dev.lock": ("--extra", "dev")}
COMPILE = ("uv", "pip", "compile", "--universal", "--generate-hashes", "--no-annotate", "--no-header", "--quiet")


def main(options: list[str]) -> None:
    """The packages of the program, and those that build it: the locks are installed without the network for anything else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    oldest = project["project"]["requires-python"].removeprefix(">=")
    with tempfile.TemporaryDirectory() as folder:
        build = Path(folder) / "build.in"
        build.write_text("\n".join(project["build-system"]["requires"]) + "\n", encoding="utf-8")
        for name, extra in LOCKS.items():
            subprocess.run([*COMPILE, "--python-version", oldest, *extra, "pyproject.toml", str(build), "-o", name, *options], cwd=ROOT, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
