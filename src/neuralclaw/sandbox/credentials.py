"""Whether a settings file of a home, which every command may read otherwise, has a password or a token in it."""

import re
from functools import lru_cache

LONGEST = 256 * 1024
"""Bytes of such a file; a longer one counts as one that may hold a credential."""
# Compiled (and kept by `re`) when first needed.
_COMMENT = rb"(?m)^\s*[#;].*$"
_CONTINUED = rb"\\\r?\n"
_CREDENTIAL = (
    rb"(?im)"
    rb"://[^/\s\"'@:]*:[^/\s\"'@]+@"  # a user's name and password in an address
    rb"|https?://(?!git@)(?:(?=[^/\s\"'@]*[0-9])[^/\s\"'@]{10,}|[^/\s\"'@]{16,})@"  # a token in place of a name
    rb"|(?<![a-z])(?:pass|pwd)[\"']?\s*[=:]\s*[\"']?[^\s\"',}\]]+[\"']?\s*$"  # one word: no command of an alias
    rb"|(?:token|password|passwd|smtppass|passphrase|secret"
    rb"|secret[-_]?(?:access[-_]?)?key|api[-_]?key|_auth|authident)[\"']?\s*[=:]\s*[\"']?[^\s\"',}\]]"  # also in a table on one line
    rb"|gh[pousr]_\w{20}|github_pat_\w{20}|glpat-[\w-]{16}|npm_\w{30}|pypi-[\w-]{16}|-----begin [a-z ]*private key"  # under any name
    rb"|/t/[^/\s\"']+/"  # a token of conda, in the address of a channel
    rb"|\b(?:authorization|private-token|x-api-key|cookie)\s*:|\bpassword=\S"
)


def holds_credential(path: str) -> bool:
    """Whether the file at this path, settings of git, cargo, npm, pip or conda, names a password or a token outside its comments.

    True where it cannot be read through.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(LONGEST + 1)
    except OSError:
        return True
    return len(data) > LONGEST or _found(data)


@lru_cache(16)
def _found(data: bytes) -> bool:
    return re.search(_CREDENTIAL, re.sub(_CONTINUED, b"", re.sub(_COMMENT, b"", data))) is not None
