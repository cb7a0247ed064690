"""Markdown within a line: emphasis, code, links, escapes. What does not parse stays as it was written."""

import re

from ..control_characters import visible
from .styled_text import StyledSpan, join

BOLD, ITALIC, STRIKE, CODE, LINK, DIM = 1, 2, 4, 8, 16, 32
_SGR = {BOLD: "1", ITALIC: "3", STRIKE: "9", CODE: "36", LINK: "4", DIM: "2"}
_OPEN = 32
"""Delimiters and brackets that wait for their other half at a time; older ones stay as written."""

_RULES = r"""
(?P<escape>\\[!-/:-@\[-`{-~])
|(?P<code>`+)
|(?P<auto><(?:https?://|mailto:)[^\s<>]+>)
%s
|(?P<entity>&(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)
|(?P<hard>(?:\ {2,}|\\)\n\ *|<br\ ?/?>(?:\ ?\n\ *)?)
|(?P<soft>\ ?\n\ *)
|(?P<run>\*+|_+|~~+)
|(?P<open>!?\[)
|(?P<close>\])
|(?P<text>%s(?:\ %s)*|\ +|.)
"""
_WORD = r"[^\\`<&*_~!\[\]\n\ ]+"
_WORD_BEFORE_URL = r"(?:(?!https?://)[^\\`<&*_~!\[\]\n\ ])+"
_URL = r"|(?P<url>https?://[^\s<>`\[\]]*[^\s<>`.,;:!?'\"*_~\[\])])"
_TOKENS = re.compile(_RULES % ("", _WORD, _WORD), re.VERBOSE)
_TOKENS_AND_URLS = re.compile(_RULES % (_URL, _WORD_BEFORE_URL, _WORD_BEFORE_URL), re.VERBOSE)
_TARGET = re.compile(r"\( *(?:<([^<>\n]*)>|((?:[^\s()<>]|\([^\s()<>]*\))*))(?: +(\"[^\"]*\"|'[^']*'))? *\)")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class _Node:
    """A piece of text with its styles; `at`: where it is in the source."""

    __slots__ = ("at", "flags", "plain", "text")

    def __init__(self, text: str, at: int, flags: int = 0, plain: bool = False) -> None:
        self.text, self.at, self.flags, self.plain = text, at, flags, plain


class _DelimiterRun:
    """A run of `*`, `_` or `~` that may still open an emphasis."""

    __slots__ = ("count", "index", "sign")

    def __init__(self, index: int, sign: str, count: int) -> None:
        self.index, self.sign, self.count = index, sign, count


