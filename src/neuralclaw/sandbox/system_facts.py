"""What is true about the things an action names: real paths, kinds, digests, programs, addresses, the sandbox in use."""

import hashlib
import os
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import anyio
import msgspec
from anyio.to_thread import run_sync

from ..types.actions import Action
from ..types.facts import FactSheet, PathFact, PathWant, Wants
from ..types.options import Policy
from .code_digests import code_digests, tree_digests
from .nolinks import opener
from .path_facts import SHOWN_BYTES, PathFacts, content_of, kind_of
from .program_lookup import beneath, find_program
from .repositories import opened_by_git, run_by_git
from .wildcards import is_wild

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


_DOCUMENT_BYTES = 5_000_000
_FEW = 12
"""Programs and paths that are looked up on the event loop at most."""
_SCRATCH = ("/tmp", "/var/tmp", "/dev/shm")
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
        sheet = FactSheet()
        if (
            wants.paths or wants.programs or wants.scripts or wants.ran or wants.named or wants.trees or wants.committed
        ):  # in one go: each one costs a change of threads
            in_command = any(touch.kind == "command" for touch in action.spec.touches)
            if is_short(wants, action.workspace):
                sheet = self._disk(action.workspace, wants, in_command)
            else:
                sheet = await run_sync(self._disk, action.workspace, wants, in_command)
            sheet = msgspec.structs.replace(sheet, paths=tuple([await self._with_text(fact) for fact in sheet.paths]))
        begun = time.monotonic()
        addresses = await self._addresses(wants.hosts)
        nat64 = await self._translation() if any(":" in address for found in addresses.values() for address in found) else ()
        looked = time.monotonic() - begun if wants.hosts else 0.0
        lacks = await self._undo_lacks(action.workspace, action.turn > 0) if wants.undo and self._undo_lacks is not None else ""
        return msgspec.structs.replace(
            sheet,
            addresses=addresses,
            nat64=nat64,
            lookup_seconds=looked,
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

    def _disk(self, workspace: str, wants: Wants, in_command: bool) -> FactSheet:
        """What the disk tells: places, programs by their names, digests of scripts and of code that is run, and repositories that git opens."""
        cwd = wants.cwd or workspace
        programs = {name: find_program(name, self._path, cwd) for name in wants.programs}
        facts = PathFacts(cwd, (workspace, *self._policy.allowed_paths), self._policy, in_command=in_command)
        paths = tuple(map(facts.fact, wants.paths))
        real = {name: path and os.path.realpath(path) for name, path in programs.items()}
        code = self._code(workspace, wants, real) if wants.ran or wants.named else {}
        code |= tree_digests(wants.trees)
        hooks = {place: code_digests(run_by_git(place), ()) for place in wants.committed}
        repositories = {place: tuple(facts.fact(PathWant(one, "read")) for one in opened_by_git(place)) for place in wants.repositories}
        return FactSheet(paths=paths, programs=real, scripts=_digests(wants.scripts), code=code, hooks=hooks, repositories=repositories)

    def _code(self, workspace: str, wants: Wants, programs: Mapping[str, str | None]) -> dict[str, str]:
        """Digests of what a command runs: where they are files, or look like code, or are programs that lie where calls write."""
        roots = (workspace, *self._policy.allowed_paths, *_SCRATCH)
        own = [path for path in programs.values() if path is not None and any(beneath(path, root) for root in roots if root != "/")]
        return code_digests([*wants.ran, *own], wants.named)

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


def is_short(wants: Wants, workspace: str) -> bool:
    """Whether looking it up takes less time than a change of threads: a few programs, and a few paths in the workspace without wildcards, of which none is a
    long file that is digested because it would be changed or run. What lies elsewhere may be a network mount that does not answer."""
    digested = (*wants.scripts, *wants.ran, *wants.named, *(want.path for want in wants.paths if want.op not in ("read", "list")))
    places = (*digested, *wants.repositories, *(want.path for want in wants.paths))
    if wants.trees or wants.committed or len(places) + len(wants.programs) > _FEW:
        return False
    cwd = wants.cwd or workspace
    if any(is_wild(place) or not beneath(os.path.normpath(os.path.join(cwd, place)), workspace) for place in places):
        return False
    return all(_size(os.path.join(cwd, place)) <= SHOWN_BYTES for place in digested)


def _size(path: str) -> int:
    """Bytes of what is there, 0 for nothing."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


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
            digest = content_of(real)[0] if kind_of(real) == "file" else None
        if digest is not None:
            found[path] = digest
    return found
