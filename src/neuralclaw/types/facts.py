"""What an action would touch: what the gate asks to be looked up, and the facts that were found."""

from typing import Literal

import msgspec

from .labels import NONE, Labels

PathOp = Literal["read", "list", "write", "delete", "execute"]


class PathWant(msgspec.Struct, frozen=True):
    """A path the analysis found in an action, absolute but not resolved, and what would be done to it."""

    path: str
    op: PathOp


class Wants(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate asks `Facts` to look up. `programs` are names as they stand in a command, looked up from `cwd`."""

    paths: tuple[PathWant, ...] = ()
    programs: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    """Files that an interpreter would run, absolute."""
    ran: tuple[str, ...] = ()
    """Paths whose files the command runs as code, where they are there; `named`: where they look like code."""
    named: tuple[str, ...] = ()
    cwd: str = ""
    repositories: tuple[str, ...] = ()
    """Directories in which git reads, so that it opens a repository there."""
    committed: tuple[str, ...] = ()
    """Directories in which git changes a repository, so that the repository's hooks and settings may run programs."""
    trees: tuple[str, ...] = ()
    """Directories of which every file of code is looked up: which of them the command loads is not known."""
    undo: bool = False
    """Whether undo covers what a command may write is looked up."""
    shell: bool = False
    """Whether any sandbox holds commands is looked up: it is more than one program that reads."""


class PathFact(msgspec.Struct, frozen=True, kw_only=True):
    """What a path is. `resolved` is the real path after links (of the deepest part that exists, the rest appended)."""

    path: str
    op: PathOp
    resolved: str
    exists: bool
    kind: Literal["file", "directory", "other", "missing"]
    inside: bool
    """In an allowed path (the workspace or `tools.filesystem.allowed_paths`)."""
    git: str = ""
    """Of what the action would change: the directory with a file `HEAD` that it lies in, which git may take for a repository, whatever its name."""
    environment: str = ""
    """Of the same: the environment of Python, whatever its name, that it lies in."""
    digest: str | None = None
    """SHA-256 of a regular file that the action would change, so that what is changed is what was judged."""
    text: str | None = None
    """Its text, where it would be changed and is short enough to be shown as a diff."""
    labels: Labels = NONE
    link: bool = False
    """It is a link, which would be deleted itself."""
    closed: bool = False
    """Not everybody may read it; the agent, which is an administrator, could."""
    others: tuple[str, ...] = ()
    """Other real names of it: by a hard link in a place that is kept from every call, and by a mount."""
    expanded: "tuple[PathFact, ...]" = ()
    """What a path with wildcards means, as far as it is there: where each of these leads."""
    many: bool = False
    """Its wildcards mean more than is looked up."""

    @property
    def names(self) -> tuple[str, ...]:
        """All real names that are known of it."""
        return (self.resolved, *self.others)


class FactSheet(msgspec.Struct, frozen=True, kw_only=True):
    """The looked-up facts. A program that was not found maps to None; a host maps to the addresses of its first look-up."""

    paths: tuple[PathFact, ...] = ()
    programs: dict[str, str | None] = msgspec.field(default_factory=dict)
    addresses: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    unasked_hosts: tuple[str, ...] = ()
    """Hosts of the call that were not looked up: their names are told to nobody before the call is allowed."""
    nat64: tuple[str, ...] = ()
    """Addresses of `ipv4only.arpa`, looked up where a host has IPv6 addresses: they show how this network translates IPv4 addresses (RFC 7050)."""
    lookup_seconds: float = 0.0
    """How long the look-ups of hosts took; they count as time of the call."""
    scripts: dict[str, str] = msgspec.field(default_factory=dict)
    """SHA-256 of each file that an interpreter would run, where it could be read."""
    code: dict[str, str] = msgspec.field(default_factory=dict)
    """SHA-256 of each file that the command runs as code: of `Wants.ran` and `Wants.named`, and of its programs that lie where calls write. Under the name of
    a directory with a slash behind it: the state of all code below (`Wants.trees`)."""
    hooks: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    """For each of `Wants.committed`: the settings and hooks of the repository there, and the SHA-256 of each."""
    repositories: dict[str, tuple[PathFact, ...]] = msgspec.field(default_factory=dict)
    """What git may open as its repository in each directory that was asked about: read, it decides what else git runs."""
    reach: Labels = NONE
    """Joined labels of all files in the workspace and the allowed paths: what a command may read whose reads are not known."""
    undo_covers: bool = False
    """The sandbox in use keeps what a command writes in the workspace and the allowed paths, and undo brings back all that is there."""
    unconfined: bool = False
    """No sandbox holds what a command does: it could do all that the person can."""
    undo_lacks: str = ""
    """Where undo alone keeps it from being covered: what it does not bring back, in words."""
