"""The Docker API over the Unix socket of an engine on this machine. Everything here blocks and belongs into a worker thread.

Version 1.41 of the API (Docker 20.10). http.client: aiohttp takes 220 ms to load, and this socket is a part of the machine as
the program `bwrap` is, no host that a grant could name.
"""

import errno
import http.client
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from ...types.cut_texts import cut_text
from .sockets import INSTALL, NO_ENGINE, UNIX, engine_socket

VERSION = "v1.41"
_SECONDS = 30.0
SHORT = 5.0
"""Seconds in which an engine says that it is there."""


class EngineError(Exception):
    """What the engine, or the way to it, refused. `status`: of HTTP, 0 where there was no answer; `fix`: what would help, a command or a sentence.

    `silent`: it did not answer in time, and would not answer now either.
    """

    def __init__(self, text: str, *, status: int = 0, fix: str | None = None, silent: bool = False) -> None:
        super().__init__(text)
        self.text, self.status, self.fix, self.silent = text, status, fix, silent


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("engine", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def engine_at(env: Mapping[str, str], answers_within: float = SHORT) -> "ContainerEngine":
    """The engine that the environment names, else the first whose socket is there. Raises `EngineError` where there is none."""
    named = engine_socket(env)
    if not named:
        raise EngineError(NO_ENGINE, fix=INSTALL)
    if not named.startswith(UNIX):
        raise EngineError(f"DOCKER_HOST is {named}, and only an engine of this machine is used", fix="export DOCKER_HOST=unix:///var/run/docker.sock")
    return ContainerEngine(named.removeprefix(UNIX), answers_within)


class ContainerEngine:
    """Requests to the engine that listens at `path`. `answers_within`: the seconds in which it says that it is there."""

    def __init__(self, path: str, answers_within: float = SHORT) -> None:
        self.path, self.answers_within = path, answers_within

    @cached_property
    def is_podman(self) -> bool:
        """Whether it is Podman, whose interface is Docker's with a few differences. Asks once; raises `EngineError`."""
        told = self.call("GET", "/version", seconds=self.answers_within)
        return any("podman" in str(one.get("Name", "")).lower() for one in told.get("Components") or ())

    def call(self, method: str, place: str, *, body: Any = None, seconds: float = _SECONDS, **query: Any) -> Any:
        """The decoded JSON answer, None where it is empty. Raises `EngineError`."""
        connection = _UnixConnection(self.path, seconds)
        try:
            response = self._begin(connection, method, place, query, _encoded(body))
            data = response.read()
        except OSError as error:
            raise self._unreachable(error) from error
        except http.client.HTTPException as error:
            raise EngineError(f"{self.path} does not speak HTTP: {error!r}") from error
        finally:
            connection.close()
        return _decoded(response.status, data)

    def lines(self, place: str, data: bytes, **query: Any) -> Iterator[dict[str, Any]]:
        """Each JSON value of a long answer as it comes, to a tar archive that is sent. Raises `EngineError`."""
        connection = _UnixConnection(self.path, None)
        try:
            response = self._begin(connection, "POST", place, query, (data, "application/x-tar"))
            if response.status >= 300:
                _decoded(response.status, response.read())
            for line in response:
                if line.strip():
                    yield msgspec.json.decode(line, type=dict[str, Any])
        except OSError as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def hijack(self, place: str, body: Any = None, **query: Any) -> socket.socket:
        """The connection itself, after the answer's headers: the streams of a container or of a program in it. Raises `EngineError`."""
        data, kind = _encoded(body)
        head = f"POST {_target(place, query)} HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Type: {kind}\r\n"
        raw = socket.socket(socket.AF_UNIX)
        try:
            raw.settimeout(_SECONDS)
            raw.connect(self.path)
            raw.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                part = raw.recv(1)  # what follows belongs to the streams
                if not part:
                    raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
                answer += part
            status = int(answer.split(maxsplit=2)[1])
            if status not in (101, 200):
                raise EngineError(_message(raw.recv(1 << 16)), status=status)
            raw.settimeout(None)
        except OSError as error:
            raw.close()
            raise self._unreachable(error) from error
        except EngineError:
            raw.close()
            raise
        return raw

    def _begin(self, connection: _UnixConnection, method: str, place: str, query: Mapping[str, Any], content: tuple[bytes, str]) -> http.client.HTTPResponse:
        data, kind = content
        connection.request(method, _target(place, query), body=data or None, headers={"Content-Type": kind})
        return connection.getresponse()

    def _unreachable(self, error: OSError) -> EngineError:
        if isinstance(error, PermissionError):
            return EngineError(f"{self.path} may not be used by this user", fix="sudo usermod -aG docker $USER, then log in again")
        if isinstance(error, FileNotFoundError | ConnectionRefusedError):
            return EngineError(f"no container engine listens at {self.path}", fix="sudo systemctl start docker")
        if isinstance(error, TimeoutError):
            return EngineError(f"the container engine at {self.path} does not answer", fix="sudo systemctl restart docker", silent=True)
        return EngineError(f"the container engine at {self.path} failed: {error.strerror or error or type(error).__name__}")


def _target(place: str, query: Mapping[str, Any]) -> str:
    told = {name: value if isinstance(value, str) else msgspec.json.encode(value).decode() for name, value in query.items()}
    return quote(f"/{VERSION}{place}") + (f"?{urlencode(told)}" if told else "")


def _encoded(body: Any) -> tuple[bytes, str]:
    return (b"" if body is None else msgspec.json.encode(body)), "application/json"


def _decoded(status: int, data: bytes) -> Any:
    if status >= 300 and status != 304:
        raise EngineError(_message(data) or f"HTTP status {status}", status=status)
    try:
        return msgspec.json.decode(data) if data.strip() else None
    except msgspec.DecodeError:
        return data.decode(errors="replace")


def _message(data: bytes) -> str:
    text = data.decode(errors="replace").strip()
    try:
        told = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return cut_text(text, 500)
    return cut_text(str(told.get("message", text) if isinstance(told, dict) else text), 500)


def labelled(labels: Sequence[str]) -> dict[str, list[str]]:
    """The filter of containers that have these labels, each `NAME` or `NAME=VALUE`."""
    return {"label": list(labels)}
