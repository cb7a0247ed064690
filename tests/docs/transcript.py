"""Runs the commands of the pages and compares, or writes, what they print: `python -m tests.docs.transcript [--write] [PAGE...]`."""

import argparse
import difflib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from .pages import HOME, ROOT, Step, fits, ids, packages, pages, steps

SECONDS = 60
"""How long one block may take; then it and all it started are stopped, with exit code 124."""


class Difference(NamedTuple):
    """A step that did not do what its page shows: where, the reason, and the output as it is now."""

    step: Step
    why: str
    output: str


class Terminal:
    """A bash in a fresh home, with the offline model and no key: what a new user has. Steps share files, not variables.

    `packages`: folders of this repository that pip installs first, for the programs of this terminal alone.
    """

    def __init__(self, place: Path, packages: Sequence[str] = ()) -> None:
        self.home = place / "you"
        self.workspace = self.home / "project"
        self.workspace.mkdir(parents=True)
        self._environment = {
            "HOME": str(self.home),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }
        if packages:
            self._environment["PYTHONPATH"] = str(place / "packages")
        for package in packages:
            self._install(ROOT / package, place / "packages")

    def _install(self, package: Path, target: Path) -> None:
        words = ["install", "-q", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--target", str(target), str(package)]
        subprocess.run([sys.executable, "-m", "pip", *words], check=True, capture_output=True, timeout=SECONDS)

    def run(self, command: str) -> tuple[int, str]:
        """Exit code and what it printed, standard error among it, with the home's path as the pages write it."""
        shell = ["timeout", "-k", "2", str(SECONDS), "bash", "--norc", "-euo", "pipefail", "-c", command.replace(HOME, str(self.home))]
        done = subprocess.run(
            shell,
            cwd=self.workspace,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout.replace(str(self.home), HOME)


def differences(text: str, place: Path) -> list[Difference]:
    """Runs a page's steps in order; what differs from what it shows."""
    terminal, known, found = Terminal(place, packages(text)), ids(text), list[Difference]()
    real: dict[str, str] = {}
    for step in steps(text):
        command = step.command.text
        for name, value in real.items():
            command = command.replace(name, value)
        code, output = terminal.run(command)
        for name, value in real.items():
            output = output.replace(value, name)
        if code != step.exit:
            found.append(Difference(step, f"exit code {code}, not {step.exit}", output))
        if step.shown is None:
            continue
        match = fits(step.shown.text, known).fullmatch(output)
        if match is None:
            found.append(Difference(step, "another output", output))
            continue
        learned = {known[int(group[2:])]: value for group, value in match.groupdict().items() if group.startswith("id") and value}
        real.update({name: value for name, value in learned.items() if name not in real})
    return found


def report(page: Path, difference: Difference) -> str:
    """One difference for a person."""
    line = page.read_text(encoding="utf-8")[: difference.step.command.start].count("\n") + 1
    shown = difference.step.shown
    lines = difflib.unified_diff((shown.text if shown else "").splitlines(), difference.output.splitlines(), "the page", "the run", lineterm="")
    return "\n".join([f"{page.relative_to(ROOT)}:{line}: {difference.why}", *lines])


def rewritten(text: str, found: list[Difference]) -> str:
    """The page with the outputs of now, from the last to the first so that places stay true."""
    for difference in sorted(found, key=lambda each: -each.step.command.start):
        shown = difference.step.shown
        if shown:
            text = text[: shown.start] + difference.output + text[shown.end :]
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the outputs of now into the pages")
    parser.add_argument("page", nargs="*", type=Path)
    given = parser.parse_args()
    bad = 0
    for page in [path.resolve() for path in given.page] or pages():
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as place:
            found = differences(text, Path(place))
        bad += len(found)
        for difference in found:
            sys.stdout.write(report(page, difference) + "\n")
        if given.write and found:
            page.write_text(rewritten(text, found), encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
