"""Places: which paths are inside, which belong to the system, and which hold secrets. Functions of the path alone; links are resolved by `Facts`."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from posixpath import basename, dirname, isabs, normpath

import msgspec
from msgspec import UNSET

from ..types.datafile import read_data_file
from ..types.options import Policy
from ..types.own_parts import kept_imports, kept_in
from ..types.secret_names import SECRET_NAMES

SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/proc", "/run", "/sbin", "/srv", "/sys", "/usr", "/var", "/root")
SCRATCH = ("/tmp", "/var/tmp", "/dev/shm")
HARMLESS_DEVICES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
PLACES = "sandbox/tables/places.json"
HOMES = ("/home", "/Users", "/var/home")

FORBIDDEN_SECRETS = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-")
ASKED_SECRETS = ("/proc/*/environ", "/proc/*/task/*/environ", "/proc/*/mem", "/proc/*/task/*/mem", "/proc/kcore", "/etc/sudoers", "/etc/ssh/ssh_host_*_key")
_FORBIDDEN, _ASKED = (tuple(tuple(place.strip("/").split("/")) for place in places) for places in (FORBIDDEN_SECRETS, ASKED_SECRETS))
_TOPS = frozenset(pattern[0] for pattern in (*_FORBIDDEN, *_ASKED))
STARTUP_NAMES = frozenset({".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zprofile", ".zshenv", "authorized_keys", "autostart", ".xinitrc"})

INSTRUCTIONS = ("agents.md", "agents.override.md", "skill.md")
"""Names, in small letters, of files that this agent takes as instructions."""


USER_HOME = "/~"
"""How the path of a user's home begins that `Facts` looks up: `~bob/x` is `/~bob/x`."""
OWN_PROCESS = ("/proc/self", "/proc/thread-self")
WORKSPACES = "workspaces"
"""The directory of a data home in which the agent makes workspaces for sessions that have none."""
_WILD = frozenset("*?[")
LONGEST_NAME = 255


def under(path: str, root: str) -> bool:
    """Whether `path` is `root` or lies below it; both absolute and normal."""
    return path == root or root == "/" or path.startswith(root + "/")


def absolute(path: str, base: str) -> str:
    """The path as an absolute one, seen from `base`. A `..` behind a name stays: what it means depends on whether that is a link, which `Facts` looks up."""
    found: list[str] = []
    for part in (path if isabs(path) else f"{base}/{path}").split("/"):
        if part not in ("", ".") and not (part == ".." and not found):
            found.append(part)
    return "/" + "/".join(found)


def normal(path: str) -> str:
    """An absolute path with each `..` taken off with the name before it, as if no link were on the way."""
    if ".." not in path:
        return path
    full = normpath(path)
    return "/" + full.lstrip("/") if full.startswith("//") else full


def named_by_command(path: str, base: str) -> str:
    """The path as `absolute`, with what a command's own entry in `/proc` leads to in its place: to the agent that entry is another one."""
    full = absolute(path, base)
    for process in OWN_PROCESS:
        for name, place in (("cwd", base), ("root", "/")):
            if under(full, f"{process}/{name}"):
                return absolute(full[len(process) + len(name) + 2 :], place)
    return full


def directory_in(directory: str, base: str | None) -> str | None:
    """Where a program runs that was started in `directory`, seen from `base`; None where that is not known. A path that ends in `/.` is one whose name the
    shell does not keep: there a `..` of `cd` means what it means to the kernel."""
    return None if base is None and not isabs(directory) else f"{absolute(directory, base or '/').rstrip('/')}/."


def directory_after(directory: str, base: str | None, *, physical: bool = False) -> str | None:
    """Where a shell is after `cd`: it takes each `..` off with the name before it, by the names by which it came there. `physical`: as with `-P`."""
    if base is None and not isabs(directory):
        return None
    if physical:
        return directory_in(directory, base)
    plain = normpath(directory)
    if base is None or isabs(plain) or not base.endswith("/."):
        return normal(absolute(plain, base or "/"))
    return directory_in(plain, base)


def person_home(policy: Policy) -> str:
    """The person's home directory, or "" when it is not known."""
    if policy.home_dir:
        return policy.home_dir
    return next((p for p in policy.protected_paths if p == "/root" or dirname(p) in HOMES), "")


def data_homes(policy: Policy) -> tuple[str, ...]:
    """Protected places that hold the agent's own data: never read or written by a call, unless the workspace lies in them."""
    home = person_home(policy)
    return tuple(p for p in policy.protected_paths if p not in ("/", home))


def in_data_home(path: str, policy: Policy, workspace: str) -> bool:
    """Whether `path` is the agent's own data, whatever the workspace; but what the agent made there to be a workspace is none."""
    wild = any(c in path for c in "*?[")
    for root in data_homes(policy):
        given = f"{root}/{WORKSPACES}"
        if (under(path, root) or (wild and matches(path, root))) and not (workspace != given and under(workspace, given) and under(path, workspace)):
            return True
    return False


def in_own_code(path: str, policy: Policy, workspace: str) -> bool:
    """Whether `path`, which may hold wildcards, is of the program of the agent itself, whatever the workspace."""
    wild = any(c in path for c in "*?[")
    kept = (root for place in policy.own_places for root in kept_in(place, workspace))
    return any(under(path, root) or (wild and matches(path, root)) for root in kept)


