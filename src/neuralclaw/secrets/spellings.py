"""The spellings under which a value may turn up: as it is, in Base64, hexadecimal, a URL, JSON or HTML. Which values are worth looking for."""

from binascii import b2a_base64

SHORTEST = 8
"""Characters. Anything shorter occurs in ordinary text too often to be replaced."""
FEWEST = 5
"""Different characters. `00000000` and `--------` are no secrets."""

PLACEHOLDERS = frozenset("changeme change-me placeholder not-needed notneeded not-required no-key-needed your-api-key your_api_key redacted password".split())
"""Words that people write where a key is asked for and none is needed."""


def unfit(value: str) -> str:
    """Why a configured value is not looked for in text; "" when it is."""
    value = value.strip()
    if len(value) < SHORTEST:
        return f"shorter than {SHORTEST} characters"
    if len(set(value)) < FEWEST:
        return f"fewer than {FEWEST} different characters"
    return "a placeholder for a key" if value.lower() in PLACEHOLDERS else ""


def spellings(value: str) -> set[str]:
    """Every spelling of the value that is looked for, itself too. None begins or ends with a space."""
    from json import dumps  # both cost a start without secrets 3 ms
    from urllib.parse import quote, quote_plus

    data = value.encode("utf-8", "surrogatepass")
    found = {value, data.hex(), data.hex().upper()}
    escaped = dumps(value, ensure_ascii=False)[1:-1]
    found |= {escaped, escaped.replace("/", "\\/"), dumps(value)[1:-1], dumps(escaped, ensure_ascii=False)[1:-1]}
    for quoted in (quote(data, safe=""), quote(data), quote_plus(data), "".join(f"%{byte:02X}" for byte in data)):
        found |= {quoted, _small_hex(quoted)}
    found.add(value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;").replace("'", "&#x27;"))
    for part in _base64(data):
        found |= {part, part.replace("+", "-").replace("/", "_"), quote(part, safe="")}
    return {spelling for spelling in found if len(spelling) >= SHORTEST}


def _small_hex(quoted: str) -> str:
    """`%2F` as `%2f`."""
    head, *rest = quoted.split("%")
    return "%".join([head, *(part[:2].lower() + part[2:] for part in rest)])


def _base64(data: bytes) -> set[str]:
    """The value in Base64, alone (with and without padding) and in the middle of something longer, at each of the three places it can begin there.

    In the middle, the characters that hold bits of a neighbour are left away: the rest is the same whatever is around it.
    """
    whole = _encoded(data)
    found = {whole, whole.rstrip("=")}
    for before in range(3):
        text = _encoded(bytes(before) + data)
        found.add(text[-(-8 * before // 6) : 8 * (before + len(data)) // 6])
    return found


def _encoded(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()
