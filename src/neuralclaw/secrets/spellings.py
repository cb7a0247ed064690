"""The spellings under which a value may turn up: as it is, in Base64, Base32, hexadecimal, a URL, JSON, HTML, a shell or Python. Which values are worth
looking for."""

from binascii import b2a_base64

SHORTEST = 8
"""Characters. Anything shorter occurs in ordinary text too often to be replaced."""
FEWEST = 5
"""Different characters. `00000000` and `--------` are no secrets."""

_ASKED = "changeme change-me placeholder not-needed notneeded not-required no-key-needed your-api-key your_api_key redacted password"
PLACEHOLDERS = frozenset(f"{_ASKED} postgres postgresql rabbitmq minioadmin".split())
"""Words that people write where a key is asked for and none is needed, and passwords that every example has."""


def unfit(value: str) -> str:
    """Why a configured value is not looked for in text; "" when it is."""
    value = value.strip()
    if len(value) < SHORTEST:
        return f"shorter than {SHORTEST} characters"
    if len(set(value)) < FEWEST:
        return f"fewer than {FEWEST} different characters"
    return "a placeholder for a key" if value.lower() in PLACEHOLDERS else ""


LOOSE = 8
"""Letters and digits of a spelling at least that is also found with other characters between them."""
LONG = 512
"""Bytes of a value from which on it is looked for without the spellings that write each character by itself."""
LINE = 20
"""Characters of a line of a value that is looked for by itself too."""
ASIDE = bytes(code for code in range(128) if not chr(code).isalnum())
"""The ASCII characters that may stand between the letters and digits of a secret."""


def spellings(value: str) -> set[str]:
    """Every spelling of the value that is looked for, itself too. None begins or ends with a space."""
    from base64 import b32encode  # these cost a start without secrets 4 ms
    from json import dumps
    from urllib.parse import quote, quote_plus

    data = encoded(value)
    found = {value, data.hex(), data.hex().upper()}
    escaped = dumps(value, ensure_ascii=False)[1:-1]
    found |= {escaped, escaped.replace("/", "\\/"), dumps(value)[1:-1], dumps(escaped, ensure_ascii=False)[1:-1]}
    found |= {"".join(f"\\u{ord(one):04x}" if one in "<>&'" else one for one in escaped), repr(value)[1:-1], ascii(value)[1:-1]}
    for quoted in (
        quote(data, safe=""),
        quote(data),
        quote(data, safe="!'()*~"),
        quote(data, safe="/:@!$&'()*+,;=~"),
        quote_plus(data),
        "".join(f"%{byte:02X}" for byte in data),
    ):
        found |= {quoted, _small_hex(quoted)}
    marked = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    found |= {marked, *(marked.replace('"', double).replace("'", single) for double in ("&quot;", "&#34;") for single in ("&#x27;", "&#39;", "&apos;"))}
    found |= {value.replace("'", "'\\''"), value.replace("'", "'\"'\"'"), "".join(one if one.isalnum() or one in "_@%+=:,./-" else f"\\{one}" for one in value)}
    for part in (*_base64(data), *_base64(value.encode("utf-16-le", "surrogatepass")), b32encode(data).decode()):
        found |= {part, part.rstrip("="), part.replace("+", "-").replace("/", "_"), quote(part, safe="")}
    return {spelling for spelling in found if len(spelling) >= SHORTEST}


def loose_spellings(value: str, found: set[str]) -> set[str]:
    """The letters and digits of every spelling that was `found`, for a text of which nothing else is looked at: spaces, hyphens, quotes and escapes may
    stand between them. Those of an encoding that writes each character by itself too."""
    data = encoded(value)
    found = set(found)
    if len(data) <= LONG:
        wide = value.encode("utf-16-le", "surrogatepass")
        for small in (True, False):
            digits = [f"{byte:02x}" if small else f"{byte:02X}" for byte in data]
            found |= {"".join(f"x{two}" for two in digits), "".join(f"0x{two}" for two in digits)}
            found |= {"".join(f"u{ord(one):04x}" if small else f"u{ord(one):04X}" for one in value), wide.hex() if small else wide.hex().upper()}
        found |= {"".join(f"x{ord(one):x}" for one in value), "".join(f"x{ord(one):X}" for one in value)}
        found |= {"".join(f"{byte:03o}" for byte in data), "".join(f"{ord(one)}" for one in value)}
    squeezed = {squeeze(each) for each in found}
    return {each for each in squeezed if len(each) >= LOOSE and len(set(each)) >= FEWEST}


def encoded(value: str) -> bytes:
    """The value in UTF-8; bytes that are none, read with `surrogateescape`, as they were."""
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")


def squeeze(text: str) -> str:
    """The text without the ASCII characters that are no letters and digits."""
    return text.encode("utf-8", "surrogatepass").translate(None, ASIDE).decode("utf-8", "surrogatepass")


def lines_of(value: str) -> list[str]:
    """The lines of a value of several, each of which tells a part of it: those of a private key without its first and last."""
    lines = [line.strip() for line in value.splitlines()]
    return [line for line in lines if len(line) >= LINE and not line.startswith("-----") and not unfit(line)] if len(lines) > 1 else []


def _small_hex(quoted: str) -> str:
    """`%2F` as `%2f`."""
    head, *rest = quoted.split("%")
    return "%".join([head, *(part[:2].lower() + part[2:] for part in rest)])


def _base64(data: bytes) -> set[str]:
    """The value in Base64, alone (with and without padding) and in the middle of something longer, at each of the three places it can begin there.

    In the middle, the characters that hold bits of a neighbour are left away: the rest is the same whatever is around it.
    """
    whole = _in_base64(data)
    found = {whole, whole.rstrip("=")}
    for before in range(3):
        text = _in_base64(bytes(before) + data)
        found.add(text[-(-8 * before // 6) : 8 * (before + len(data)) // 6])
    return found


def _in_base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()
