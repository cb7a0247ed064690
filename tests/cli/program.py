"""Runs the real program as a subprocess: over pipes, or at a terminal of its own."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

PYTHON = (sys.executable, "-W", "error", "-m", "neuralclaw")
DEADLINE = 20.0


class Ran:
    """A finished run: its exit code and what it wrote."""

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code, self.raw = code, out
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.raw.splitlines()]

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


class Claw:
    """The program over one home and one workspace. `program`: the words that start it."""

    def __init__(self, home: Path, workspace: Path, program: tuple[str, ...] = PYTHON) -> None:
        self.home, self.workspace, self.program = home, workspace, program
        workspace.mkdir(exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "TMPDIR")}
        self.env = kept | {"HOME": str(home.parent), "NEURALCLAW_HOME": str(home), "TERM": "xterm"}

    async def __call__(self, *words: str | bytes, stdin: bytes | None = b"", env: dict[str, str] | None = None) -> Ran:
        """Run it over pipes to its end; `stdin` None: closed."""
        return await anyio.to_thread.run_sync(self._run, words, stdin, env or {})

    def _run(self, words: tuple[str | bytes, ...], stdin: bytes | None, env: dict[str, str]) -> Ran:
        closed = ("sh", "-c", 'exec "$@" <&-', "sh") if stdin is None else ()
        done = subprocess.run(
            [*closed, *self.program, *words], input=stdin, capture_output=True, cwd=self.workspace, env=self.env | env, timeout=DEADLINE, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def started(self, *words: str, stdin: int = subprocess.DEVNULL) -> Iterator["Started"]:
        """Run it over pipes and let it run; it is killed on leaving, if it still runs."""
        process = subprocess.Popen([*self.program, *words], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.workspace, env=self.env)
        try:
            yield Started(process)
        finally:
            process.kill()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            process.wait()

    def terminal(self, *words: str, env: dict[str, str] | None = None) -> "Terminal":
        return Terminal([*self.program, *words], str(self.workspace), self.env | (env or {}))


class Started:
    """The program while it runs over pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.process, self.out, self.err = process, process.stdout, process.stderr

    def say(self, *objects: Any) -> None:
        """Write lines to its standard input: text as it is, anything else as JSON."""
        assert self.process.stdin is not None
        for one in objects:
            self.process.stdin.write((one if isinstance(one, str) else json.dumps(one)).encode() + b"\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """Close its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def events(self) -> Iterator[dict[str, Any]]:
        for line in self.out:
            yield json.loads(line)

    def until(self, kind: str) -> dict[str, Any]:
        """Read events up to the first of this type."""
        for event in self.events():
            if event["type"] == kind:
                return event
        raise AssertionError(f"no {kind}; standard error: {self.err.read().decode()}")


class Terminal:
    """The program at a pseudo-terminal of its own; `seen` is all that stood on the screen."""

    def __init__(self, argv: list[str], cwd: str, env: dict[str, str]) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(argv[0], argv, env)
        self.seen = ""
        self._at = 0
        self._code: int | None = None

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def until(self, text: str, seconds: float = DEADLINE) -> str:
        """Read the screen until `text` stands there, after what was waited for before; what came up to its end."""
        start, deadline = self._at, time.monotonic() + seconds
        while (found := self.seen.find(text, start)) < 0:
            if not self._more(deadline):
                raise AssertionError(f"{text!r} did not appear; the screen:\n{self.seen}")
        self._at = found + len(text)
        return self.seen[start : self._at]

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def leave(self, key: str, text: str) -> None:
        """Type `key`, and again while `text` does not come: a signal between a question and its `read` is seen by Python when that `read` returns."""
        for _ in range(int(DEADLINE / 2)):
            self.type(key)
            try:
                self.until(text, seconds=2.0)
            except AssertionError:
                continue
            return
        self.until(text)

    def end(self) -> int:
        """Read to the end; the exit code."""
        deadline = time.monotonic() + DEADLINE
        while self._more(deadline):
            pass
        self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self.fd], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.seen += data.decode(errors="replace")
        return bool(data)
