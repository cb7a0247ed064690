"""A fresh virtual environment, into which pip installs the program from this checkout and a package from `examples/`."""

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.test_readme import bare_environment

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300.0


class FreshEnvironment:
    """An environment in which nothing but the program and what it needs is installed. Asks the package index alone.

    Raises `AssertionError` with pip's words.
    """

    def __init__(self, place: Path) -> None:
        self._place, self._home = place / "venv", place / "person"
        self._home.mkdir()
        self._run(sys.executable, "-m", "venv", str(self._place))
        self.python = str(self._place / "bin" / "python")
        self.pip("install", str(ROOT))

    @property
    def program(self) -> tuple[str, ...]:
        """The words that start the program that was installed."""
        return (self.python, "-W", "error", "-m", "neuralclaw")

    def pip(self, *words: str) -> None:
        self._run(self.python, "-m", "pip", "--disable-pip-version-check", "--no-input", words[0], "-q", *words[1:])

    def script(self, code: str, env: dict[str, str], cwd: Path) -> "subprocess.Popen[bytes]":
        """A Python program that runs in it, over pipes."""
        return subprocess.Popen([self.python, "-W", "error", "-c", code], env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _run(self, *words: str) -> None:
        environment = bare_environment(self._home) | {"TMPDIR": os.environ.get("TMPDIR", "/tmp")}
        done = subprocess.run(words, cwd=self._home, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
