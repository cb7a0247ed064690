"""What the attempts are made against: a home with secrets, a place beside the workspace, services, another process, a key, a terminal. All of the same user."""

import ctypes
import fcntl
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import tempfile
import termios
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import attempts

SECRET = "secret"
NAME = f"nc-conformance-{os.getpid()}"
HOME = {".ssh/id": SECRET, "notes.txt": SECRET, ".bashrc": "#\n", ".cargo/credentials.toml": SECRET, ".local/bin/tool": "#!/bin/sh\n"}
OUTSIDE = {"note": SECRET, "old": "old", "old2": "old", "record": "record"}


class Stage:
    """Set up once for a user; `reset` makes the files anew. To be closed."""

    def __init__(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="nc-conformance-", dir="/var/tmp")).resolve()
        self.home, self.outside, self.work = (self.base / name for name in ("home", "outside", "work"))
        self._temporary = tempfile.mkdtemp(prefix="nc-conformance-", dir="/tmp")
        self._sockets: list[socket.socket] = []
        self._in_files: list[socket.socket] = []
        self.reset()
        self._terminal()
        self._secret = os.open(self.home / ".ssh/id", os.O_RDONLY)
        self._handed_on = (self._secret, os.open(self.home, os.O_RDONLY | os.O_DIRECTORY), os.open(self.outside / "record", os.O_RDWR))
        for one in self._handed_on:
            os.set_inheritable(one, True)
        with (self.home / "notes.txt").open() as notes:
            self.victim = subprocess.Popen(["sleep", "1000"], stdin=notes, cwd=self.home, env={"TOKEN": SECRET})
        self.context = json.dumps(self._context())

    def _terminal(self) -> None:
        """A terminal of its own, which programs that stay in the session control."""
        master, slave = pty.openpty()
        self.terminal = os.ttyname(slave)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        self._ends = (master, slave)

    def _context(self) -> dict[str, Any]:
        key = attempts.call("add_key", b"user", NAME.encode(), SECRET.encode(), len(SECRET), -3)  # KEY_SPEC_SESSION_KEYRING
        self._segment = attempts.call("shmget", os.getpid(), 4096, 0o1600)
        self._queue = attempts.call("mq_open", NAME.encode(), os.O_RDONLY | os.O_CREAT, 0o600, None)
        Path("/dev/shm", NAME).write_text(SECRET)
        abstract = self._listening(socket.AF_UNIX, "\0" + NAME)
        udp = self._listening(socket.AF_INET, ("127.0.0.1", 0), socket.SOCK_DGRAM)
        threading.Thread(target=_echo, args=(udp,), daemon=True).start()
        assert abstract
        display = f"{self._temporary}/display"
        for address in (f"{self._temporary}/ssh", display, f"\0{display}", f"{self._temporary}/bus"):
            self._listening(socket.AF_UNIX, address)
        self._listening(socket.AF_UNIX, f"\0{NAME}-datagram", socket.SOCK_DGRAM)
        self._messages = attempts.LIBC.syscall(ctypes.c_long(68 if attempts.X86 else 186), os.getpid(), 0o1600)  # msgget
        disk = os.stat("/").st_dev
        return {
            "home": str(self.home),
            "outside": str(self.outside),
            "tcp": self._listening(socket.AF_INET, ("127.0.0.1", 0)).getsockname()[1],
            "tcp6": self._listening(socket.AF_INET6, ("::1", 0)).getsockname()[1],
            "udp": udp.getsockname()[1],
            "abstract": NAME,
            "victim": self.victim.pid,
            "key": key,
            "shm": os.getpid(),
            "queue": NAME,
            "segment": NAME,
            "terminal": self.terminal,
            "disk": disk,
            "agent": os.getpid(),
            "group": os.getpgid(0),
            "opened": self._secret,
            "sockets": {
                "ssh": f"{self._temporary}/ssh",
                "display": display,
                "bus": f"{self._temporary}/bus",
                "gpg": f"{self.home}/.gnupg/S",
                "engine": f"{self.home}/.docker/engine",
            },
        }

    def _listening(self, family: int, address: Any, kind: int = socket.SOCK_STREAM) -> socket.socket:
        made = socket.socket(family, kind)
        made.bind(address)
        if kind == socket.SOCK_STREAM:
            made.listen(100)
        self._sockets.append(made)
        return made

    def reset(self) -> None:
        """The files as they are at the beginning, in the same directories."""
        for place in (self.home, self.outside, self.work):
            place.mkdir(exist_ok=True)
            for entry in place.iterdir():
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        for place, files in ((self.home, HOME), (self.outside, OUTSIDE)):
            for name, text in files.items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_text(text)
                (place / name).chmod(0o600 if text == SECRET else 0o755)
        program = self.work / "escaping"
        program.mkdir()
        for module in ("__init__", "attempting", "attempts", "more_attempts", "planting_attempts", "granted_attempts"):
            shutil.copy(Path(attempts.__file__).with_name(f"{module}.py"), program)
        for one in self._in_files:
            one.close()
        places = (self.home / "socket", self.outside / "socket", self.home / ".local/bin/socket", self.home / ".gnupg/S", self.home / ".docker/engine")
        for place in places:
            place.parent.mkdir(exist_ok=True)
        self._in_files = [self._listening(socket.AF_UNIX, str(place)) for place in places]
        self._in_files.append(self._listening(socket.AF_UNIX, str(self.outside / "datagram"), socket.SOCK_DGRAM))

    def seen(self) -> dict[str, Any]:
        """Everything about the files that must stay as it is."""
        found: dict[str, Any] = {}
        for place in (self.home, self.outside):
            for path in sorted(place.rglob("*")):
                about = path.lstat()
                text = path.read_text() if path.is_file() else None
                found[str(path)] = (
                    about.st_mode,
                    about.st_nlink if path.is_file() else 0,
                    about.st_mtime_ns,
                    about.st_gid,
                    text,
                    os.listxattr(path, follow_symlinks=False),
                )
        return found

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        with suppress(FileNotFoundError):
            Path("/dev/shm", NAME).unlink()
        ctypes.CDLL(None).shmctl(self._segment, 0, None)
        attempts.LIBC.syscall(ctypes.c_long(241 if attempts.X86 else 181), NAME.encode())  # mq_unlink
        for one in self._sockets:
            one.close()
        ctypes.CDLL(None).msgctl(self._messages, 0, None)
        shutil.rmtree(self._temporary, ignore_errors=True)
        shutil.rmtree(self.base, ignore_errors=True)


def _echo(server: socket.socket) -> None:
    while True:
        try:
            data, address = server.recvfrom(100)
            server.sendto(data, address)
        except OSError:
            return


def connect_when_it_listens(work: Path, stop: threading.Event) -> None:
    """From outside, to the port that a program says it listens on."""
    while not stop.wait(0.005):
        with suppress(OSError, ValueError):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(f"\0{NAME}-mine")
            return
        with suppress(OSError, ValueError):
            socket.create_connection(("127.0.0.1", int((work / "listening").read_text())), 1).close()
            return
