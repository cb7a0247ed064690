"""Values that their place shows to be secret: assigned to a name such as `API_TOKEN`, in a header, or as the password of an address.

A value counts where letters and digits are mixed as chance mixes them: names of functions, words, numbers and references such as `$TOKEN` or
`process.env.AUTH0_SECRET` stay, and passwords that every example has.
"""

import re
from collections.abc import Sequence

from .key_formats import NO_LETTER, Format, PatternStep, letters

_QUOTE = r"""(?:%2[027]|&(?:quot|#39|#x27|#34);|[ \t"'\\])"""
_SIGN = "(?:%3[AaDd]|[=:])"
_BY: list[PatternStep] = [(_QUOTE, 0, 6), (_SIGN, 1, 2), (_QUOTE, 0, 6)]
"""What stands between a name and its value: `=`, `: `, `": "`, `%3D` …"""
_VALUE = "[A-Za-z0-9_.+/=~%-]"
_END = r"(?![A-Za-z0-9_.+/=~%(\[-])"
"""Not the beginning of a call or of an index."""
_MOST = 4096


def _mixed(atom: str, most: int) -> str:
    """Small letters, capitals and a digit; or letters and three digits."""
    some = f"{atom}{{0,{most}}}?"
    return f"(?={some}[0-9])(?={some}[A-Za-z])(?:(?={some}[a-z])(?={some}[A-Z])|(?={some}[0-9]{some}[0-9]{some}[0-9]))"


def _assigned(names: str, behind: str, lead: Sequence[PatternStep] = _BY) -> Format:
    value, guard = [(_VALUE, 16, _MOST)], _mixed(_VALUE, 200)
    return Format("credential", tuple(names.split()), value, keep=True, lead=lead, behind=behind, guard=guard, followed=_END, spares_names=True)


_WORD_ITSELF = r"(?!(?i:pass|pwd|user|self|form|data|req|args|os\.|env|conf|get|str|none|your|example|change|secret|[$<{%*/]))"
_EXAMPLE = r"(?!(?i:postgres|mysql|mongo|redis|root|test|admin|demo|guest|foobar|hello|qwerty|letmein|dummy)[0-9]{0,4}[!.@#]?(?![A-Za-z0-9!@#$%^*+=~_/-]))"
_SECRET = r"[A-Za-z0-9!@#$%^*+=~_/-]"
_LETTER_AND_DIGIT = f"(?={_SECRET}{{0,255}}[0-9])(?={_SECRET}{{0,255}}[A-Za-z])"
_USER: list[PatternStep] = [("[A-Za-z0-9._%+@~-]", 1, 64)]
_SPACE: list[PatternStep] = [(r"[ \t]", 1, 4)]
_IN_ADDRESS = r"[^\s/@:\"'<>\\\[\]{}`]"


def _password(names: str, behind: str) -> Format:
    guard, end = _WORD_ITSELF + _EXAMPLE + _LETTER_AND_DIGIT, r"(?![A-Za-z0-9!@#$%^*+=~_/.(\[{-])"
    return Format("password", tuple(names.split()), [(_SECRET, 8, 256)], keep=True, lead=_BY, behind=behind, guard=guard, followed=end)


ASSIGNED = (
    _assigned("_TOKEN _SECRET -Token -TOKEN -Secret ?sig &sig ;sig 0026sig", ""),
    _assigned(
        "API_KEY APIKEY ACCESS_KEY SECRET_KEY AUTH_KEY APP_KEY PRIVATE_KEY ENCRYPTION_KEY MASTER_KEY access_token refresh_token auth_token api_token bot_token"
        " id_token session_token client_secret app_secret api_secret secret_key secret_key_base api_key apikey apiKey accessToken refreshToken authToken"
        " apiToken botToken clientSecret secretKey api-key Api-Key API-Key API-KEY access-token auth-token ACCESS-KEY APPLICATION-KEY PrivateKey PresharedKey"
        ' authtoken AUTHTOKEN client-key-data "auth _auth sessionid PHPSESSID JSESSIONID connect.sid __Host-session __Secure-session X-Amz-Signature',
        NO_LETTER,
    ),
    _assigned("Authorization authorization", NO_LETTER, [*_BY, ("(?:[A-Za-z]{2,16}(?: |%20|[+]))", 0, 1)]),
    _password("Password Passwd Passphrase", ""),
    _password("PASSWORD PASSWD PASSPHRASE PGPASSWORD password passwd passphrase", NO_LETTER),
    Format(
        "password",
        ("://",),
        [(_IN_ADDRESS, 5, 256)],
        keep=True,
        lead=[("[A-Za-z0-9._%+~-]", 0, 64), *letters(":")],
        behind="(?<=[A-Za-z0-9])",
        guard="(?![$%<*])(?!(?i:password|passwd|passphrase|postgres|secret|token|admin|guest|example|x+|[*]+)@)",
        followed="(?=@)",
    ),
    Format("password", ("curl -u ", "--user "), [(_SECRET, 8, 256)], keep=True, lead=[("['\"]", 0, 1), *_USER, *letters(":")], guard=_LETTER_AND_DIGIT),
    Format("password", ("login ",), [(_SECRET, 8, 256)], keep=True, lead=[*_USER, *_SPACE, *letters("password"), *_SPACE], guard=_LETTER_AND_DIGIT),
)

_NAME_PARTS = (
    *("oken", "TOKEN", "ecret", "SECRET", "key", "Key", "KEY", "auth", "uthorization", "assword", "asswd", "assphrase", "PASS", "SESS", "sessionid"),
    *("-session", "connect.sid", "sig", "-Signature"),
)
"""Parts of the names, one of each."""
_SAID = ("curl -u ", "--user ", "login ")
_BEHIND_NAME = re.compile(rf"[A-Za-z_.-]{{0,14}}{_QUOTE}{{0,6}}{_SIGN}{{1,2}}{_QUOTE}{{0,6}}(?:[A-Za-z]{{2,16}}(?: |%20|[+]))?[^\s\"']{{8}}")
_BEHIND_SCHEME = re.compile(rf"[A-Za-z0-9._%+~-]{{0,64}}:{_IN_ADDRESS}{{5,256}}@")


def may_assign(text: str) -> bool:
    """A quick look: whether one of the formats may be in the text."""
    if "://" in text and _behind(text, "://", _BEHIND_SCHEME):
        return True
    for said in _SAID:
        if said in text:
            return True
    for mark in _NAME_PARTS:
        if mark in text and _behind(text, mark, _BEHIND_NAME):
            return True
    return False


def _behind(text: str, mark: str, pattern: re.Pattern[str]) -> bool:
    """Whether the pattern matches behind one of the places of the mark."""
    at = text.find(mark)
    while at >= 0:
        at += len(mark)
        if pattern.match(text, at):
            return True
        at = text.find(mark, at)
    return False
