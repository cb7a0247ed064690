"""What `echo` and `printf` print, where it is known."""

from collections.abc import Sequence

from .shell_words import ShellWord, ansi_c


def printed(name: str, args: Sequence[ShellWord]) -> str | None:
    """The text that `echo` or a plain `printf` prints, or None."""
    if not all(w.known and not w.glob for w in args):
        return None
    texts = [w.text for w in args]
    if name == "printf":
        if texts and texts[0] in ("%s", "%s\\n", "%b") and len(texts) > 1:
            return "".join(ansi_c(t) if texts[0] == "%b" else t for t in texts[1:]) + ("\n" if texts[0] == "%s\\n" else "")
        return ansi_c(texts[0]) if len(texts) == 1 and "%" not in texts[0] else None
    escapes = False
    while texts and texts[0] in ("-n", "-e", "-E", "-ne", "-en", "-nE"):
        escapes |= "e" in texts.pop(0)
    text = " ".join(texts)
    return (ansi_c(text) if escapes else text) + "\n"
