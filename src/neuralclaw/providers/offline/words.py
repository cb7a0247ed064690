"""Cutting sentences into parts: quotes, `then`, polite words. Plain string work, no regular expressions: it is on the way of every start."""

QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»"}

POLITE = (
    "please ", "kindly ", "can you ", "could you ", "would you ", "will you ", "i want you to ", "i would like you to ", "i'd like you to ", "i need you to ",
    "hey ", "ok ", "okay ", "now ", "first ", "next ", "finally ", "also ", "and ", "then ", "just ", "go and ", "go ahead and ", "let us ", "let's ",
)  # fmt: skip


def steps(text: str) -> list[str]:
    """The parts between `then`s that stand outside quotes, polite words and surrounding space taken off."""
    parts, start = [], 0
    for end, word in _words_outside_quotes(text):
        before = text[start : end - len(word)].rstrip()
        if word.strip(",;.").lower() == "then" and not before.endswith(";"):  # `; then` belongs to a shell's `if`
            parts.append(text[start : end - len(word)])
            start = end
    parts.append(text[start:])
    cleaned = [polite(part.strip().rstrip(",;").strip()) for part in parts]
    cleaned = [part.removesuffix(" and").rstrip(",;").strip() if i + 1 < len(cleaned) else part for i, part in enumerate(cleaned)]
    return [part for part in cleaned if part]


def _words_outside_quotes(text: str) -> list[tuple[int, str]]:
    """(end, word) of every word that does not stand in quotes. A quote opens at the beginning of a word only, so that `don't` is a word."""
    found, start, closing = [], 0, ""
    for place, letter in enumerate(text):
        if closing:
            if letter == closing and (place + 1 == len(text) or not text[place + 1].isalnum()):
                closing = ""
            continue
        if letter in QUOTES and (place == 0 or text[place - 1].isspace() or text[place - 1] in "(="):
            if text.find(QUOTES[letter], place + 1) >= 0:
                closing = QUOTES[letter]
                continue
        if letter.isspace():
            if place > start:
                found.append((place, text[start:place]))
            start = place + 1
    if not closing and start < len(text):
        found.append((len(text), text[start:]))
    return found


def polite(text: str) -> str:
    """The request itself, without what people say before and after it."""
    while (word := next((p for p in POLITE if text.lower().startswith(p)), None)) is not None:
        text = text[len(word) :].lstrip(" ,")
    lower = text.lower()
    for ending in (" please", ", please", " for me", ", thanks", " thanks"):
        if lower.endswith(ending):
            text = text[: -len(ending)].rstrip()
            lower = text.lower()
    return text


def plain(text: str) -> str:
    """A sentence's end without its full stop, question or exclamation mark; `.` and `..` as places stay."""
    text = text.strip()
    while len(text) > 1 and (text[-1] in "?!" or (text[-1] == "." and text[-2].isalnum())):
        text = text[:-1].rstrip()
    return text


def unquoted(text: str) -> str:
    """The text without the quotes around all of it."""
    text = text.strip()
    if len(text) >= 2 and QUOTES.get(text[0]) == text[-1] and text.find(text[-1], 1) == len(text) - 1:
        return text[1:-1]
    return text


def after(text: str, *openings: str) -> str | None:
    """What follows the first of these openings that the text begins with (or is), else None. Case does not count."""
    lower = text.lower()
    for opening in openings:
        if lower == opening:
            return ""
        if lower.startswith(opening) and (opening[-1] in ":$" or lower[len(opening)].isspace()):
            return text[len(opening) :].strip()
    return None


def cut(text: str, *between: str, last: bool = False) -> tuple[str, str] | None:
    """Both sides of the first (or last) of these words that stands between two others, outside quotes."""
    spots = [(end - len(word), end) for end, word in _words_outside_quotes(text) if word.lower() in between]
    spots = [(start, end) for start, end in spots if text[:start].strip() and text[end:].strip()]
    if not spots:
        return None
    start, end = spots[-1] if last else spots[0]
    return text[:start].strip(), text[end:].strip()
