"""Where nobody chose a model: a running Ollama is looked for once, and nothing waits for it but the one who asks. `about_me` tries out nothing."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from neuralclaw import Agent
from neuralclaw.types.events import ToolFinished
from tests.waiting import until

pytestmark = pytest.mark.anyio

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"


class Near:
    """An Ollama on loopback that answers every connection with this list, or never; `asked` counts the connections."""

    def __init__(self, answer: bytes | None) -> None:
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.asked = 0
        self._held: list[socket.socket] = []

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            self.asked += 1
            if self._answer is None:
                self._held.append(connection)
                continue
            with connection:
                connection.recv(65_536)
                connection.sendall(HEAD + self._answer)

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        for one in (self._socket, *self._held):
            one.close()


@contextmanager
def near(answer: bytes | None) -> Iterator[Near]:
    ollama = Near(answer)
    thread = threading.Thread(target=ollama.serve, daemon=True)
    thread.start()
    try:
        yield ollama
    finally:
        ollama.close()
        thread.join(5)


def environ(home: Path, port: int) -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home.parent), "OLLAMA_HOST": f"127.0.0.1:{port}"}


async def test_the_look_for_ollama_stops_nothing_else_and_is_made_once(home: Path, tmp_path: Path) -> None:
    shown: list[str] = []
    with near(None) as ollama:
        async with Agent.open(home=home, workspace=tmp_path, environ=environ(home, ollama.port)) as agent, anyio.create_task_group() as group:

            async def show() -> None:
                shown.append((await agent.do("models.show"))["model"])

            group.start_soon(show)
            group.start_soon(show)
            await until(lambda: ollama.asked)
            assert shown == []  # it is being looked for, and meanwhile this goes on
            await until(lambda: len(shown) == 2)
            await show()
            assert {row["model"] for row in await agent.do("models.list")} == {"ollama:llama3.2", "offline:grammar"}
        assert ollama.asked == 1
    assert shown == ["ollama:llama3.2"] * 3


async def test_a_running_ollama_is_used_with_a_model_that_it_has(home: Path, tmp_path: Path) -> None:
    with near(b'{"models": [{"name": "nomic-embed-text"}, {"name": "qwen3:8b"}]}') as ollama:
        async with Agent.open(home=home, workspace=tmp_path, environ=environ(home, ollama.port)) as agent:
            assert (await agent.do("models.show"))["model"] == "ollama:qwen3:8b"
        assert ollama.asked == 1
    async with Agent.open(home=home, workspace=tmp_path, environ=environ(home, ollama.port)) as agent:
        assert (await agent.do("models.show"))["model"] == "offline:grammar"


async def test_a_model_that_is_named_needs_no_look(home: Path, tmp_path: Path) -> None:
    with near(None) as ollama:
        async with Agent.open(home=home, workspace=tmp_path, environ=environ(home, ollama.port)) as agent:
            assert (await agent.do("models.show", model="offline"))["model"] == "offline:grammar"
            assert (await agent.ask("who are you?", model="offline")).status == "done"
        assert ollama.asked == 0


async def test_about_me_tells_what_is_known_and_tries_out_nothing(home: Path, tmp_path: Path) -> None:
    marks = tmp_path / "bin"
    marks.mkdir()
    trial = marks / "bwrap"
    trial.write_text(f"#!/bin/sh\necho tried >> {marks}/tried\nexit 1\n")
    trial.chmod(0o755)
    env = environ(home, 9) | {"PATH": f"{marks}:/usr/bin:/bin"}
    async with Agent.open(home=home, workspace=tmp_path, environ=env, approvals="auto") as agent:

        async def told() -> dict[str, object]:
            async with agent.turn("who are you?", model="offline") as stream:
                found = [event.body.metadata async for event in stream if isinstance(event.body, ToolFinished)]
            return found[0]

        first = await told()
        assert (first["sandbox"], first["model"]) == ("auto (not tried yet)", "none configured (not chosen yet)")
        assert not (marks / "tried").exists()
        await agent.do("doctor")
        after = await told()
        assert (after["sandbox"], after["model"]) == ("auto (bubblewrap)", "offline:grammar")
        assert not (marks / "tried").exists()  # it lies in the workspace
