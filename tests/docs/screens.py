"""Pictures of the chat in the README, taken of the real program in a real tmux: `python -m tests.docs.screens [--write]`.

A picture is an SVG of what tmux shows, made by rich; the model is scripted, everything else is as a person has it.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from tests import waiting
from tests.cli.model import Model, served
from tests.cli.program import DEADLINE, Claw

from .pages import ROOT
from .stage import normalised

PLACE = ROOT / "docs" / "images"
COLUMNS, ROWS = 92, 30
NOTES = "# House\n\n- call the boiler man\n- buy milk\n- paint the fense\n"
PLAN = """\
Done. The house list, by **what is urgent**:

| what | when | cost |
|---|---|---:|
| boiler man | Tuesday | 120 € |
| paint the fence | June | 45 € |

1. The boiler comes first: it drips.
2. Paint needs two dry days:

```python
dry = [day for day in forecast if day.rain < 0.1]
```
"""


class Tmux:
    """One window with the chat in it."""

    def __init__(self, claw: Claw) -> None:
        self._place = str(claw.home.parent)
        self._socket = str(claw.home.parent / "tmux")
        self._environment = claw.env | {"LC_ALL": "C.UTF-8"}
        program = Path(sys.executable).parent / "neuralclaw"
        self.run("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-c", str(claw.workspace), str(program))

    def run(self, *words: str) -> str:
        command = ["tmux", "-S", self._socket, "-f", os.devnull, *words]
        return subprocess.run(command, env=self._environment, check=True, capture_output=True, text=True).stdout

    def type(self, text: str) -> None:
        self.run("send-keys", "-l", text)
        self.run("send-keys", "Enter")

    def until(self, *wanted: str, gone: str = "\0") -> None:
        """Wait until all of it stands on the screen, and what shall be `gone` does not."""

        def shown() -> bool:
            screen = self.run("capture-pane", "-p")
            return all(word in screen for word in wanted) and gone not in screen

        async def wait() -> None:
            await waiting.until(shown, seconds=DEADLINE)

        anyio.run(wait)

    def picture(self, title: str) -> str:
        """The screen as SVG, without a reference to anything outside it; the directory of this run is called as a person's is."""
        from rich.console import Console
        from rich.text import Text

        with Path(os.devnull).open("w") as nowhere:
            console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
            console.print(Text.from_ansi(self.run("capture-pane", "-p", "-e").replace(self._place, "/home/you").rstrip("\n")))
            svg = console.export_svg(title=title, unique_id=title.replace(" ", "-"))
        return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL) + "\n"


def asked(tmux: Tmux, model: Model) -> str:
    """A question about a change, with its diff, while another card stands finished above it."""
    tmux.type("Fix the typo in notes.md, then throw old.txt away")
    model.asked()
    model.call("edit_file", path="notes.md", old="fense", new="fence")
    model.asked()
    model.call("terminal", command="rm old.txt")
    tmux.until("[n] no", "a question waits for you")
    return tmux.picture("a question")


def answered(tmux: Tmux, model: Model) -> str:
    """The answer after a yes: formatted while it arrives."""
    tmux.type("y")
    model.asked()
    model.say(PLAN)
    tmux.until("paint the fence", "dry = ")
    model.done()
    tmux.until("$0.04", gone="· running")
    return tmux.picture("an answer")


PICTURES: dict[str, Callable[[Tmux, Model], str]] = {"question.svg": asked, "answer.svg": answered}
"""In the order in which one conversation gives them."""


@contextmanager
def conversation() -> Iterator[tuple[Tmux, Model]]:
    """The chat, ready for a first message, and its model."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        home.mkdir(mode=0o700)
        claw = Claw(home, Path(place) / "house")
        (claw.workspace / "notes.md").write_text(NOTES, encoding="utf-8")
        (claw.workspace / "old.txt").write_text("old\n", encoding="utf-8")
        with served(home) as model:
            tmux = Tmux(claw)
            try:
                tmux.until("context 0 %")
                tmux.run("send-keys", "C-l")
                yield tmux, model
            finally:
                tmux.run("kill-server")


def taken() -> dict[str, str]:
    """Every picture by its name, taken now."""
    with conversation() as (tmux, model):
        return {name: take(tmux, model) for name, take in PICTURES.items()}


def words(svg: str) -> str:
    """What a picture says, without what any run may make different."""
    lines = re.findall(r"<text[^>]*>(.*?)</text>", svg, re.DOTALL)
    return re.sub(r"\d+(?:\.\d)? m?s\b", "N ms", normalised("\n".join(line.replace("&#160;", " ") for line in lines)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the pictures that say something else than those that are there")
    write = parser.parse_args().write
    stale = []
    for name, svg in taken().items():
        path = PLACE / name
        if not path.exists() or words(path.read_text(encoding="utf-8")) != words(svg):
            stale.append(name)
            if write:
                path.write_text(svg, encoding="utf-8")
    sys.stdout.writelines(f"{name} {'written' if write else 'is not what the program shows'}\n" for name in stale)
    return int(bool(stale) and not write)


if __name__ == "__main__":
    sys.exit(main())
