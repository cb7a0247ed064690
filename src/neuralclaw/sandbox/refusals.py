"""Whether a command failed because its sandbox refused something, found in what it printed, and what to do next.

A message alone proves nothing: a file that is not there, or that the person may not read either, is no refusal of the sandbox. So each path that a message
names is looked at outside: it counts when the person could use it and the sandbox does not show it, or shows it read-only.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec
from anyio.to_thread import run_sync

from ..types.grants import asking_for
from ..types.secret_names import SECRET_NAMES
from .closed_places import ELSEWHERE, KERNEL, closed_to_all, is_socket
from .outbound_proxy import ProxyUse
from .own_code import is_hook, owner_of, protected_places
from .program_lookup import beneath
from .program_run import CompletedProgram, Program
from .visible import View

_OWN = "the program of the agent itself lies"
_BYTES = 20_000
_NAMED = 3

_DENIED = re.compile(r"permission denied|operation not permitted|read-only file system|device or resource busy|\bE(?:ACCES|PERM|ROFS|BUSY)\b", re.IGNORECASE)
_MISSING = re.compile(r"no such file or directory|\bENOENT\b|cannot (?:find|open|access)|not found|does not exist", re.IGNORECASE)
_NETWORK = re.compile(
    r"network is unreachable|could(?: not|n't) resolve (?:host|proxy)|(?:temporary failure in|failure in) name resolution|name or service not known"
    r"|no address associated|\bE(?:NETUNREACH|AI_AGAIN|NOTFOUND)\b|unable to resolve host|no such host\b|dns error: failed|failed to lookup address"
    r"|failed to connect to \S+ port \d+ after .*could(?: not|n't) connect|\(from versions: none\)",
    re.IGNORECASE,
)
_UNCONNECTED = re.compile(r"connection refused|(?:failed|could ?n.t|unable) to connect|\bECONNREFUSED\b", re.IGNORECASE)
_READING = re.compile(r"cannot (?:open|access|stat)|can't (?:open|read)|^(?:cat|diff|file|find|grep|head|ls|sed|sort|stat|tail|wc)\b:", re.IGNORECASE)
"""What is said of a file that was to be read: one that is not there was not refused."""
_TERMINAL = re.compile(r"pseudo-?terminal|out of pty devices|openpty", re.IGNORECASE)
_ANY = re.compile(
    rb"denied|not permitted|read-only|busy|no such|not found|cannot|can't|unreachable|resol|not known|connect|\bE[A-Z]{4,}|exist|pty|pseudo|dns|not implemented"
    rb"|must be|root|privileges|setuid|permission|system error|invalid argument|display|agent|failed|versions: none",
    re.IGNORECASE,
)
_QUIET = {"curl": (6, 7), "wget": (4,)}
"""Programs that may say nothing where no host is reached, and their exit codes."""
_REDIRECTS = re.compile(r"\d*>&\d|&>\s*\S+")
_PARTS = re.compile(r"[|;&\n(){}`]+|\b(?:then|do|else)\b")
_READERS = frozenset("awk cat cd cut diff echo exit false grep head jq less ls nl printf rg sed sort tac tail test true uniq wc".split())
"""Programs that print what stands in files: what they print of a network is of another time."""
_JOINS = re.compile(r"2>&1|\|&|&>")
"""Standard error goes where output goes, and perhaps through a pipe that ends well."""
_PATHS = re.compile(r"['\"‘`]([^'\"’`]*/[^'\"’`]*)['\"’`]|(?<![\w:/.-])(\.{0,2}/[^\s:'\"’`,;()\[\]]+)|(?<![\w:/.@-])([\w.@+-]+(?:/[\w.@+-]+)+)")
_NOT_FILES = ("/proc", "/dev", "/sys")

SEEN = "A command sees the workspace, allowed paths, known toolchains and the system's public places"
OWN_LINE = (
    "write it in the workspace and copy it there by a line of its own (cp), or make the directory so (mkdir) and then ask for it with access; "
    "the person is asked about both"
)


class Around(msgspec.Struct, frozen=True):
    """What a program had besides files: a network through the proxy (None: none), a place of its own for temporary files, terminals that it can make.

    `hides`: what it does not see is not there for it, where it is else refused.
    """

    network: ProxyUse | None
    own: str
    terminals: bool
    hides: bool
    carved: bool = False
    """Nothing can be made directly beside what is kept."""


async def explained(done: CompletedProgram, show: Callable[[], View], program: Program, around: Around) -> CompletedProgram:
    """The same with what its sandbox refused, if it failed or complained. `show` says what it saw; it reads the disk."""
    text = done.stdout[-_BYTES:] + b"\n" + done.stderr[-_BYTES:]
    joined = any(_JOINS.search(part) for part in program.argv)
    if not (done.exit_code or done.stderr or joined):
        return with_refused_places(done, around)
    quiet = around.network is None and not text.strip() and _quiet(done.exit_code, program)
    if not quiet and not _ANY.search(text):
        return with_refused_places(done, around)
    errors = text if joined else done.stderr[-_BYTES:]
    said = await run_sync(lambda: refused((text, errors), show(), program, around, quiet=quiet))
    return msgspec.structs.replace(done, refused=said)


def with_refused_places(done: CompletedProgram, around: Around) -> CompletedProgram:
    """The same with the places that its proxy refused."""
    said = _network([], around)
    return msgspec.structs.replace(done, refused=_sentence(said)) if said else done


def refused(printed: tuple[bytes, bytes], seen: View, program: Program, around: Around, *, quiet: bool = False) -> str:
    """What the sandbox refused and what to do next, "" when nothing shows that it did. `printed`: all that the command printed, and what it printed as errors.

    `quiet`: it reached no host and said nothing. Reads the disk.
    """
    lines, errors = (text.decode(errors="replace").splitlines() for text in printed)
    hidden, kept = _paths(lines, seen, program, around)
    said = []
    ruled = [path for path in dict.fromkeys((*hidden, *kept)) if any(beneath(path, place) for place in seen.ruled)]
    hidden, kept = ([path for path in paths if path not in ruled] for paths in (hidden, kept))
    hidden, never = _divided(hidden, seen)
    kept, own = _divided(kept, seen, changing=True)
    temporary = " Temporary files belong in $TMPDIR." if around.own != "/tmp" and any(beneath(path, "/tmp") for path in (*hidden, *never)) else ""
    if never:
        reason = "is, or holds, the agent's own data, keys and passwords or a whole home, which no command is given"
        said.append(f"{_listed(never)} {reason}.{temporary} {SEEN}. {ELSEWHERE}")
    if ruled:
        said.append(f"{_listed(ruled)} is kept from commands by a rule of the owner. Do what the task needs without it, or tell the person.")
    owners = {owner: [path for path in own if owner_of(path) == owner] for owner in map(owner_of, own)}
    said += [f"{_listed(paths)} {owner}, which no call may change. {ELSEWHERE}" for owner, paths in owners.items()]
    if around.carved:
        said += _beside_closed(lines, seen, program)
    if hidden:
        said.append(f"{_listed(hidden)} is outside of what this command may use.{temporary} {SEEN}. {_asking(hidden, seen)}")
    if kept:
        said.append(f"{_listed(kept)} may be read by this command and not changed. {_asking(kept, seen, 'write')}")
    reads = _only_reads(program.argv)
    said += _network([] if reads else lines, around, quiet=quiet)
    if not around.terminals and any(_TERMINAL.search(line) for line in lines):
        said.append("There are no terminals to be made here; run the program without one, or install bubblewrap.")
    explained_already = {line for line in errors if any(path in line for path in (*hidden, *kept, *never, *own))}
    if not reads:
        said += closed_to_all([line for line in errors if line not in explained_already], program)
    return _sentence(said) if said else ""


def _programs(argv: Sequence[str]) -> list[str]:
    """The first word of each part of a script, as far as that can be seen; else the program."""
    if len(argv) < 3 or argv[1] != "-c":
        return [os.path.basename(argv[0])]
    words = [part.split() for part in _PARTS.split(_REDIRECTS.sub(" ", argv[2]))]
    return [next((word for word in part if "=" not in word), "") for part in words if part]


def _only_reads(argv: Sequence[str]) -> bool:
    return all(name in _READERS or not name for name in _programs(argv)) and not any("/dev/tcp/" in part or "/dev/udp/" in part for part in argv)


def _quiet(code: int, program: Program) -> bool:
    return any(code in _QUIET.get(os.path.basename(name), ()) for name in _programs(program.argv))


def _sentence(said: list[str]) -> str:
    return f"[The sandbox refused this: {' '.join(said)}]"


def _network(lines: list[str], around: Around, *, quiet: bool = False) -> list[str]:
    """What was refused of the network: places, all of it, or all but the proxy. `quiet`: that a place was not reached shows elsewhere."""
    network = around.network
    if network is not None and network.refused:
        more = [f"and {len(network.refused) - _NAMED} more places."] if len(network.refused) > _NAMED else []
        return [*(f"{one}." for one in network.refused[:_NAMED]), *more]
    unproxied = network is not None and not network.served and any(_UNCONNECTED.search(line) for line in lines)
    if not unproxied and not quiet and not any(_NETWORK.search(line) for line in lines):
        return []
    if network is None:
        return [
            "This command has no network. One that plainly names what it reaches, such as `curl URL` or `pip install NAME`, is judged for it. "
            + f"{asking_for(['connect HOST:PORT'])}, with the place that it needs."
        ]
    return [
        "This command reaches the network only through the proxy that http_proxy, https_proxy and ALL_PROXY name, and the program did not use it. "
        "Curl, wget, git (https addresses), pip, npm and Python's clients do; ssh, Java and fetch of Node before version 24 do not."
    ]


def _asking(paths: list[str], seen: View, kind: str = "read") -> str:
    """How to ask for these: to read what is there, unless told otherwise. To make what is not there takes a line of its own."""
    there = [path for path in paths[:_NAMED] if os.path.lexists(path) or (seen.workspace and beneath(path, seen.workspace))]
    made = [path for path in paths[:_NAMED] if path not in there]
    said = [f"{asking_for([f'{kind} {path}' for path in there])}."] if there else []
    return " ".join([*said, *([f"To make {', '.join(made)}, {OWN_LINE}."] if made else [])])


def _listed(paths: list[str]) -> str:
    return ", ".join(paths[:_NAMED]) + (f" and {len(paths) - _NAMED} more, each" if len(paths) > _NAMED else "")


def _paths(lines: list[str], seen: View, program: Program, around: Around) -> tuple[list[str], list[str]]:
    """Paths that a message names and the sandbox does not show, and those that it shows read-only; only such as the person can use."""
    hidden: dict[str, None] = {}
    kept: dict[str, None] = {}
    for line in lines:
        denied, missing = bool(_DENIED.search(line)), around.hides and bool(_MISSING.search(line))
        for named in _named(line, program.cwd) if (denied or missing) and not KERNEL.search(line) else ():
            path = _first_made(named) if denied else named
            if is_socket(path):
                continue  # a service of this machine, which no call may have
            shown = seen.shows(path)
            if (denied and not shown and beneath(path, around.own)) or any(beneath(path, place) for place in _NOT_FILES):
                continue
            if not shown:
                absent = not os.path.lexists(path) and _READING.search(line)
                if not absent and _usable(path, os.R_OK, os.W_OK) and (denied or _is_hidden(path, seen)):
                    hidden[path] = None
            elif denied and not seen.changes(path) and _usable(path, os.W_OK, os.W_OK):
                kept[path] = None
    return list(hidden), list(kept)


def _divided(paths: list[str], seen: View, *, changing: bool = False) -> tuple[list[str], list[str]]:
    """Those that a call may ask for, and those that are refused to every call (`safety.access_rules`), to read or by `changing` to write."""
    may: list[str] = []
    never: list[str] = []
    for path in paths:
        if changing:
            closed = any(beneath(path, place) for place in protected_places(seen.workspace))
        else:
            holds = path in ("/", "/home", "/var/home", "/root") or any(place and beneath(place, path) for place in (seen.home, *seen.hidden))
            closed = holds or any(beneath(path, place) for place in seen.hidden) or any(part in SECRET_NAMES for part in path.split("/"))
        (never if closed else may).append(path)
    return may, never


def _beside_closed(lines: list[str], seen: View, program: Program) -> list[str]:
    """What could not be made directly in a directory around something hidden or kept, which Landlock cannot except from a place to write."""
    around = {os.path.dirname(place): place for place in (*seen.hidden, *seen.kept) if any(beneath(place, root) and place != root for root in seen.write)}
    refused_here = [line for line in lines if around and _DENIED.search(line) and not KERNEL.search(line)]
    for line in refused_here:
        paths = list(_named(line, program.cwd))
        for directory in map(os.path.dirname, filter(seen.changes, paths)) if paths else (program.cwd,):  # a name alone is no path that could be found
            if place := next((around[one] for one in around if beneath(one, directory)), ""):
                what = _lying(place, seen)
                return [
                    f"Nothing can be made, renamed or removed directly in {directory} by a command, since {what} in it and Landlock cannot except that where "
                    "user namespaces are closed to programs. In its other directories, and with file tools, it can; with bubblewrap, everywhere"
                    + (", and with NeuralClaw installed elsewhere, as its README does." if what == _OWN else ".")
                ]
    return []


def _lying(place: str, seen: View) -> str:
    """What it is that lies in a directory to write, as the beginning of "in it"."""
    if place not in protected_places(seen.workspace):
        return f"{place}, which no command sees, is"
    return f"{place}, a hook of the owner, lies" if is_hook(place) else _OWN


def _named(line: str, cwd: str) -> Iterator[str]:
    """The paths in a line, but not the program that says it."""
    for found in _PATHS.finditer(line):
        try:
            path = os.path.realpath(os.path.join(cwd, found[1] or found[2] or found[3]))
        except (OSError, ValueError):  # no path, or one that cannot even be looked at: what a command prints is anything
            continue
        if found.start() or not (os.path.isfile(path) and os.access(path, os.X_OK)):
            yield path


def _first_made(path: str) -> str:
    """The path, or the directory around it that would have to be made first; not one of the root, where an address of a server looks like a path."""
    first = path
    while not os.path.lexists(above := os.path.dirname(first)):
        first = above
    return first if above != "/" else path


def _usable(path: str, mode: int, making: int) -> bool:
    """Whether the person could use it so; of what is not there, whether it could be made."""
    return os.access(path, mode) if os.path.lexists(path) else os.access(os.path.dirname(path), making)


def _is_hidden(path: str, seen: View) -> bool:
    """Whether it, or the directory that it would be made in, is there outside and not inside."""
    place = path if os.path.lexists(path) else os.path.dirname(path)
    return os.path.lexists(place) and not any(beneath(root, place) for root in (*seen.read, *seen.granted, *seen.write))
