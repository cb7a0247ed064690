"""How soon the chat's prompt stands, as a ratio to `python -c pass` in the same run, how soon a model's first token is on the screen, what text costs.

    python benchmarks/chat.py [--starts 20] [--turns 40]

The prompt: from the start of the process to the bytes of the prompt at the other end of its pseudo-terminal; both commands take turns.
The token: a service on this machine notes when it has handed the first words to the system, the reader of the pseudo-terminal when the
words are there. What lies between is the whole way: HTTP, the decoder, the bus, the Markdown, the terminal.

The text: processor seconds of the whole program for 100,000 characters of Markdown that arrive in pieces of four within ten seconds.
"""

import argparse
import json
import os
import pty
import re
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PROMPT = b"> "
SECONDS = 20.0
CHARACTERS, PIECE, TEXT_SECONDS = 100_000, 4, 10.0
SCRIPT = Path(sys.executable).with_name("neuralclaw")
PROGRAM = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "neuralclaw"]


class Terminal:
    """A program at a pseudo-terminal of 100 columns and 30 rows."""

    def __init__(self, command: Sequence[str], folder: str) -> None:
        environ = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "NO_COLOR") and not k.endswith("_API_KEY")}
        self.began = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(command[0], list(command), environ | {"TERM": "xterm-256color"})
        termios.tcsetwinsize(self.fd, (30, 100))
        self.seen = b""

    def until(self, what: bytes, *, seconds: float = SECONDS) -> float:
        """Read until this is there, after what was waited for before; the time at which it was read."""
        deadline = time.perf_counter() + seconds
        while what not in self.seen:
            if not select.select([self.fd], [], [], max(0.0, deadline - time.perf_counter()))[0]:
                raise SystemExit(f"{what!r} did not appear: {self.seen!r}")
            self.seen += os.read(self.fd, 65536)
        now = time.perf_counter()
        self.seen = self.seen[self.seen.index(what) + len(what) :]
        return now

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


class TokenServer:
    """Answers each request with its number as the first token, and notes when that was handed to the system. `--turns` times."""

    def __init__(self) -> None:
        self.sent: list[float] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection:
                while self._answer(connection):
                    pass

    def _answer(self, connection: socket.socket) -> bool:
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return False
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        found = re.search(rb"content-length: *(\d+)", head.lower())
        length = int(found[1]) if found else 0
        while len(body) < length:
            body += connection.recv(65536)
        self._reply(connection.sendall)
        return True

    def _reply(self, send: Callable[[bytes], None]) -> None:
        send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + _event({"role": "assistant", "content": ""}))
        time.sleep(0.2)  # a model thinks before its first token: the terminal is at rest by then
        token = _event({"content": f"token{len(self.sent)}token and"})
        self.sent.append(time.perf_counter())
        send(token)
        time.sleep(0.05)
        send(_event({"content": " more."}) + _END)


class TextServer(TokenServer):
    """Answers with a long text in pieces of four characters, evenly over ten seconds, and a last word."""

    def _reply(self, send: Callable[[bytes], None]) -> None:
        send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        text = markdown(CHARACTERS)
        began = time.perf_counter()
        for place in range(0, len(text), PIECE):
            send(_event({"content": text[place : place + PIECE]}))
            wait = began + TEXT_SECONDS * place / len(text) - time.perf_counter()
            if wait > 0.001:
                time.sleep(wait)
        send(_event({"content": "\n\nTHEEND\n"}) + _END)


def markdown(characters: int) -> str:
    """Headings, paragraphs, lists, code and tables in turn."""
    words = "alpha **beta** `gamma` delta [zeta](https://example.org) " * 16
    code = "".join(f"def f{n}(x):\n    return x * {n}  # comment\n" for n in range(10))
    parts = (
        "## A heading\n\n",
        f"{words}\n\n",
        "".join(f"- item {n} with some words in it\n" for n in range(10)) + "\n",
        f"```python\n{code}```\n\n",
        "| a | b |\n|---|---|\n" + "".join(f"| {n} | cell text |\n" for n in range(10)) + "\n",
    )
    return ("".join(parts) * (characters // sum(map(len, parts)) + 1))[:characters]


def _event(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    data = b"data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}).encode() + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(data), data)


_END = _event({}, "stop") + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


def starts(count: int) -> tuple[float, float]:
    """Median milliseconds of `python -c pass`, and from the start of the program to its prompt."""
    bare: list[float] = []
    prompt: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count + 2):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", "pass"], check=True)
            took = time.perf_counter() - began
            terminal = Terminal([*PROGRAM, "--home", f"{folder}/home", "--model", "offline"], folder)
            stood = terminal.until(PROMPT) - terminal.began
            terminal.until(b"%")  # the agent is open: the next start is not disturbed by this one
            terminal.end()
            if number >= 2:  # the first ones warm the caches
                bare.append(took)
                prompt.append(stood)
    return statistics.median(bare) * 1000, statistics.median(prompt) * 1000


def tokens(count: int) -> list[float]:
    """Milliseconds from the server's sending of a first token to its appearance, sorted."""
    server = TokenServer()
    with tempfile.TemporaryDirectory() as folder:
        terminal = talking(server, folder)
        found: list[float] = []
        for number in range(count):
            terminal.type(f"go {number}\r")
            there = terminal.until(f"token{number}token".encode())
            found.append((there - server.sent[number]) * 1000)
            terminal.until(b"more.")
            time.sleep(0.15)  # the end of the turn is drawn
        terminal.end()
    return sorted(found[2:])


def talking(server: TokenServer, folder: str) -> Terminal:
    """The chat with a model of this server, ready for a message."""
    home = Path(folder) / "home"
    home.mkdir(mode=0o700)
    service = {"api": "chat", "base_url": f"http://127.0.0.1:{server.port}/v1", "models": {"m": {"context": 8192}}}
    (home / "config.yaml").write_text(json.dumps({"llm": {"providers": {"mine": service}}}))
    terminal = Terminal([*PROGRAM, "--home", str(home), "--model", "mine:m"], folder)
    terminal.until(b"%")
    return terminal


def text_cpu() -> float:
    """Processor seconds of the program while the long text streams to the screen."""

    def used() -> float:
        fields = Path(f"/proc/{terminal.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    with tempfile.TemporaryDirectory() as folder:
        terminal = talking(TextServer(), folder)
        time.sleep(0.5)  # what is loaded behind the prompt is loaded
        before = used()
        terminal.type("go\r")
        terminal.until(b"THEEND", seconds=TEXT_SECONDS + SECONDS)
        spent = used() - before
        terminal.end()
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    bare, prompt = starts(options.starts)
    times = tokens(options.turns + 2)
    median, p95 = statistics.median(times), times[int(len(times) * 0.95)]
    spent = text_cpu()
    if options.json:
        print(json.dumps({"python_ms": bare, "prompt_ms": prompt, "token_median_ms": median, "token_p95_ms": p95, "text_cpu_s": spent}))
        return
    print(f"python -c pass        {bare:8.1f} ms")
    print(f"to the prompt         {prompt:8.1f} ms {prompt / bare:6.1f} x")
    print(f"first token on screen {median:8.1f} ms median, {p95:.1f} ms at the 95th percentile, of {len(times)}")
    print(f"100,000 characters    {spent:8.2f} s of processor time, whole program, over {TEXT_SECONDS:.0f} s")


if __name__ == "__main__":
    main()
