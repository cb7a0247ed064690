"""A small world for the gate's tests: facts from a table of files, links and programs, and a clock that stands still."""

from posixpath import normpath
from typing import Any, Literal

from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.types.actions import Action
from neuralclaw.types.facts import FactSheet, PathFact, Wants
from neuralclaw.types.grants import StandingGrant
from neuralclaw.types.options import Policy
from neuralclaw.types.questions import Answer, Answers, Question
from neuralclaw.types.risk import Effect, Power, Risk, Trust
from neuralclaw.types.tools import ToolSpec, Touch
from neuralclaw.types.verdicts import Verdict

WORKSPACE = "/home/ann/project"
LISTED = tuple(
    "ls cat head tail grep find wc echo pwd df du free ps top file stat md5sum sha256sum git python python3 pip pip3 node npm cargo go make awk sed"
    " sort uniq cut tr jq curl wget ping nslookup dig".split()
)
POLICY = Policy(programs=LISTED, home_dir="/home/ann", protected_paths=("/", "/home/ann", "/home/ann/.local/share/neuralclaw"))


class FakeClock:
    """Time stands still at 1,000 s."""

    def now(self) -> float:
        return 1000.0

    def monotonic(self) -> float:
        return 1.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("the gate waits for nothing")


class FakeFacts:
    """Facts from tables: `links` maps a path to where it really leads, `digests` gives what files hold. `scripts` the digests of
    what interpreters run (None: each has one), `code` those of other code. Counts its look-ups."""

    def __init__(
        self,
        *,
        links: dict[str, str] | None = None,
        digests: dict[str, str] | None = None,
        programs: dict[str, str | None] | None = None,
        addresses: dict[str, tuple[str, ...]] | None = None,
        allowed: tuple[str, ...] = (),
        scripts: dict[str, str] | None = None,
        code: dict[str, str] | None = None,
        undo_covers: bool = False,
        unconfined: bool = False,
    ) -> None:
        self.code = code or {}
        self.scripts, self.undo_covers, self.unconfined = scripts, undo_covers, unconfined
        self.links, self.digests, self.programs = links or {}, digests or {}, programs or {}
        self.addresses, self.allowed, self.looks = addresses or {}, allowed, 0

    async def look(self, action: Action, wants: Wants) -> FactSheet:
        self.looks += 1
        paths = []
        for want in wants.paths:
            resolved = self._resolve(want.path)
            inside = any(resolved == r or resolved.startswith(r.rstrip("/") + "/") for r in (action.workspace, *self.allowed))
            paths.append(
                PathFact(
                    path=want.path,
                    op=want.op,
                    resolved=resolved,
                    exists=resolved in self.digests,
                    kind="file" if resolved in self.digests else "missing",
                    inside=inside,
                    digest=self.digests.get(resolved),
                )
            )
        programs = {name: self.programs.get(name, f"/usr/bin/{name}" if "/" not in name else normpath(name)) for name in wants.programs}
        addresses = {h: self.addresses.get(h, ()) for h in wants.hosts}
        scripts = dict.fromkeys(wants.scripts, "5" * 64) if self.scripts is None else {s: self.scripts[s] for s in wants.scripts if s in self.scripts}
        code = {path: self.code[path] for path in (*wants.ran, *wants.named) if path in self.code}
        held = {"undo_covers": self.undo_covers, "unconfined": self.unconfined}
        opened: dict[str, tuple[PathFact, ...]] = dict.fromkeys(wants.repositories, ())
        return FactSheet(paths=tuple(paths), programs=programs, addresses=addresses, scripts=scripts, code=code, repositories=opened, **held)

    def _resolve(self, path: str) -> str:
        for link, target in self.links.items():
            if path == link or path.startswith(link + "/"):
                return normpath(target + path[len(link) :])
        return normpath(path)


def spec(name: str, *touches: tuple[str, str], powers: tuple[Power, ...] = (), risk: Risk = Risk.LOW, **more: Any) -> ToolSpec:
    made = tuple(Touch(argument, kind) for argument, kind in touches)  # type: ignore[arg-type]
    return ToolSpec(name=name, description="", input_schema={}, risk=risk, effect=Effect.PURE, powers=powers, touches=made, **more)


TERMINAL = spec("terminal", ("command", "command"), ("working_dir", "cwd"), powers=(Power.EXECUTE,), risk=Risk.MEDIUM, aliases=("bash",))
READ = spec("read_file", ("path", "read"), powers=(Power.READ,))
WRITE = spec("write_file", ("path", "write"), powers=(Power.WRITE,), risk=Risk.MEDIUM)
DELETE = spec("delete_file", ("path", "delete"), powers=(Power.DELETE,), risk=Risk.HIGH)
FETCH = spec("web_fetch", ("url", "url"), powers=(Power.NETWORK,))
CALCULATE = spec("calculate")


def action(tool: ToolSpec, *, workspace: str = WORKSPACE, trust: Trust = Trust.LOW, **arguments: Any) -> Action:
    return Action(session="s", turn=1, call_id="c1", spec=tool, arguments=arguments, workspace=workspace, trust=trust)


def gate(policy: Policy = POLICY, facts: FakeFacts | None = None) -> PolicyGate:
    return PolicyGate(policy, facts or FakeFacts(), FakeClock(), analyse, make_id=lambda: "Q123456789")


async def judge(command: str, *, policy: Policy = POLICY, facts: FakeFacts | None = None, trust: Trust = Trust.LOW, workspace: str = WORKSPACE) -> Verdict:
    """What the gate thinks of a command line."""
    return await gate(policy, facts).judge(action(TERMINAL, command=command, trust=trust, workspace=workspace))


def standing(question: Question, lasts: Literal["session", "always"] = "session") -> Answers:
    """What stands after this answer to a question."""
    words = getattr(question.covers, lasts)
    assert words is not None, f"{lasts} is not offered"
    made = StandingGrant(
        grant_id=question.approval_id,
        lasts=lasts,
        session="s",
        turn=1,
        workspace=question.workspace,
        tool=question.action.tool,
        covers=words,
        by="owner",
        since="2026-01-01T00:00:00.000Z",
        scopes=question.scopes,
    )
    return Answers(standing=(made,))


def answered(hash: str, decision: Any) -> Answers:
    return Answers(by_hash={hash: Answer(approval_id="Q123456789", decision=decision, by="owner")})
