"""Where a scene is played: the real program over a home of its own, and a record of what a person sees there."""

import contextlib
import json
import os
import random
import re
import select
import shlex
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import anyio

from tests import waiting
from tests.cli.program import Terminal

from .pages import HOME

SECONDS = 60.0
"""How long one command may take."""
STORE = ".local/share/neuralclaw"
"""The data home below the person's."""
# What differs from run to run, and what stands for it when two pages are compared.
VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d\.\d+Z| \d\d:\d\d\b)"), "TIME"),
    (re.compile(r"\b\d+ ms\b"), "N ms"),
    (re.compile(r"\bpid \d+\b"), "pid N"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d{4,5}\b"), "PORT"),
    (re.compile(r"(?<=head )[0-9a-f]{16}\b"), "HEAD"),
    (re.compile(r"(?<=direct-)[a-z2-9]{10}\b"), "CALL"),
    (re.compile(r"(?:(?<=question )|(?<=approvals answer )|(?<=approvals show )|^)[a-z0-9]{10}(?=[ ):\n])", re.MULTILINE), "QUESTION"),
)


def normalised(text: str) -> str:
    """The text with everything that any run may make different taken out."""
    for pattern, stands_for in VARYING:
        text = pattern.sub(stands_for, text)
    return text


class Seen:
    """What one command printed and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


class Shell:
    """A bash of a person: its commands run one after the other, and what one sets the next finds. `around` may put it into another world."""

    def __init__(self, stage: "Stage", around: tuple[str, ...]) -> None:
        self._stage = stage
        self._process = subprocess.Popen(
            [*around, "bash", "--norc", "-o", "pipefail"],
            cwd=stage.you,
            env=stage.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.run("mkdir -p project && cd project")

    def run(self, command: str) -> Seen:
        """Run one command line to its end; it has no standard input."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        out, err = (self._stage.place / f"{name}-{time.monotonic_ns()}" for name in ("out", "err"))
        self._process.stdin.write(f"{{ {command}\n}} </dev/null >{shlex.quote(str(out))} 2>{shlex.quote(str(err))}; echo $?\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], SECONDS)
        assert ready, f"{command} does not end"
        code = self._process.stdout.readline()
        assert code, f"the shell ended at {command}"
        return Seen(int(code), out.read_text(encoding="utf-8", errors="replace"), err.read_text(encoding="utf-8", errors="replace"))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()


class Stage:
    """A person's home with a workspace, and all that was typed and seen there.

    It begins with one finished session, `earlier`: whatever a scene does, `nothing_is_lost` must find it unchanged.
    """

    def __init__(self, place: Path, you: Path) -> None:
        self.place, self.you = place, you
        self.project = self.you / "project"
        self.environment = {
            "HOME": str(self.you),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "PYTHONWARNINGS": "error",
        }
        self._parts: list[str] = []
        self._block: list[str] = []
        self._shells: list[Shell] = []
        self._earlier = ""

    @property
    def home(self) -> Path:
        """The data home."""
        return self.you / STORE

    def enter(self, *around: str) -> None:
        """Open a new shell, from which all that follows is typed; the first one also makes the session `earlier`."""
        self._shells.append(Shell(self, around))
        if not self._earlier:
            assert self.quietly('neuralclaw run --session earlier "calculate 6*7"').out == "42\n"
            self._earlier = self.quietly("neuralclaw sessions show earlier --json").out

    def quietly(self, command: str) -> Seen:
        """Run something that the page does not show."""
        if not self._shells:
            self.enter()
        return self._shells[-1].run(command)

    def types(self, command: str, *, code: int = 0) -> Seen:
        """Run a command line and put it, with what it prints and its exit code, on the page. It must end with `code`, and never with a traceback."""
        seen = self.quietly(command)
        assert seen.code == code, f"{command}: not exit code {code}\n{seen}"
        assert "Traceback" not in seen.err + seen.out, seen
        self.shows(f"$ {command}", seen.err + seen.out or None, ended(code))
        return seen

    def shows(self, *texts: str | None) -> None:
        """Put lines that were on a screen on the page."""
        self._block += [line.rstrip() for text in texts if text is not None for line in text.rstrip("\n").split("\n")]

    def tells(self, prose: str) -> None:
        """Put a paragraph between what is typed."""
        self._end_block()
        self._parts.append(" ".join(prose.split()))

    def terminal(self, *words: str) -> Terminal:
        """The program at a terminal of its own."""
        if not self._shells:
            self.enter()
        return Terminal([str(Path(sys.executable).parent / "neuralclaw"), *words], str(self.project), self.environment)

    @contextlib.contextmanager
    def piped(self, *words: str) -> Iterator["Piped"]:
        """The program over pipes, with a standard input that stays open."""
        name = self.place / "piped"
        program = str(Path(sys.executable).parent / "neuralclaw")
        with name.open("w") as file:
            process = subprocess.Popen([program, *words], cwd=self.project, env=self.environment, stdin=subprocess.PIPE, stdout=file, stderr=file)
        try:
            yield Piped(process, name)
        finally:
            process.kill()
            process.communicate()

    def screen(self, command: str, terminal: Terminal, *, code: int = 0) -> None:
        """Put the whole screen of a terminal on the page."""
        assert "\x1b" not in terminal.seen
        assert "Traceback" not in terminal.seen, terminal.seen
        self.shows(f"$ {command}", terminal.seen.replace("\r\n", "\n"), ended(code))

    def events(self, session: str) -> list[dict[str, Any]]:
        """The durable events of a session, as another process reads them."""
        seen = self.quietly(f"neuralclaw sessions show {session} --json")
        return list(json.loads(seen.out)["events"]) if seen.code == 0 else []

    def runs(self, command: str) -> bool:
        """Whether a program that was started as this runs in the workspace."""
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if line.strip().endswith(command) and "neuralclaw" not in line and (process / "cwd").readlink() == self.project:
                    return True
        return False

    def nothing_is_lost(self) -> None:
        """What was recorded at the beginning is there, byte for byte, and the record is whole."""
        assert self.quietly("neuralclaw sessions show earlier --json").out == self._earlier
        verified = self.quietly("neuralclaw audit verify --json")
        assert verified.code == 0, verified
        assert json.loads(verified.out)["ok"]

    def recorded(self) -> str:
        """The page's text, with the places of this run as the pages write them."""
        self._end_block()
        return "\n\n".join(self._parts).replace(str(self.you), HOME)

    def close(self) -> None:
        for shell in reversed(self._shells):
            shell.close()

    def _end_block(self) -> None:
        if self._block:
            self._parts.append("\n".join(["```console", *self._block, "```"]))
            self._block = []


class Piped:
    """The program while it runs over pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]", printed: Path) -> None:
        self._process, self._printed = process, printed

    @property
    def printed(self) -> str:
        """All that it printed so far."""
        return self._printed.read_text(encoding="utf-8")

    def end(self) -> int:
        """Wait for its end; the exit code."""
        return self._process.wait(SECONDS)


@contextlib.contextmanager
def made_stage() -> Iterator[Stage]:
    """A stage that is gone afterwards. The person's home has a path as long as the one on the page, so that tables look alike."""
    letters = string.ascii_lowercase + string.digits
    with tempfile.TemporaryDirectory() as place:
        you = Path("/tmp") / "".join(random.choices(letters, k=len(HOME) - len("/tmp/")))
        you.mkdir(mode=0o700)
        made = Stage(Path(place), you)
        try:
            yield made
        finally:
            made.close()
            shutil.rmtree(you)


Answer = Callable[[str, str], tuple[int, object]]
"""From the key and the model of a request to status and body."""


@contextlib.contextmanager
def service(answer: Answer) -> Iterator[str]:
    """A model service on loopback that speaks Chat Completions as far as refusing goes; its base URL."""

    class Refusing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, body = answer(self.headers["Authorization"].removeprefix("Bearer "), asked["model"])
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def ended(code: int) -> str | None:
    """The line that shows an exit code; none for 0."""
    return f"(exit code {code})" if code else None


def kill(terminal: Terminal) -> None:
    """`kill -9` for the program at a terminal."""
    os.kill(terminal.pid, signal.SIGKILL)
    assert terminal.end() == -signal.SIGKILL


def until(condition: Callable[[], object]) -> None:
    """Wait for something to become true."""
    anyio.run(waiting.until, condition)
