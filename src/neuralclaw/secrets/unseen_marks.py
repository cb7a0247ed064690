"""What a text has and nobody sees: the sequences that colour a terminal, struck-over letters, invisible characters and those in place of bytes that are no
text. A secret that is written with them is looked for in the text without them."""

import re

_UNSEEN = "\u00a0\u00ad\u180e\u200b\u200c\u200d\u2028\u2029\u202f\u2060\u2063\ufe0f\ufeff\ufffd"
_MARKS = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?"  # a colour, a place on the screen
    r"|\x1b\][^\x07\x1b]{0,2048}(?:\x07|\x1b\\)?"  # a title, a link
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]?"
    r"|[^\n\x08]\x08"  # a letter that is struck over
    f"|[{_UNSEEN}]"
)


def without_marks(text: str) -> tuple[str, list[int]] | None:
    """The text that is seen, and where each of its characters is in the text; None where it is the whole text, as nearly always."""
    if "\x1b" not in text and "\x08" not in text and (text.isascii() or ("\x9b" not in text and not any(mark in text for mark in _UNSEEN))):
        return None
    places: list[int] = []
    done = 0
    for mark in _MARKS.finditer(text):
        places.extend(range(done, mark.start()))
        done = mark.end()
    if not done:
        return None
    places.extend(range(done, len(text)))
    return "".join([text[place] for place in places]), places
