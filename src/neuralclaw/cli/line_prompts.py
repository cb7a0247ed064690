"""Plain questions, one line each: at any terminal, a dumb one too, and over a pipe. Questions go to standard error."""

import getpass
import sys

from . import output


class InputEnded(Exception):
    """Standard input ended where an answer was expected."""


class LinePrompts:
    """Who is asked. `silent`: nothing is told between the questions, since a program reads standard error too."""

    def __init__(self, *, silent: bool = False) -> None:
        self.screen = output.err()
        self.person = sys.stdin is not None and sys.stdin.isatty()
        self._silent = silent

    def tell(self, text: str, style: str = "") -> None:
        """A line about what is going on."""
        if not self._silent:
            self.screen.line(text, style)

    def ask(self, question: str, default: str = "") -> str:
        """The answer, or the default for an empty one. Raises `InputEnded` at the end of input."""
        self.screen.write(f"{question} [{default}]: " if default else f"{question}: ")
        line = sys.stdin.readline() if sys.stdin is not None else ""
        if self.person and line.endswith("\n"):
            self.screen.at_start()
        if not line:
            raise InputEnded
        return line.strip() or default

    def secret(self, question: str) -> str:
        """An answer that is not shown while it is typed."""
        if not self.person:
            return self.ask(question.removesuffix(": "))
        try:
            return getpass.getpass(question, stream=sys.stderr).strip()
        except EOFError as error:
            raise InputEnded from error
