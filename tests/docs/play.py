"""Pages that are played: `python -m tests.docs.play [--write] [SCENE…]` plays the scenes with the real program and compares the pages, or writes them.

The docstring of a scene is what the page says about it: its heading, then its first paragraph.
"""

import argparse
import difflib
import inspect
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from .pages import ROOT
from .stage import Stage, made_stage, normalised

Scene = Callable[[Stage], None]


class Page:
    """A page under `docs/`: an introduction, then a part for each scene."""

    def __init__(self, name: str, introduction: str, *scenes: Scene) -> None:
        self.path: Path = ROOT / "docs" / name
        self.introduction, self.scenes = introduction, scenes

    def parts(self) -> list[str]:
        """What the page holds now: the introduction, then a part for each scene."""
        if not self.path.exists():
            return [""]
        parts = self.path.read_text(encoding="utf-8").split("\n## ")
        return [parts[0], *(f"## {part}" if part.endswith("\n") else f"## {part}\n" for part in parts[1:])]

    def part(self, scene: Scene) -> str:
        """What the page says of a scene now; "" where it does not know it."""
        return next((part for part in self.parts() if part.startswith(heading(scene) + "\n")), "")

    def play(self, only: Sequence[str] = ()) -> tuple[str, list[str]]:
        """The page as it should be, and what differs from what it is. What any run may make different is no difference."""
        new, differences = [self.introduction], []
        for scene in self.scenes:
            was = self.part(scene)
            now = section(scene) if not only or scene.__name__ in only else was
            new.append(was if normalised(was) == normalised(now) else now)
            differences += difflib.unified_diff(was.splitlines(), new[-1].splitlines(), "the page", "the run", lineterm="")
        return "\n".join(new), differences


def heading(scene: Scene) -> str:
    """The line that a scene's part of the page begins with."""
    return "## " + inspect.cleandoc(scene.__doc__ or "").partition("\n")[0]


def section(scene: Scene) -> str:
    """The part of the page that a scene gives, played now."""
    with made_stage() as stage:
        stage.tells(heading(scene))
        stage.tells(inspect.cleandoc(scene.__doc__ or "").partition("\n\n")[2])
        scene(stage)
        stage.nothing_is_lost()
        return stage.recorded() + "\n"


def pages() -> list[Page]:
    """Every page that is played."""
    return [import_module(f"tests.docs.{module}").PAGE for module in ("scenes", "models")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the pages, where they differ in more than times and names that are made up")
    parser.add_argument("scene", nargs="*", help="only these")
    given = parser.parse_args()
    differs = False
    for page in pages():
        text, differences = page.play(given.scene)
        sys.stdout.writelines(f"{line}\n" for line in differences)
        if not page.path.exists() or text != page.path.read_text(encoding="utf-8"):
            differs = True
            if given.write:
                page.path.write_text(text, encoding="utf-8")
    return int(differs and not given.write)


if __name__ == "__main__":
    sys.exit(main())
