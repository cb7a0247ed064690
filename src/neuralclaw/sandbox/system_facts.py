"""What is true about the things an action names: real paths, kinds, digests, programs, addresses, the sandbox in use."""

import hashlib
import os
import socket
import stat
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Literal, Protocol

import anyio
import msgspec
from anyio.to_thread import run_sync

from ..types.actions import Action
from ..types.facts import FactSheet, PathFact, PathWant, Wants
from ..types.options import Policy
from .nolinks import opener
from .preimages import digest_of
from .program_lookup import beneath, find_program

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""Host to addresses, in the order of the answer; an unknown host has none."""


class DocumentTexts(Protocol):
    """Takes the text out of a document that would be replaced."""

    def shows(self, path: str) -> bool:
        """Whether a file of that name may be a document."""
        ...

    async def text_of(self, path: str, data: bytes) -> str | None:
        """The text that a person is shown of it, or None: it takes a few seconds at most."""
        ...


Kind = Literal["file", "directory", "other", "missing"]


SHOWN_BYTES = 64 * 1024
"""Files up to this size are shown as a diff when a person is asked about a change."""

_DOCUMENT_BYTES = 5_000_000
LOOKUP_SECONDS = 10.0
NAT64_NAME = "ipv4only.arpa"
NAT64_SECONDS = 600.0
"""How long it counts what the look-up of that name gave: a machine may change its network."""


class SystemFacts:
    """Looks up what the gate names, and starts no process for it.

    `path_env`: where programs are looked for; commands must run with the same. `resolver` replaces DNS.
    `documents` takes the text out of a document that would be replaced. `undo_lacks` says what undo does not bring back of what a command may write
    in a workspace: None where it covers all of it, "" where it covers nothing; with False nothing is copied for it.
    `unconfined` says whether no sandbox holds commands.
    """

    def __init__(
        self,
        policy: Policy,
        path_env: str,
        resolver: Resolver | None = None,
        *,
        documents: DocumentTexts | None = None,
        undo_lacks: Callable[[str, bool], Awaitable[str | None]] | None = None,
        unconfined: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self._policy, self._path, self._resolve, self._documents = policy, path_env, resolver or resolve, documents
        self._undo_lacks, self._unconfined = undo_lacks, unconfined
        self._nat64: tuple[float, tuple[str, ...]] | None = None

    async def look(self, action: Action, wants: Wants) -> FactSheet:
        """The facts, looked up now. Raises `OSError` for a file that would be changed and cannot be read."""
        paths: tuple[PathFact, ...] = ()
        scripts: dict[str, str] = {}
        programs: dict[str, str | None] = {}
        if wants.paths or wants.programs:
            paths, programs = await run_sync(self._disk, action.workspace, wants)
            paths = tuple([await self._with_text(fact) for fact in paths])
        if wants.scripts:
            scripts = await run_sync(_digests, wants.scripts)
        begun = time.monotonic()
        addresses = await self._addresses(wants.hosts)
        nat64 = await self._translation() if any(":" in address for found in addresses.values() for address in found) else ()
        looked = time.monotonic() - begun if wants.hosts else 0.0
        lacks = await self._undo_lacks(action.workspace, action.turn > 0) if wants.undo and self._undo_lacks is not None else ""
        return FactSheet(
            paths=paths,
            programs=programs,
            addresses=addresses,
            nat64=nat64,
            lookup_seconds=looked,
            scripts=scripts,
            undo_covers=lacks is None,
            unconfined=await self._unconfined() if wants.shell and self._unconfined is not None else False,
            undo_lacks=lacks or "",
        )

    async def _with_text(self, fact: PathFact) -> PathFact:
        """The fact with a document's text, if it is one that would be written and its text is short enough."""
        if not self._documents or fact.op != "write" or fact.kind != "file" or not self._documents.shows(fact.resolved):
            return fact
        data = await run_sync(_document, fact.resolved)
        if data is None or hashlib.sha256(data).hexdigest() != fact.digest:
            return fact
        text = await self._documents.text_of(fact.resolved, data)
        return fact if text is None or len(text) > SHOWN_BYTES else msgspec.structs.replace(fact, text=text)

    def _disk(self, workspace: str, wants: Wants) -> tuple[tuple[PathFact, ...], dict[str, str | None]]:
        cwd = wants.cwd or workspace
        roots = (workspace, *self._policy.allowed_paths)
        programs = {name: find_program(name, self._path, cwd) for name in wants.programs}
        return tuple(_fact(want, cwd, roots) for want in wants.paths), {name: path and os.path.realpath(path) for name, path in programs.items()}

    async def _addresses(self, hosts: Sequence[str]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}

        async def one(host: str) -> None:
            found[host] = tuple(dict.fromkeys(await self._resolve(host)))

        if hosts:
            async with anyio.create_task_group() as lookups:
                for host in hosts:
                    lookups.start_soon(one, host)
        return {host: found[host] for host in hosts}

    async def _translation(self) -> tuple[str, ...]:
        """The addresses by which this network shows that it translates IPv4 addresses."""
        if self._nat64 is None or time.monotonic() - self._nat64[0] > NAT64_SECONDS:
            self._nat64 = (time.monotonic(), tuple(await self._resolve(NAT64_NAME)))
        return self._nat64[1]