class Inline:
    """One stretch of text, parsed. `marks`: code keeps its backquotes, where no colour can tell it.

    `growing`: more of the text will come, so strong text and code that are open at its end show as what they are about to be.
    """

    def __init__(self, text: str, *, marks: bool = False, growing: bool = False) -> None:
        self._text, self._marks, self._growing = text, marks, growing
        self._nodes: list[_Node] = []
        self._runs: list[_DelimiterRun] = []
        self._brackets: list[int] = []
        self._unclosed: dict[int, int] = {}
        """Length of a run of backquotes without its other half -> where the first of that length is."""
        tokens = _TOKENS_AND_URLS if "://" in text else _TOKENS
        at, end = 0, len(text)
        while at < end:
            found = tokens.match(text, at)
            assert found is not None  # the last rule takes any character
            at = self._token(found.lastgroup or "text", found.group(), at, found.end())
        for run in self._runs if growing else ():
            if run.count == 2 and run.sign != "_":
                self._nodes[run.index].text = ""
                self._flag(run.index + 1, STRIKE if run.sign == "~" else BOLD)

    def spans(self, base: str = "") -> list[StyledSpan]:
        """What to show, in the style `base` and the styles of the text."""
        styles: dict[int, str] = {}
        shown = []
        for node in self._nodes:
            if node.text:
                style = styles.get(node.flags)
                if style is None:
                    style = styles[node.flags] = join(base, *(sgr for flag, sgr in _SGR.items() if node.flags & flag))
                shown.append((node.text, style))
        return shown

    def cut(self) -> int:
        """Where the text can be cut so that both halves show the same as the whole: at the last space or line break outside of all marks; 0 for nowhere."""
        waiting = [self._nodes[run.index].at for run in self._runs] + [self._nodes[index].at for index in self._brackets]
        first = min([*waiting, *self._unclosed.values()], default=len(self._text))
        for node in reversed(self._nodes):
            if node.at < first and node.plain and not node.flags:
                space = 0 if node.text == "\n" else node.text.rfind(" ", 0, first - node.at)
                if space >= 0:
                    return node.at + space
        return 0

    def _token(self, kind: str, token: str, at: int, end: int) -> int:
        """Take one token; where the next one begins."""
        if kind == "code":
            return self._code(len(token), at, end)
        if kind == "close":
            return self._close(at, end)
        if kind == "run":
            self._run(token, at, end)
        elif kind == "open":
            self._brackets = [*self._brackets[1 - _OPEN :], len(self._nodes)]
            self._nodes.append(_Node(token, at))
        elif kind in ("url", "auto"):
            self._nodes.append(_Node(token.strip("<>"), at, LINK))
        else:
            shown = {"escape": token[1:], "hard": "\n", "soft": "\n"}.get(kind) or (_entity(token) if kind == "entity" else token)
            if kind == "text" and token[0] == " ":
                shown = " "
            self._nodes.append(_Node(shown, at, plain=kind in ("text", "soft")))
        return end

    def _code(self, count: int, at: int, end: int) -> int:
        close = None
        if count not in self._unclosed:
            close = re.compile(rf"(?<!`)`{{{count}}}(?!`)").search(self._text, end)
        if close is None and self._growing and count == 1:
            self._nodes.append(_Node(f"`{self._text[end:]}" if self._marks else self._text[end:], at, CODE))
            return len(self._text)
        if close is None:
            self._unclosed.setdefault(count, at)
            self._nodes.append(_Node("`" * count, at))
            return end
        inner = self._text[end : close.start()].replace("\n", " ")
        if inner[0] == inner[-1] == " " and inner.strip():
            inner = inner[1:-1]
        self._nodes.append(_Node(f"`{inner}`" if self._marks else inner, at, CODE))
        return close.end()

    def _close(self, at: int, end: int) -> int:
        target = _TARGET.match(self._text, end) if self._brackets else None
        if target is None:
            if self._brackets:
                self._brackets.pop()
            self._nodes.append(_Node("]", at))
            return end
        first = self._brackets.pop()
        self._nodes[first].text = ""
        self._flag(first + 1, LINK)
        label = "".join(node.text for node in self._nodes[first + 1 :])
        address = target[1] if target[1] is not None else target[2]
        title = f" {target[3]}" if target[3] else ""
        if address + title and address + title not in (label, f"mailto:{label}"):
            self._nodes.append(_Node(f" ({address}{title})" if label else address + title, at, DIM))
        return target.end()

    def _run(self, token: str, at: int, end: int) -> None:
        before, after = self._text[at - 1 : at] or " ", self._text[end : end + 1] or " "
        sign, count = token[0], len(token)
        left = not after.isspace() and (not _punctuation(after) or before.isspace() or _punctuation(before))
        right = not before.isspace() and (not _punctuation(before) or after.isspace() or _punctuation(after))
        opens, closes = left, right
        if sign == "_":
            opens, closes = left and (not right or _punctuation(before)), right and (not left or _punctuation(after))
        if closes:
            count = self._match(sign, count)
        if count:
            if opens and (sign != "~" or count == 2):
                self._runs = [*self._runs[1 - _OPEN :], _DelimiterRun(len(self._nodes), sign, count)]
            self._nodes.append(_Node(sign * count, at))

    def _flag(self, first: int, flag: int) -> None:
        for node in self._nodes[first:]:
            node.flags |= flag

    def _match(self, sign: str, count: int) -> int:
        """Close what is open with this sign; how many signs are left over."""
        while count:
            found = next((i for i in range(len(self._runs) - 1, -1, -1) if self._runs[i].sign == sign), None)
            if found is None or (sign == "~" and count != 2):
                break
            opener = self._runs[found]
            if opener.index == len(self._nodes) - 1:  # nothing between
                break
            used = 2 if count >= 2 and opener.count >= 2 else 1
            self._flag(opener.index + 1, STRIKE if sign == "~" else BOLD if used == 2 else ITALIC)
            opener.count -= used
            count -= used
            self._nodes[opener.index].text = sign * opener.count
            del self._runs[found + bool(opener.count) :]
        return count


def _punctuation(character: str) -> bool:
    if character.isascii():
        return character in _PUNCTUATION
    # The signs of other scripts: neither letters nor spaces. Marks and joiners count as letters.
    return not character.isalnum() and not character.isspace() and character in "‘’“”«»‹›–—…¡¿、。「」『』（），．：；！？·§¶†‡•"


def _entity(token: str) -> str:
    """The character that an entity names, where it is one that can be seen."""
    import html  # costs start-up time, and few texts have entities

    text = html.unescape(token)
    if text == "\xa0":
        return " "
    return text if text.isprintable() and visible(text) == text and text.strip() else token
