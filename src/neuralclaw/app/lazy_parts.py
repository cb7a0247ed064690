"""Parts that most runs do not need, loaded when they are first used."""

import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import anyio.to_thread

from ..desk_ports import Desk
from ..ports import Channel, Converted, Converter, ExecResult, Headers, Sandbox, Web
from ..types.entries import Event
from ..types.grants import Grant
from ..types.tools import Watched
from ..types.web_responses import WebResponse

NO_HEADERS: Headers = MappingProxyType({})


class LazySandbox:
    """The sandbox of this process behind the `Sandbox` port; `make` loads and builds the real one when a program is first judged or run."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._made: Any = None

    @property
    def real(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    @property
    def name(self) -> Any:
        """What confines an execution; the first time this blocks for a trial run."""
        return self.real.name

    @property
    def known(self) -> Any:
        """`name` if it is known already, else None; never blocks."""
        return self._made.known if self._made is not None else None

    async def exec(self, grant: Grant, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout: float | None, max_bytes: int | Watched) -> ExecResult:
        sandbox: Sandbox = await anyio.to_thread.run_sync(lambda: self.real)
        return await sandbox.exec(grant, argv, cwd=cwd, env=env, timeout=timeout, max_bytes=max_bytes)

    async def aclose(self) -> None:
        """End the containers that were made for it."""
        if self._made is not None and self._made.known == "container":
            await anyio.to_thread.run_sync(self._made.close)


class LazyConverter:
    """The converter of documents behind its port, made when the first document is read or written."""

    def __init__(self, make: Callable[[], Converter]) -> None:
        self._make = make
        self._made: Converter | None = None

    async def convert(self, module: str, data: bytes) -> Converted:
        if self._made is None:
            self._made = self._make()
        return await self._made.convert(module, data)


class LazyWeb:
    """The client of the web behind its port, made for the first address that is fetched."""

    def __init__(self, make: Callable[[], Web]) -> None:
        self._make = make
        self._made: Web | None = None

    async def fetch(self, grant: Grant, url: str, *, headers: Headers, max_bytes: int, seconds: float, private: Headers = NO_HEADERS) -> WebResponse:
        if self._made is None:
            self._made = self._make()
        return await self._made.fetch(grant, url, headers=headers, max_bytes=max_bytes, seconds=seconds, private=private)


class LazyChannel:
    """A channel of a capability behind its port, made when it is first served or delivered to: where `make` raises, only that fails, and is tried again."""

    def __init__(self, make: Callable[[], Channel]) -> None:
        self._make = make
        self._made: Channel | None = None

    @property
    def real(self) -> Channel:
        if self._made is None:
            self._made = self._make()
        return self._made

    async def serve(self, desk: Desk) -> None:
        await self.real.serve(desk)

    async def deliver(self, address: str, event: Event) -> None:
        await self.real.deliver(address, event)