async def resolve(host: str) -> Sequence[str]:
    """Addresses of a host by the system's resolver; none where it knows none within `LOOKUP_SECONDS`."""
    answers: Sequence[tuple[Any, ...]] = ()
    with anyio.move_on_after(LOOKUP_SECONDS):
        try:
            answers = await run_sync(lambda: socket.getaddrinfo(host, None, type=socket.SOCK_STREAM), abandon_on_cancel=True)
        except (OSError, UnicodeError):
            return ()
    return [str(address[0]) for *_, address in answers]


def _fact(want: PathWant, cwd: str, roots: Sequence[str]) -> PathFact:
    path = os.path.join(cwd, want.path)
    resolved = _last_link_kept(path) if want.op == "delete" else os.path.realpath(path)
    kind = _kind(resolved)
    digest, text = _content(resolved) if kind == "file" and want.op in ("write", "delete") else (None, None)
    return PathFact(
        path=want.path,
        op=want.op,
        resolved=resolved,
        exists=kind != "missing",
        kind=kind,
        inside=any(beneath(resolved, root) for root in roots),
        git=_repository(resolved, roots) if want.op in ("write", "delete") else "",
        digest=digest,
        text=text,
    )


def _repository(real: str, roots: Sequence[str]) -> str:
    """The nearest directory above it, below one of the roots, that has a file `HEAD`."""
    place = os.path.dirname(real)
    while any(beneath(place, root) for root in roots) and place != "/":
        if os.path.lexists(f"{place}/HEAD"):
            return place
        place = os.path.dirname(place)
    return ""


def _last_link_kept(path: str) -> str:
    """Deleting a link takes the link away and not what it leads to, so it is judged where it stands."""
    name = os.path.basename(path)
    return os.path.realpath(path) if name in ("", ".", "..") else os.path.join(os.path.realpath(os.path.dirname(path)), name)


def _kind(real: str) -> Kind:
    try:
        mode = os.lstat(real).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except OSError:
        return "other"  # something stands in the way; what cannot be seen is not called missing
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "other"


def _content(real: str) -> tuple[str | None, str | None]:
    """SHA-256 of a file, and its text where that is UTF-8 and short enough to be shown."""
    fd = -1
    with suppress(FileNotFoundError):
        fd = opener()(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY, 0)
    if fd < 0:
        return None, None
    try:
        return digest_of(fd), _shown(os.pread(fd, SHOWN_BYTES + 1, 0))
    finally:
        os.close(fd)


def _document(real: str) -> bytes | None:
    """All bytes of a regular file that was just looked at, None if it is too long or has gone."""
    try:
        fd = opener()(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY, 0)
    except OSError:
        return None
    with open(fd, "rb") as file:
        data = file.read(_DOCUMENT_BYTES + 1)
    return data if len(data) <= _DOCUMENT_BYTES else None


def _digests(paths: Sequence[str]) -> dict[str, str]:
    """SHA-256 of the regular files among these, through links."""
    found: dict[str, str] = {}
    for path in paths:
        real = os.path.realpath(path)
        digest = None
        with suppress(OSError):
            digest = _content(real)[0] if _kind(real) == "file" else None
        if digest is not None:
            found[path] = digest
    return found


def _shown(data: bytes) -> str | None:
    if len(data) > SHOWN_BYTES:
        return None
    with suppress(UnicodeDecodeError):
        return data.decode()
    return None
