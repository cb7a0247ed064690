"""Where quotes begin and end in a sentence, and where `then` divides it into steps."""

CLOSING = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "„": "“", "«": "»"}
SPACE = " \t\r\n\v\f"
SHELL_VERBS = ("run", "execute", "exec", "$")
"""What follows these is a command: quotes count anywhere in it, and a shell's own `then` belongs to it."""


class Quotes:
    """Finds quoted stretches in one step. `shell`: quotes open anywhere, else only where a word begins, so that `it's` opens none.

    A quote that does not close is an ordinary character. Looking for a close fails at most once a kind of quote, so scanning stays linear.
    """

    def __init__(self, text: str, *, shell: bool) -> None:
        self.text, self.shell = text, shell
        self.hopeless: set[str] = set()

    def end(self, at: int, start: int = 0) -> int:
        """Where the quote that opens at `at` closes, or -1 when none opens there. The step begins at `start`."""
        mark = self.text[at]
        close = CLOSING.get(mark)
        if close is None or mark in self.hopeless or not (self.shell or at == start or self.text[at - 1] in SPACE + "(:="):
            return -1
        i = self.text.find(close, at + 1)
        while i >= 0 and not self._closes(i, mark):
            i = self.text.find(close, i + 1)
        if i < 0:
            self.hopeless.add(mark)
        return i

    def _closes(self, at: int, mark: str) -> bool:
        if mark == '"' and self.text[at - 1] == "\\":
            return False
        return self.shell or self.text[at + 1 : at + 2] in ("", *SPACE, *",.;:!?)")


def split(text: str) -> list[str]:
    """The steps of a sentence: divided by the word `then` outside quotes. Empty steps fall away."""
    steps: list[str] = []
    start = at = 0
    quotes = Quotes(text, shell=_is_shell(text, 0))
    while at < len(text):
        end = quotes.end(at, start) if text[at] in CLOSING else -1
        if end >= 0:
            at = end + 1
        elif text[at] in "tT" and _divides(text, start, at, quotes.shell):
            steps.append(_trimmed(text[start:at], quotes.shell))
            start = at = at + len("then")
            quotes = Quotes(text, shell=_is_shell(text, start))
        else:
            at += 2 if quotes.shell and text[at] == "\\" else 1
    steps.append(_trimmed(text[start:], quotes.shell))
    return [step for step in steps if step]


def mask(text: str) -> str:
    """The text in lower case, blanks as spaces and quoted characters as zero bytes: keywords are searched here, positions stay the same."""
    quotes, out, at = Quotes(text, shell=False), [], 0
    while at < len(text):
        end = quotes.end(at) if text[at] in CLOSING else -1
        if end >= 0:
            out.append("\0" * (end + 1 - at))
            at = end + 1
            continue
        letter = text[at].lower()
        out.append(" " if text[at] in SPACE else letter if len(letter) == 1 else text[at])
        at += 1
    return "".join(out)


def is_quoted(text: str) -> bool:
    """Whether the whole text is one quotation."""
    text = text.strip()
    return len(text) >= 2 and text[0] in CLOSING and Quotes(text, shell=False).end(0) == len(text) - 1


def unquoted(text: str) -> str:
    """The text without the quotes around it; what is not quoted as a whole only loses its outer blanks."""
    text = text.strip()
    if not is_quoted(text):
        return text
    return text[1:-1].replace('\\"', '"') if text[0] == '"' else text[1:-1]


def _divides(text: str, start: int, at: int, shell: bool) -> bool:
    after = text[at + 4 : at + 5]
    if text[at : at + 4].lower() != "then" or (at > start and text[at - 1] not in SPACE + ",;") or after not in ("", *SPACE, *",:;"):
        return False
    return not (shell and _is_shells_own(text[start:at]))


def _is_shells_own(before: str) -> bool:
    """`if …; then` in a command."""
    if before.rstrip(" \t")[-1:] not in (";", "\n"):
        return False
    words = before.split()
    return words.count("if") + words.count("elif") > words.count("then")


def _is_shell(text: str, start: int) -> bool:
    """Whether the step that begins here is a command; polite words may be before it."""
    words = text[start : start + 120].replace(",", " ").lower().split()
    skipped = ("please", "can", "could", "would", "you", "and", "now", "first", "next", "finally", "also", "just", "kindly", ":")
    return next((word for word in words if word not in skipped), "") in SHELL_VERBS


def _trimmed(step: str, shell: bool) -> str:
    step = step.strip().lstrip(",:").strip()
    while True:
        bare = step.rstrip(SPACE + ("," if shell else ",;"))
        bare = bare[:-4] if bare.lower().endswith((" and", ",and")) else bare
        if bare == step:
            return step
        step = bare
