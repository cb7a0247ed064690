"""Commands with granted network, and servers at addresses that are public here: to be run in a network namespace of its own.

`unshare --user --map-root-user --net python -m tests.sandbox.outbound_world SANDBOX FOLDER` prints one JSON object.
"""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import anyio

from neuralclaw.app.clock import SystemClock
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.choice import ChosenSandbox
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.tools.terminal import argv_of, terminal
from neuralclaw.types.actions import Action
from neuralclaw.types.options import OwnerRule, Policy
from neuralclaw.types.questions import Answer, Answers
from neuralclaw.types.risk import Decision
from neuralclaw.types.signals import Parked

from .public_world import own_all
from .web_world import World, page, redirect

PUBLIC, OTHER, INSIDE = "93.184.216.34", "93.184.216.35", "10.0.0.1"
NAMES = {
    "site.test": [[PUBLIC]],
    "other.test": [[OTHER]],
    "rebind.test": [[PUBLIC], ["127.0.0.1"]],
    "inside.test": [[INSIDE]],
    "mine.test": [[INSIDE]],
}
PATH = os.environ["PATH"]


class Commands:
    """Runs command lines as the tool does, after a yes to each."""

    def __init__(self, kind: Any, folder: Path, world: World) -> None:
        self.workspace = str(folder / "work")
        Path(self.workspace).mkdir()
        Path(self.workspace, "attacks.py").write_text(ATTACKS)
        rule = OwnerRule(id="mine", decision=Decision.ALLOW, host="mine.test", inside=True)
        policy = Policy(rules=(rule,))
        self.gate = PolicyGate(policy, SystemFacts(policy, PATH, world.resolve), SystemClock(), analyse)
        self.sandbox = ChosenSandbox(kind, path_env=PATH, home="")
        self.spec = terminal(self.sandbox, {}).spec

    async def __call__(self, command: str) -> dict[str, Any]:
        action = Action(session="s", turn=1, call_id="c", spec=self.spec, arguments={"command": command}, workspace=self.workspace)
        try:
            grant = await self.gate.authorize(action, Answers())
        except Parked as parked:
            answer = Answer(approval_id=parked.question.approval_id, decision="once", by="owner")
            grant = await self.gate.authorize(action, Answers(by_hash={parked.question.hash: answer}))
        env = {"PATH": PATH, "HOME": self.workspace, "PYTHONDONTWRITEBYTECODE": "1", "GIT_TERMINAL_PROMPT": "0"}
        done = await self.sandbox.exec(grant, argv_of(command), cwd=self.workspace, env=env, timeout=30, max_bytes=100_000)
        return {"code": done.exit_code, "out": done.stdout.decode(), "err": done.stderr.decode()[-1500:], "refused": done.refused}


def repository(folder: Path) -> None:
    """A bare repository that a plain server of files can serve."""
    made = folder / "made"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(made)]
    made.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(made), str(folder / "served.git")], check=True)
    subprocess.run(["git", "-C", str(folder / "served.git"), "update-server-info"], check=True)


def wheel(folder: Path) -> None:
    """A package for `pip`."""
    with zipfile.ZipFile(folder / "thing-1.0-py3-none-any.whl", "w") as made:
        made.writestr("thing.py", "")
        made.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        made.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr("thing-1.0.dist-info/RECORD", "")


def archive(folder: Path) -> None:
    """A package for `npm`."""
    about = b'{"name": "thing", "version": "1.0.0"}'
    with tarfile.open(folder / "thing.tgz", "w:gz") as made:
        named = tarfile.TarInfo("package/package.json")
        named.size = len(about)
        made.addfile(named, io.BytesIO(about))


async def main(kind: str, folder: Path) -> None:
    own_all([PUBLIC, OTHER, INSIDE])
    world = World(dict(NAMES), [])
    found: dict[str, Any] = {}
    async with world.open():
        run = Commands(kind, folder, world)
        repository(folder)
        wheel(folder)
        archive(folder)

        async def files(stream: Any, request: bytes) -> None:
            path = request.split()[1].decode().partition("?")[0]
            place = folder / path.lstrip("/")
            if path == "/away":
                await redirect("http://other.test/")(stream, request)
            elif path == "/simple/thing/":
                await page(b'<a href="/thing-1.0-py3-none-any.whl">thing-1.0-py3-none-any.whl</a>', kind="text/html")(stream, request)
            elif path == "/npm/thing":
                versions = {"1.0.0": {"name": "thing", "version": "1.0.0", "dist": {"tarball": "http://site.test/thing.tgz"}}}
                facts = {"name": "thing", "dist-tags": {"latest": "1.0.0"}, "versions": versions}
                await page(json.dumps(facts).encode(), kind="application/json")(stream, request)
            elif place.is_file():
                await page(place.read_bytes(), kind="application/octet-stream")(stream, request)
            else:
                host = request.split(b"Host: ")[1].split()[0].decode()
                await page(f"host {host}\n".encode(), status="404 Not Found" if ".git" in path else "200 OK")(stream, request)

        servers = [await world.serve(files, address, 80) for address in (PUBLIC, OTHER, INSIDE, "127.0.0.1")]
        loopback = servers[-1]
        for name, command in COMMANDS.items():
            if name in ("npm", "node") and shutil.which(name) is None:
                continue
            before = loopback.connections
            found[name] = await run(command) | {"loopback": loopback.connections - before}
            found[name]["asked"], world.asked = world.asked, []
    sys.stdout.write(json.dumps(found))