def holds_own_code(path: str, policy: Policy, workspace: str) -> bool:
    """Whether a part of that program, or a place that it imports from, lies below `path`, which may hold wildcards."""
    kept = (*(root for place in policy.own_places for root in kept_in(place, workspace)), *kept_imports(policy.own_imports or (), workspace))
    wild = any(c in path for c in "*?[")
    return any(under(root, path) or (wild and matches(root, path)) for root in kept)


def import_place_at(path: str, policy: Policy, workspace: str) -> str:
    """The place from which the program of the agent itself imports, and that `path`, which may hold wildcards, is or lies in; "" for none."""
    wild = any(c in path for c in "*?[")
    return next((root for root in kept_imports(policy.own_imports or (), workspace) if under(path, root) or (wild and matches(path, root))), "")


def hook_at(path: str, policy: Policy, *, below: bool) -> str:
    """The file of a hook that `path`, which may hold wildcards, names, or by `below` that lies below it; "" where none does."""
    if policy.hook_files is UNSET:
        return ""
    wild = any(c in path for c in "*?[")
    return next((file for file in policy.hook_files if path == file or (below and under(file, path)) or (wild and matches(path, file))), "")


def holds_data_home(path: str, policy: Policy, workspace: str) -> bool:
    """Whether something below `path` is the agent's own data or a known secret."""
    if workspace != "/" and under(path, workspace):
        return any(under(root, path) for root in data_homes(policy))
    homes = (person_home(policy), *data_homes(policy))
    return path in ("/", "/var", "/root", *HOMES) or any(root and under(root, path) for root in homes)


def is_system(path: str) -> bool:
    """Whether a write there changes the system. Scratch places and harmless devices are not."""
    if path in HARMLESS_DEVICES or any(under(path, s) for s in SCRATCH) or any(path.startswith(f"{home}/") for home in HOMES):
        return False
    return path == "/" or any(under(path, s) for s in SYSTEM)


def is_device(path: str) -> bool:
    """A device file that must not be written; `/dev/null`, the standard streams and memory-backed places are fine."""
    return under(path, "/dev") and path not in HARMLESS_DEVICES and not path.startswith(("/dev/fd/", "/dev/shm/", "/dev/pts/", "/dev/tcp/", "/dev/udp/"))


class ShownPlaces(msgspec.Struct, frozen=True):
    """The part of the sandboxes' table of places that commands read unasked."""

    public: tuple[str, ...]
    processes: str


@cache
def _shown() -> tuple[str, ...]:
    """The system's places that a sandbox shows to every command."""
    table = read_data_file(PLACES, ShownPlaces)
    return (*table.public, table.processes)


def is_public(path: str) -> bool:
    """Whether a command may read there unasked. Raises `ConfigError` for a damaged table."""
    return path in HARMLESS_DEVICES or path.startswith("/dev/fd/") or any(under(path, root) for root in _shown())


def is_scratch(path: str) -> bool:
    return any(under(path, s) for s in SCRATCH)


def is_startup(path: str) -> bool:
    """A file that runs at the person's next log-in, or lets somebody in."""
    return any(part in STARTUP_NAMES for part in path.split("/"))


def instructs(path: str) -> bool:
    """A file that later turns take as instructions, wherever it lies: a workspace may be there or below. The path may hold wildcards."""
    name = basename(path.rstrip("/")).lower()
    return any(_may_be(one, name) for one in INSTRUCTIONS)


def matches(path: str, pattern: str) -> bool:
    """Whether two paths, either with wildcards, may name the same file: compared part by part, `pattern` covers what is below it."""
    return _fits(path.strip("/").split("/"), pattern.strip("/").split("/"))


def _fits(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    if len(mine) < len(theirs):
        return False
    return all(a == b or _may_be(a, b) for a, b in zip(mine, theirs, strict=False))


def _may_be(mine: str, theirs: str) -> bool:
    """Whether two names, either with wildcards, may be the same. A pattern longer than any file's name is taken to fit."""
    if not _WILD.intersection(mine) and not _WILD.intersection(theirs):
        return mine == theirs
    if max(len(mine), len(theirs)) > LONGEST_NAME:
        return True
    return fnmatchcase(mine, theirs) or fnmatchcase(theirs, mine)


def secret(path: str) -> str | None:
    """`forbid` or `ask` for a place that holds secrets, else None. The path may hold wildcards."""
    mine = path.strip("/").split("/")
    below = mine[0] in _TOPS or bool(_WILD.intersection(mine[0]))
    if below and any(_fits(mine, pattern) for pattern in _FORBIDDEN):
        return "forbid"
    parts = path.split("/")
    if (below and any(_fits(mine, pattern) for pattern in _ASKED)) or any(part.lower() in SECRET_NAMES for part in parts):
        return "ask"
    if any("*" in part and part.startswith(".") and fnmatchcase(".ssh", part) for part in parts):
        return "ask"
    return None


def is_root_or_home(path: str, policy: Policy, workspace: str) -> bool:
    """A place whose recursive removal is blocked for good: top of the disk, system directories, homes, and all that holds the workspace or the data."""
    parts = [p for p in path.split("/") if p]
    if len(parts) <= 1:
        return True
    if dirname(path) in HOMES or path in HOMES:
        return True
    if len(parts) == 2 and ("/" + parts[0] in SYSTEM and parts[0] != "root" and not is_scratch(path)):
        return True
    kept = (workspace, person_home(policy), *policy.protected_paths)
    return any(k and k != workspace and under(k, path) for k in kept) or (path != workspace and under(workspace, path))
