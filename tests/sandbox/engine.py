"""Container engines of the tests' own, Docker and Podman, on private sockets, with an image made of this machine's own files. Nothing is pulled."""

import atexit
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from neuralclaw.sandbox.container.engine import ContainerEngine, EngineError

from ..waiting import until_blocking

IMAGE = "neuralclaw-test:latest"
PROGRAMS = (
    "bash sh awk gawk mawk base64 cat chmod cp cut date dd df du env expr false find grep head id kill ln ls md5sum mkdir mktemp mv nproc od paste printf pwd"
    " readlink rm rmdir sed seq sha256sum sleep sort stat stty tail tee test timeout touch tr true truncate tty uname uniq wc who xargs yes python3"
).split()
_LEFT_OUT = ("__pycache__", "/test", "idlelib", "tkinter", "config-3", "lib2to3", "dist-packages", "ensurepip")


class Daemon:
    """A running engine. `env` names it; every user of this machine may use its socket."""

    def __init__(self, place: Path) -> None:
        self.socket = str(place / "engine.sock")
        self.env = {"DOCKER_HOST": f"unix://{self.socket}"}
        self.engine = ContainerEngine(self.socket)
        with (place / "log").open("wb") as log:
            command = ["setpriv", "--pdeathsig", "TERM", *self.command(place)]
            env = {**os.environ, **self.settings(place)}
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=place, env=env, start_new_session=True)
        until_blocking(lambda: self.process.poll() is not None or self._answers())
        if self.process.poll() is not None:
            raise AssertionError((place / "log").read_text()[-2000:])
        Path(self.socket).chmod(0o666)
        self._load()

    def command(self, place: Path) -> list[str]:
        """What starts it, with everything it keeps below this place."""
        raise NotImplementedError

    def settings(self, place: Path) -> dict[str, str]:
        """What its environment says besides that of the tests."""
        return {"TMPDIR": str(place)}

    def _answers(self) -> bool:
        try:
            self.engine.call("GET", "/_ping")
        except EngineError:
            return False
        return True

    def _load(self) -> None:
        name, tag = IMAGE.split(":")
        for line in self.engine.lines("/images/create", _files(), fromSrc="-", repo=name, tag=tag):
            assert "error" not in line, line

    def containers(self) -> list[str]:
        return sorted(one["Names"][0].lstrip("/") for one in self.engine.call("GET", "/containers/json", all="true"))

    def discard(self, container: str) -> None:
        """Remove a container from under whoever uses it, if it is there."""
        with suppress(EngineError):
            self.engine.call("DELETE", f"/containers/{container}", force="true")

    def stop(self) -> None:
        for one in self.engine.call("GET", "/containers/json", all="true"):
            self.discard(one["Id"])
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


class Docker(Daemon):
    def command(self, place: Path) -> list[str]:
        places = ["--data-root", f"{place}/data", "--exec-root", f"{place}/run", "--pidfile", f"{place}/pid"]
        storage = ["--storage-driver", "overlay2" if layered() else "vfs", *places]
        network = ["--iptables=false", "--ip6tables=false", "--bridge=none"]
        names = ["--containerd-namespace", f"nc{os.getpid()}", "--containerd-plugins-namespace", f"nc{os.getpid()}-plugins"]
        return ["dockerd", *storage, *network, *names, "-H", f"unix://{self.socket}"]


class Podman(Daemon):
    """Started by root. `runc` runs its containers where it is there, since Docker brings it. For each program that ended, Podman keeps a process for five
    minutes, which then looks through the containers; here for some seconds, since the tests start hundreds."""

    def settings(self, place: Path) -> dict[str, str]:
        (place / "containers.conf").write_text("[engine]\nexit_command_delay = 10\n")
        return {**super().settings(place), "CONTAINERS_CONF": f"{place}/containers.conf"}

    def command(self, place: Path) -> list[str]:
        driver = ["--storage-driver", "overlay", "--storage-opt", "overlay.skip_mount_home=true"] if layered() else ["--storage-driver", "vfs"]
        storage = [*driver, "--root", f"{place}/data", "--runroot", f"{place}/run", "--tmpdir", f"{place}/tmp"]
        return ["podman", *storage, "--cgroup-manager", "cgroupfs", "--runtime", "runc", "system", "service", "--time", "0", f"unix://{self.socket}"]


PROGRAMS_OF = {"docker": "dockerd", "podman": "podman"}
ENGINES = [name for name, program in PROGRAMS_OF.items() if os.geteuid() == 0 and shutil.which(program)]
"""Those that can be started here: the program is there, and this is root."""


@cache
def layered() -> bool:
    """Whether the files of an engine can lie in layers here. Where they cannot, each container is a copy of its whole image."""
    with tempfile.TemporaryDirectory(prefix="nc-engine-", dir="/var/tmp") as place:
        for name in ("lower", "upper", "work", "merged"):
            Path(place, name).mkdir()
        layers = f"lowerdir={place}/lower,upperdir={place}/upper,workdir={place}/work"
        command = ["unshare", "--mount", "mount", "-t", "overlay", "overlay", "-o", layers, f"{place}/merged"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


@cache
def daemon(kind: str) -> Daemon:
    """The engine of this kind for this run of the tests, started when it is first asked for."""
    place = Path(tempfile.mkdtemp(prefix="nc-engine-", dir="/var/tmp"))
    place.chmod(0o755)
    made = {"docker": Docker, "podman": Podman}[kind](place)

    def end() -> None:
        made.stop()
        shutil.rmtree(place, ignore_errors=True)

    atexit.register(end)
    return made


def _files() -> bytes:
    """A tar archive: programs with the libraries that they load, and Python's own modules."""
    paths: dict[str, str] = {}
    for program in PROGRAMS:
        found = shutil.which(program, path="/usr/bin:/bin")
        if found:
            _with_libraries(os.path.realpath(found), paths)
            paths.setdefault(f"usr/bin/{program}", found)
    python = "import os; print(os.path.dirname(os.__file__))"
    modules = subprocess.run(["/usr/bin/python3", "-c", python], capture_output=True, text=True, check=True).stdout.strip()
    for extension in Path(modules).glob("lib-dynload/*.so"):
        _with_libraries(str(extension), paths)
        del paths[str(extension)[1:]]  # it comes with the modules
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", dereference=True) as archive:
        directories = {str(parent) for path in (*paths, modules[1:]) for parent in Path(path).parents if str(parent) != "."}
        for name in sorted({*directories, "tmp", "etc", "proc", "sys", "dev", "var", "usr/lib64", "usr/sbin"}):
            archive.addfile(_entry(name, tarfile.DIRTYPE))
        for name in ("bin", "lib", "lib64", "sbin"):
            entry = _entry(name, tarfile.SYMTYPE)
            entry.linkname = f"usr/{name}"
            archive.addfile(entry)
        for name, path in paths.items():
            archive.add(path, name)
        archive.add(modules, modules[1:], filter=lambda one: None if any(part in one.name for part in _LEFT_OUT) else one)
    return data.getvalue()


def _with_libraries(path: str, paths: dict[str, str]) -> None:
    """The file and every library that it names, each as `usr/lib…` under the name by which it is loaded."""
    paths[path[1:]] = path
    told = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    for word in told.split():
        if word.startswith("/"):
            name = word if word.startswith("/usr/") else f"/usr{word}"
            paths.setdefault(name[1:], word)


def _entry(name: str, kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = kind, 0o1777 if name == "tmp" else 0o755
    return entry


if __name__ == "__main__":
    sys.stdout.buffer.write(_files())
