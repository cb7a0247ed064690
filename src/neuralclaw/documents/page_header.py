"""The menu at the top of a web page that is marked as its header and as nothing else."""

from html.parser import HTMLParser

LOOKED_AT = 65_536
"""Characters of a page in which its header must begin and end."""
_HEADLINES = frozenset("h1 h2 h3 h4 h5 h6 p main article".split())
_LINKS = frozenset("a button select option nav".split())
_BREAKS = frozenset("div section ul ol li table header footer form hr".split())
"""What ends a link or an option that is never closed."""
_UNSHOWN = frozenset("head title script style noscript svg template".split())


class _TopHeader(HTMLParser):
    """Where the first header is, if nothing is said before it, and how much of its text is links."""

    def __init__(self) -> None:
        super().__init__()
        self.start: tuple[int, int] | None = None
        self.end: tuple[int, int] | None = None
        self.text = False
        """It says something before its header, or has a headline or a paragraph in it."""
        self.said = self.linked = self.links = 0
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.end is not None:
            return
        self.text |= tag in _HEADLINES
        if tag in _BREAKS or tag in _LINKS:
            self._open = [one for one in self._open if one not in ("a", "option")]
        if tag == "header" and self.start is None:
            self.start = self.getpos()
            self._open = [one for one in self._open if one in _UNSHOWN]
        self.links += tag in _LINKS and self.start is not None
        if tag in _LINKS or tag in _UNSHOWN or tag == "header":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.end is not None or tag not in self._open:
            return
        while self._open.pop() != tag:
            pass
        if tag == "header" and tag not in self._open:
            self.end = self.getpos()

    def handle_data(self, data: str) -> None:
        length = len("".join(data.split()))
        if self.end is not None or not length or _UNSHOWN.intersection(self._open):
            return
        linked = bool(_LINKS.intersection(self._open))
        if self.start is None:
            self.text |= not linked
        else:
            self.said += length
            self.linked += length if linked else 0


def without_menu(html: str) -> str:
    """The page without the header at its top, where most of that is links, more than one, and it has no headline and no paragraph."""
    top = _TopHeader()
    try:
        top.feed(html[:LOOKED_AT])
    except AssertionError:  # what the parser of Python says of markup that it cannot take apart
        return html
    if top.start is None or top.end is None or top.text or top.links < 2 or top.said > 2 * top.linked:
        return html
    end = html.find(">", _offset(html, top.end))
    return html[: _offset(html, top.start)] + html[end + 1 :] if end >= 0 else html


def _offset(html: str, place: tuple[int, int]) -> int:
    """The place, a line from 1 and a column, as a number of characters."""
    at = 0
    for _ in range(place[0] - 1):
        at = html.index("\n", at) + 1
    return at + place[1]
