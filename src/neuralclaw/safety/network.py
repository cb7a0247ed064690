"""What the download programs do; options of `curl` are the table `tables/network.json`."""

import re
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from ..types.datafile import read_data_file
from ..types.risk import Power, Risk
from ..types.urls import parse
from .command_effects import CommandEffects
from .nameset import NameSet
from .programs import TOOLS
from .shell_words import ShellWord

FILE = "safety/tables/network.json"


class NetworkTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file. Options of `curl` that send data, and that write files; those of two dashes count as prefixes, of one with their value behind."""

    curl_sends: NameSet
    curl_writes: NameSet


TABLE = read_data_file(FILE, NetworkTable)
CURL_SENDS, CURL_WRITES = TABLE.curl_sends.names, TABLE.curl_writes.names


def _matches(text: str, names: tuple[str, ...]) -> bool:
    return any(
        text == n or text.startswith(n + "=") or (n.startswith("--") and text.startswith(n)) or (not n.startswith("--") and text.startswith(n)) for n in names
    )


_URL = re.compile(r"(?P<scheme>https?)://(?:[^/?#]*@)?(?P<place>[^/?#@]*)", re.IGNORECASE)


OFFLINE = frozenset({"--no-install", "--no"})
"""Options with which `npx` fetches nothing."""
_HEADER_FLAGS = ("-H", "--header")
_HEADERS = ("-H", "--header=")
"""What is in a header names no place, whatever it turns out to be: the places that are named stay all that is reached."""


def named_places(words: Sequence[ShellWord]) -> tuple[str, ...] | None:
    """`HOST:PORT` of each web address among the words, which are all that a client of the web needs; None where they name none, or one is not known.

    An address that is refused whatever its host is counts too, as it is written; what is no address at all does not.
    """
    headers = {id(word) for flag, word in pairwise(words) if flag.text in _HEADER_FLAGS}
    if any(not word.known or word.glob for word in words if id(word) not in headers and not word.text.startswith(_HEADERS)):
        return None
    written = [(match["place"], parse(f"{match['scheme'].lower()}://{match['place']}/")) for word in words if (match := _URL.match(word.text))]
    return tuple(dict.fromkeys(url.place if url.problem is None else text for text, url in written if not url.unfit)) or None


def _places(words: Sequence[ShellWord]) -> tuple[str, ...] | None:
    """The same for `curl` and `wget`, which take an address without `http://` too: where all words but options are network addresses or names of this machine
    and its network, which nothing else is taken for."""
    plain = [word for word in words if not word.text.startswith("-")]
    bare = [parse(f"http://{word.text}") for word in plain]
    if all(word.known for word in words) and all(url.problem is None and (url.own or url.literal is not None) for url in bare):
        return tuple(dict.fromkeys(url.place for url in bare)) or None
    return named_places(words)


def _subject(found: CommandEffects) -> None:
    """A standing answer covers the download from one host, never sending data and never a configuration file."""
    urls = [parse(w.text) for w in found.call.args if "://" in w.text]
    one = len(urls) == 1 and urls[0].problem is None and not urls[0].own and found.risk is Risk.MEDIUM
    found.subject = f"{found.call.name} {urls[0].host}" if one else ""


def curl(found: CommandEffects) -> None:
    """A download; sending files or data is a greater risk, and `-o` writes."""
    args = found.call.args
    found.act(Risk.MEDIUM, "it uses the network", Power.NETWORK)
    found.sends = True
    for place, word in enumerate(args):
        text = word.text
        if not word.known:
            found.unclear()
        value = args[place + 1] if place + 1 < len(args) else None
        cluster = text[1:] if text.startswith("-") and not text.startswith("--") else ""
        if _matches(text, CURL_SENDS):
            found.act(Risk.HIGH, "it sends data to another machine", Power.NETWORK)
            if (value is not None and value.text.startswith("@")) or text in ("-T", "--upload-file"):
                found.read(value or ShellWord(""))
        if _matches(text, CURL_WRITES) or any(c in "oOJD" for c in cluster.split("H")[0] if cluster[:1] not in ("H", "X", "A", "u", "d", "F", "b", "e", "w")):
            found.powers.add(Power.WRITE)
            if value is not None and text.endswith(("o", "--output", "D", "--dump-header", "-c", "--cookie-jar")):
                found.change(value, "write")
            elif text.startswith(("--output=", "-o")) and len(text) > 2:
                found.change(ShellWord(text.partition("=")[2] or text[2:]), "write")
        if text in ("-K", "--config") or text.startswith("-K"):
            found.act(Risk.HIGH, "its options come from a file", Power.EXECUTE)
        if text.startswith("file:"):
            found.read(ShellWord("/" + text.removeprefix("file:").lstrip("/").removeprefix("localhost/")))
    found.places = _places(args)
    _subject(found)


def wget(found: CommandEffects) -> None:
    """A download into a file, or to standard output with `-O -`; sending data is a greater risk."""
    args = found.call.args
    found.act(Risk.MEDIUM, "it uses the network", Power.NETWORK)
    found.sends = True
    to_stdout = spider = False
    for place, word in enumerate(args):
        text = word.text
        if not word.known:
            found.unclear()
        value = args[place + 1] if place + 1 < len(args) else ShellWord("")
        if text.startswith(("--post", "--body", "--method")):
            found.act(Risk.HIGH, "it sends data to another machine", Power.NETWORK)
        if text.startswith(("--use-askpass", "-i", "-e", "--execute", "--config")):
            found.act(Risk.HIGH, f"{text} can make it do anything", Power.EXECUTE)
        if text.startswith("--output-document="):
            value = ShellWord(text.partition("=")[2], word.known)
        if text.startswith("--output-document") or (text.startswith("-") and not text.startswith("--") and text.endswith("O")):
            to_stdout = value.text == "-"
            if not to_stdout:
                found.change(value, "write")
        to_stdout |= text.startswith("-") and text.endswith("O-")
        spider |= text == "--spider"
    if not (to_stdout or spider):
        found.powers.add(Power.WRITE)
    found.places = _places(args)
    _subject(found)


def runner(found: CommandEffects) -> None:
    """Fetches a package and runs it."""
    first = next((word.text for word in found.call.args if word.text not in OFFLINE), "")
    if first in TOOLS:  # where the package is not installed, the sandbox has no network to fetch it
        found.act(Risk.MEDIUM, "it runs a tool of the project", Power.EXECUTE)
    else:
        found.act(Risk.MEDIUM, "it fetches and runs packages", Power.NETWORK, Power.EXECUTE)
        found.sends = True
    found.subject = f"{found.call.name} {found.call.args[0].text}" if found.call.args and not found.call.args[0].text.startswith("-") else ""
    if any(not w.known for w in found.call.args):
        found.unclear()
