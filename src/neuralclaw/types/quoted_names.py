"""Names of files as they are in a text of lines: what could be taken for something else is written as a JSON string."""

import json
import re

_CODES = (
    "\x00-\x1f\x7f-\x9f"  # control characters
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # line ends of Unicode, what is not seen, what turns the direction
    "\ud800-\udfff"  # bytes of a name that are no UTF-8
    "\U000e0000-\U000e007f"
)
_ODD = re.compile(f"[{_CODES}]")


def one_line(name: str) -> str:
    """The name itself where it is one line of characters that are seen; else the JSON string that a call gives it as.

    A name that begins with a quotation mark, or begins or ends with a blank, is quoted too: a quotation mark at the beginning always says JSON.
    """
    if not _ODD.search(name) and not name.startswith('"') and name == name.strip():
        return name
    return _ODD.sub(_escaped, json.dumps(name, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] != "\x7f" else "\\u007f"
