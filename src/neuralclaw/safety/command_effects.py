"""What one simple command does, while it is being found."""

from ..types.facts import PathWant
from ..types.risk import Power, Risk
from .blocks import BlockedCall
from .command_line import SimpleCommand
from .paths import absolute, holds_data_home
from .shell_words import ShellWord


class CommandEffects:
    """Starts as a command that only reads; everything found makes it stricter."""

    __slots__ = ("call", "critical", "only_reads", "powers", "risk", "script", "sends", "subject", "understood", "wants", "why")

    def __init__(self, call: BlockedCall) -> None:
        self.call = call
        self.powers: set[Power] = set()
        self.risk, self.why = Risk.LOW, ""
        self.wants: list[PathWant] = []
        self.only_reads = self.understood = True
        self.critical = self.sends = False
        self.subject = call.name
        self.script = ""

    def act(self, risk: Risk, why: str, *powers: Power) -> None:
        """It does more than read."""
        self.only_reads = False
        self.powers.update(powers)
        if not self.why or risk > self.risk:
            self.why = f"{self.call.name}: {why}" if self.call.name else why
        self.risk = max(self.risk, risk)

    def read(self, word: ShellWord) -> None:
        """It reads this file or directory; also what is after `=` or right behind a short option."""
        self.powers.add(Power.READ)
        text = word.text
        if not word.known:
            self.unclear()
        if text.startswith("-"):
            text = text.partition("=")[2] if "=" in text else text[2:] if "/" in text else ""
        elif "=" in text and "/" in text.partition("=")[2]:
            self._want(text.partition("=")[2], "read")
        if text:
            self._want(text.removeprefix("@"), "read")

    def change(self, word: ShellWord, op: str) -> None:
        """It writes or deletes this path. One that cannot be resolved is not understood."""
        if not word.known:
            self.unclear()
        elif word.text:
            self._want(word.text, "delete" if op == "delete" else "write")
            if op == "delete" and self.wants and word.text.endswith(("/", "/.")):  # through a link, not the link
                self.wants[-1] = PathWant(self.wants[-1].path.rstrip("/") + "/", "delete")

    def _want(self, text: str, op: str) -> None:
        if "\0" in text or len(text) > 4096:
            self.unclear()
        elif text.startswith("/") or self.call.cwd is not None:
            self.wants.append(PathWant(absolute(text, self.call.cwd or "/"), op))  # type: ignore[arg-type]
        else:
            self.unclear()

    def recursive(self, word: ShellWord) -> None:
        """It reads everything below this place."""
        path = self.call.path(word)
        if path is None or holds_data_home(path, self.call.policy, self.call.workspace):
            self.act(Risk.HIGH, f"it reads all that lies below {word.shown or path}, secrets too", Power.READ)

    def unclear(self) -> None:
        self.understood = False

    def command(self, via: tuple[str, ...], *, builtin: bool, piped: bool = False) -> SimpleCommand:
        """What was found. `piped`: it has a standard input."""
        risk = self.risk if self.understood else max(self.risk, Risk.MEDIUM)
        words = self.call.words
        return SimpleCommand(
            argv=tuple(w.shown for w in words),
            via=via,
            program="" if builtin or not words else words[0].text,
            subject=self.subject if self.understood else "",
            powers=frozenset(self.powers),
            risk=risk,
            only_reads=self.only_reads and self.understood,
            critical=self.critical,
            reason=self.why or ("" if self.understood else "some part of it cannot be resolved before it runs"),
            wants=tuple(dict.fromkeys(self.wants)),
            sends=self.sends,
            cwd=self.call.cwd,
            script=self.script,
            open=(piped and self.call.name not in ("tee", "sponge")) or self.call.fed or self.call.spread or any(w.glob for w in words),
        )
