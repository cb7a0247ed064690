"""Whether a command may reach the host of an owner's rule: named in any of its words, or where the words are not known."""

import re
from functools import lru_cache
from urllib.parse import unquote

from ..types.risk import Power
from .command_line import CommandLine, SimpleCommand
from .possible_powers import may_have

DATA = frozenset(
    "-A -F -H -d -e -m -o -u --data --data-ascii --data-binary --data-raw --data-urlencode --form --form-string --header --json --max-time --output"
    " --referer --request --user --user-agent".split()
)
"""Options of programs that speak HTTP whose value names no place that they connect to."""
HTTP = frozenset({"curl", "wget", "http", "https", "xh"})
CLIENTS = HTTP | frozenset(
    "aria2c dig drill ftp host lftp links lynx mosh mtr nc ncat netcat nmap nslookup ping ping6 scp sftp socat ssh ssh-copy-id ssh-keyscan telnet tracepath"
    " traceroute w3m websocat whois".split()
)
"""Programs that connect to what their words name, and to nothing where they name nothing."""

_PROXY = re.compile(r"proxy\s*=\s*(\S+)", re.IGNORECASE)


def may_reach(line: CommandLine, host: str, *, unconfined: bool) -> bool:
    """Whether some command of the line names the host or one below it, or may reach it: it is a client whose words are not known. Other programs of the
    network reach no such host, since their proxy judges each; `unconfined`: nothing holds them."""
    uses = any(Power.NETWORK in command.powers for command in line.commands)
    if uses and any(_named(host).search(found[1]) for found in _PROXY.finditer(line.text)):
        return True
    return any(_reaches(command, host, understood=line.understood, unconfined=unconfined) for command in line.commands)


def _reaches(command: SimpleCommand, host: str, *, understood: bool, unconfined: bool) -> bool:
    name = command.argv[0].rsplit("/", 1)[-1] if command.argv else ""
    client = name in CLIENTS
    if name == "git" and {"remote", "config", "submodule"} & set(command.argv) and any(_named(host).search(text) for text in _texts(name, command.argv)):
        return True
    if not client and Power.NETWORK not in command.powers and not may_have(command, Power.NETWORK):
        return unconfined and (command.unresolved or Power.EXECUTE in command.powers)
    texts = _texts(name, command.argv)
    if any(_named(host).search(text) for text in texts):
        return True
    if client:
        named = any(not word.startswith("-") for word in command.argv[1:])
        fed = any(via.partition(" ")[0].endswith(("xargs", "parallel")) for via in command.via)
        return not named or fed or (Power.EXECUTE in command.powers and name in HTTP) or any(_is_open(text, understood=understood) for text in texts)
    return unconfined or (name == "git" and any(_is_open(text, understood=understood) for text in texts))


def _is_open(text: str, *, understood: bool) -> bool:
    """Whether what the text stands for is not all in it: `curl` takes braces and brackets, and what is not known may be anything."""
    return ("$" in text or "`" in text) if not understood else any(char in text for char in "{[*")


def _texts(name: str, argv: tuple[str, ...]) -> list[str]:
    """What of the words may name a place to connect to."""
    found: list[str] = []
    before = ""
    for word in argv[1:] if not argv or argv[0] not in ("<", ">", ">>") else argv:
        skipped = name in HTTP and (before in DATA or word.partition("=")[0] in DATA or (len(word) > 2 and word[:2] in DATA and word[1] not in "eo"))
        before = word
        if skipped:
            continue
        values = [word]
        if word.startswith("--"):
            values = [word.partition("=")[2]]
        elif word.startswith("-"):
            values = [word.partition("=")[2], word[2:]]
        found += [_authority(value) for value in values if value]
    return found


def _authority(text: str) -> str:
    """The part of an address, or of `HOST:PATH`, that names the host."""
    text = unquote(text).replace("\\", "/")
    if text.startswith(("/dev/tcp/", "/dev/udp/")):
        return text.split("/")[3]
    scheme, separator, rest = text.partition("://")
    if separator and "/" not in scheme:
        return re.split(r"[/?#]", rest, maxsplit=1)[0]
    text = text.removeprefix("//")
    return "" if text.startswith(("/", "./", "../")) else re.split(r"[/?#]", text, maxsplit=1)[0]


@lru_cache(maxsize=256)
def _named(host: str) -> "re.Pattern[str]":
    return re.compile(rf"(?<![\w-])(?:[\w-]+\.)*{re.escape(host)}\.?(?![\w-]|\.\w)", re.IGNORECASE)
