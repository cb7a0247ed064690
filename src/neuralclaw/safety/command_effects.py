"""What one simple command does, while it is being found."""

from ..types.facts import PathWant
from ..types.risk import Power, Risk
from .blocks import BlockedCall
from .command_line import SimpleCommand
from .lazy_regex import lazy_pattern
from .paths import holds_data_home, in_data_home, is_system, named_by_command, normal, person_home, secret, under
from .shell_words import ShellWord

LOOKED_UP = 200
"""Words of one command of an unknown program that are followed through links; of more, those count that name a place of keys by themselves."""
_TOKENS = lazy_pattern(r"[^\s\"'`(){}\[\],;<>|&=]{1,4096}")
"""What may be a path in program text."""

_DEFAULTED = lazy_pattern(r"\"?\$\{\w+:?[-=+]")
"""A word that begins with the default value of a variable."""


class CommandEffects:
    """Starts as a command that only reads; everything found makes it stricter."""

    __slots__ = ("call", "critical", "foreign", "only_reads", "places", "powers", "risk", "script", "sends", "subject", "understood", "wants", "why")

    def __init__(self, call: BlockedCall) -> None:
        self.call = call
        self.powers: set[Power] = set()
        self.risk, self.why = Risk.LOW, ""
        self.wants: list[PathWant] = []
        self.only_reads = self.understood = True
        self.critical = self.sends = False
        self.subject = call.name
        self.foreign = False
        """No table knows the program: it may run its words."""
        self.script = ""
        self.places: tuple[str, ...] | None = None

    def act(self, risk: Risk, why: str, *powers: Power) -> None:
        """It does more than read."""
        self.only_reads = False
        self.powers.update(powers)
        if not self.why or risk > self.risk:
            self.why = f"{self.call.name}: {why}" if self.call.name else why
        self.risk = max(self.risk, risk)

    def read(self, word: ShellWord, *, option: bool = False) -> None:
        """It reads this file or directory; also what is after `=` or right behind a short option. `option`: it is the value of one, which need be no file."""
        self.powers.add(Power.READ)
        text = word.text
        if not word.known and not word.wild:
            self.unclear()
        if text.startswith("-"):
            text = text.partition("=")[2] if "=" in text else text[2:] if "/" in text else ""
        elif "=" in text and "/" in text.partition("=")[2]:
            self._want(text.partition("=")[2], "read")
        if text and (not option or "/" in text or word.text.startswith("-")):
            self._want(text.removeprefix("@"), "read")

    def change(self, word: ShellWord, op: str) -> None:
        """It writes or deletes this path. One that cannot be resolved is not understood, and judged for what is known of it."""
        if not word.known:
            self.unclear()
        if word.text and (word.known or self._begins_as_known(word)):
            self._want(word.text, "delete" if op == "delete" else "write")
            if op == "delete" and self.wants and word.text.endswith(("/", "/.", "/..")):  # through a link, not the link
                self.wants[-1] = PathWant(self.wants[-1].path.rstrip("/") + "/", "delete")

    def _begins_as_known(self, word: ShellWord) -> bool:
        """Whether a word that is known in part leads where its known part does: it begins with that, or that is a place of the system by itself."""
        path = self._path(word.text)
        begins = word.show.lstrip("\"'")[:1] not in ("", "$", "`") or _DEFAULTED.match(word.show) is not None
        return path is not None and (begins or is_system(normal(path)) or self._kept(path))

    def run(self, word: ShellWord) -> None:
        """It runs what is in this file."""
        self._want(word.text, "execute")
        self.script = self.wants[-1].path if self.wants and self.wants[-1].op == "execute" else ""

    def _want(self, text: str, op: str) -> None:
        if "\0" in text or len(text) > 4096:
            self.unclear()
        elif text.startswith("/") or self.call.cwd is not None:
            self.wants.append(PathWant(named_by_command(text, self.call.cwd or "/"), op))  # type: ignore[arg-type]
        else:
            self.unclear()

    def name(self, *, links: bool, code: bool) -> None:
        """Its words are names of files, whatever it does with them: those of a place of keys or of the agent's own data are looked at. `links`: and those
        that may lead there; `code`: and paths in text that may be a program."""
        wanted = {want.path for want in self.wants}
        for number, word in enumerate(self.call.args):
            text = word.text
            parts = [text, text.partition("=")[2]] if "=" in text else [text]
            parts += [text[2:]] if text.startswith("-") and len(text) > 2 else []
            followed = links and number < LOOKED_UP and not text.startswith("-")
            for path in filter(None, (self._path(part.removeprefix("@")) for part in parts)):
                if path not in wanted and (followed or self._kept(path)):
                    wanted.add(path)
                    self.wants.append(PathWant(path, "list"))
            if code:
                self._paths_in(text)

    def _paths_in(self, text: str) -> None:
        home = person_home(self.call.policy)
        for token in _TOKENS.findall(text):
            path = self._path(f"{home}{token[1:]}" if token.startswith("~/") and home else token) if token[0] in "/~" else None
            if path is not None and not under(normal(path), self.call.workspace) and self._kept(path):
                self.wants.append(PathWant(path, "list"))

    def _path(self, text: str) -> str | None:
        if not text or "\0" in text or len(text) > 4096 or not (text.startswith("/") or self.call.cwd):
            return None
        return named_by_command(text, self.call.cwd or "/")

    def _kept(self, path: str) -> bool:
        """Whether the path is of a place of keys or of the agent's own data by its name."""
        plain = normal(path)
        return secret(plain) is not None or in_data_home(plain, self.call.policy, self.call.workspace)

    def recursive(self, word: ShellWord) -> None:
        """It reads everything below this place."""
        path = self.call.path(word)
        if path is None or holds_data_home(path, self.call.policy, self.call.workspace):
            self.act(Risk.HIGH, f"it reads everything below {word.shown or path}, secrets too", Power.READ)

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
            places=self.places if self.understood else None,
            open=(piped and self.call.name not in ("tee", "sponge")) or self.call.fed or self.call.spread or any(w.glob for w in words),
            wild_options=any(w.glob and w.text[:1] in tuple("*?[-") for w in words[1:]),
        )