ATTACKS = """
import errno, json, os, socket, struct
PUBLIC, PORT = "93.184.216.34", int(os.environ["https_proxy"].rpartition(":")[2])
TCP, FAST = socket.SOCK_STREAM, 0x20000000

def connected(*made, place=(PUBLIC, 80), before=lambda s: None):
    with socket.socket(*made) as one:
        one.settimeout(3)
        before(one)
        one.connect(place)
        return "reached"

def sent(call):
    with socket.socket(socket.AF_INET, TCP) as one:
        one.settimeout(3)
        call(one)
        return "reached"

def listening():
    with socket.socket(socket.AF_INET, TCP) as one:
        one.listen()
        port = one.getsockname()[1]
        return "reached" if PORT != 3128 else "own"  # in a namespace of its own nobody else is there

def routed(one):
    one.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, bytes((131, 7, 4)) + socket.inet_aton(PUBLIC) + bytes(1))

def routed_away():
    return connected(socket.AF_INET, TCP, place=("127.0.0.1", 80), before=routed)

tries = {
    "tcp": lambda: connected(socket.AF_INET, TCP),
    "the port of the proxy elsewhere": lambda: connected(socket.AF_INET, TCP, place=(PUBLIC, PORT)),
    "a service on loopback": lambda: connected(socket.AF_INET, TCP, place=("127.0.0.1", 80)),
    "every address": lambda: connected(socket.AF_INET, TCP, place=("0.0.0.0", 80)),
    "over IPv6": lambda: connected(socket.AF_INET6, TCP, place=("::ffff:127.0.0.1", 80)),
    "udp": lambda: connected(socket.AF_INET, socket.SOCK_DGRAM),
    "sctp": lambda: connected(socket.AF_INET, socket.SOCK_SEQPACKET),
    "mptcp": lambda: connected(socket.AF_INET, TCP, 262),
    "fast open": lambda: sent(lambda one: one.sendto(b"GET / HTTP/1.0\\r\\n\\r\\n", FAST, (PUBLIC, 80))),
    "fast open by message": lambda: sent(lambda one: one.sendmsg([b"GET / HTTP/1.0\\r\\n\\r\\n"], [], FAST, (PUBLIC, 80))),
    "fast open by option": lambda: connected(socket.AF_INET, TCP, before=lambda one: one.setsockopt(6, 30, 1)),
    "a source route": routed_away,
    "a server": listening,
    "a name": lambda: socket.getaddrinfo("site.test", 80) and "reached",
    "the proxy": lambda: connected(socket.AF_INET, TCP, place=("127.0.0.1", PORT)),
}
said = {}
for name, attempt in tries.items():
    try:
        said[name] = attempt()
    except OSError as error:
        said[name] = errno.errorcode.get(error.errno, str(error.errno)) if error.errno and error.errno > 0 else type(error).__name__
print(json.dumps(said))
"""

DIRECT = "import socket; s=socket.socket(); s.settimeout(3); s.connect(('{}', 80)); print('reached')"
COMMANDS = {
    "curl": "curl -sS http://site.test/a",
    "tunnel": "curl -sS -p http://site.test/a",
    "wget": "wget -q -O - http://site.test/a",
    "away": "curl -sS -L http://site.test/away",
    "loopback": "echo url=http://127.0.0.1/ | curl -sS -K -",
    "localhost": "echo url=http://localhost/ | curl -sS -K -",
    "tunnel to loopback": "echo url=http://127.0.0.1/ | curl -sS -p -K -",
    "inside": "curl -sS http://inside.test/",
    "mine": "curl -sS http://mine.test/",
    "rebind": "curl -sS http://rebind.test/a http://rebind.test/b",
    "git": "git clone -q http://site.test/served.git got",
    "ignores it": "curl -sS --noproxy '*' http://93.184.216.34/",
    "direct": f'python3 -c "{DIRECT.format(PUBLIC)}"; curl -sS http://site.test/a',
    "direct to loopback": f'python3 -c "{DIRECT.format("127.0.0.1")}"; curl -sS http://site.test/a',
    "another port": "curl -sS http://site.test:81/ http://site.test/a",
    "pip": "pip download --no-deps --no-cache-dir -q -d out --index-url http://site.test/simple --trusted-host site.test thing",
    "python": "curl -sS http://site.test/a; python3 -c \"import urllib.request as u; print(u.urlopen('http://site.test/b').read())\"",
    "attacks": "curl -sS http://site.test/a -o /dev/null; python3 attacks.py",
    "npm": "npm install --no-audit --no-fund --registry http://site.test/npm/ thing && ls node_modules",
    "node": "curl -sS http://site.test/a; node -e \"fetch('http://site.test/b').then(r => r.text()).then(console.log)\"",
    "requests": "curl -sS http://site.test/a; python3 -c \"from pip._vendor import requests; print(requests.get('http://site.test/b').text)\"",
    "ssh": "git clone git@site.test:a/b.git",
    "no proxy known": "curl -sS http://site.test/a; python3 -c \"import urllib.request as u; print(u.build_opener(u.ProxyHandler({})).open('http://site.test/b').read())\"",
    "no password": "curl -sS -x http://127.0.0.1:${https_proxy##*:} http://site.test/a",
}

if __name__ == "__main__":
    anyio.run(main, sys.argv[1], Path(sys.argv[2]))
