"""Real files: what a path means to the gate is what it means to the kernel, for file tools and commands alike."""

import os
import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.types.actions import Action
from neuralclaw.types.facts import FactSheet, PathWant, Wants
from neuralclaw.types.options import Policy
from neuralclaw.types.questions import Answers
from neuralclaw.types.risk import Decision, Trust
from neuralclaw.types.signals import Parked
from neuralclaw.types.verdicts import Verdict

from .parts import DELETE, LISTED, READ, TERMINAL, WRITE, FakeClock, FakeFacts, action, gate, spec

pytestmark = pytest.mark.anyio
LIST = spec("list_files", ("path", "list"))
TOOLS = {"read": READ, "list": LIST, "write": WRITE, "delete": DELETE}
COMMANDS = {"read": "cat {}", "list": "ls {}", "write": "tee {}", "delete": "rm {}"}
ALLOW, ASK, FORBID = Decision.ALLOW, Decision.ASK, Decision.FORBID


class Tree:
    """A person's home with a workspace in it, the agent's data, keys, an allowed path, and links all over."""

    def __init__(self, root: Path) -> None:
        self.home = home = root / "home" / "ann"
        self.work, self.allowed, self.outside, self.data = home / "work", home / "shared" / "deep", root / "outside", home / ".local/share/neuralclaw"
        self.program = root / "opt" / "nc"
        for path in (
            "work/a.txt", "work/sub/deep/x.txt", "work/.git/hooks/pre-commit", "work/.git/HEAD", "work/.envrc", "work/.venv/bin/activate", "work/src/m.py",
            "work/env/pyvenv.cfg", "work/env/bin/python",
            ".ssh/id_rsa", ".ssh/config", ".aws/credentials", ".bashrc", "notes/n.txt", "shared/s.txt", "shared/deep/d.txt", "shared/deep/er/e.txt",
            "shared/deep/.ssh/key", ".config/systemd/user/a.service", "other/.git/hooks/post-merge", "work2/b.txt", "work/.ssh/id",
        ):  # fmt: skip
            self.made(home / path)
        for path in (self.data / "journal.db", self.data / "config.yaml", self.data / "workspaces/s/w.txt", root / "outside/o.txt", root / "outside/d/p.txt"):
            self.made(path)
        for name in ("lib/python3/site-packages/neuralclaw/ports.py", "bin/neuralclaw", "bin/python"):
            self.made(self.program / name)
        for name, target in {
            "to-file": self.outside / "o.txt", "to-dir": self.outside / "d", "to-home": home, "up": "..", "in": "sub/deep", "loop": "loop", "chain": "to-dir",
            "dangling": self.outside / "none", "to-data": self.data, "to-key": home / ".ssh/id_rsa", "to-hook": ".git/hooks/pre-commit", "to-etc": "/etc",
            "to-allowed": self.allowed, "innocent.md": home / ".bashrc", "to-work": self.work, "sub/back": "../..", "to-pkg": self.program / "lib",
        }.items():  # fmt: skip
            (self.work / name).symlink_to(target)
        os.link(home / ".ssh/id_rsa", self.work / "hard-key")
        os.link(self.data / "journal.db", self.work / "hard-data")
        os.link(self.work / "a.txt", self.work / "hard-own")
        os.link(self.work / "src/m.py", self.outside / "hard-out")

    @staticmethod
    def made(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")

    def policy(self) -> Policy:
        return Policy(
            programs=(*LISTED, "tee", "rm", "mkdir", "cp", "ln", "mv", "env"),
            home_dir=str(self.home),
            protected_paths=("/", str(self.home), str(self.data)),
            allowed_paths=(str(self.allowed),),
            own_places=(str(self.program),),
            require_confirmation_for=(),
        )

    def gate(self) -> PolicyGate:
        policy = self.policy()
        return PolicyGate(policy, SystemFacts(policy, "/usr/bin:/bin", undo_lacks=covered), FakeClock(), analyse)

    async def told(self, text: str, **more: str) -> Verdict:
        """What the gate says of a command line."""
        return await self.gate().judge(action(TERMINAL, command=text, workspace=str(self.work), trust=Trust.HIGH, **more))

    async def told_path(self, op: str, path: str, workspace: Path | None = None) -> Verdict:
        """What it says of a file tool."""
        return await self.gate().judge(action(TOOLS[op], path=path, workspace=str(workspace or self.work), trust=Trust.HIGH))


async def covered(workspace: str, copied: bool) -> str | None:
    return None


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    root = tmp_path_factory.mktemp("paths").resolve()
    made = Tree(root)
    yield made
    shutil.rmtree(root)


E, F, A = "ask", "forbid", "allow"
CASES: list[tuple[str, str, str, str]] = [
    # spelling, read, write, where it leads (H home, W workspace, O outside, S allowed, D data, P program)
    ("a.txt", A, A, "W/a.txt"), ("./a.txt", A, A, "W/a.txt"), ("sub/../a.txt", A, A, "W/a.txt"), ("sub//deep/x.txt", A, A, "W/sub/deep/x.txt"),
    ("in/x.txt", A, A, "W/sub/deep/x.txt"), ("in/../a.txt", A, A, "W/sub/a.txt"), ("in/../../a.txt", A, A, "W/a.txt"),
    ("hard-own", A, A, "W/hard-own"), ("to-work/a.txt", A, A, "W/a.txt"), ("new/er/file", A, A, "W/new/er/file"),
    ("sub/back/work/a.txt", A, A, "W/a.txt"), ("to-file", E, E, "O/o.txt"), ("to-dir/p.txt", E, E, "O/d/p.txt"), ("to-dir/../o.txt", E, E, "O/o.txt"),
    ("chain/../o.txt", E, E, "O/o.txt"), ("chain/p.txt", E, E, "O/d/p.txt"), ("to-dir/../../outside/o.txt", E, E, "O/o.txt"),
    ("dangling", E, E, "O/none"), ("up/notes/n.txt", E, E, "H/notes/n.txt"), ("sub/back/notes/n.txt", E, E, "H/notes/n.txt"),
    ("../notes/n.txt", E, E, "H/notes/n.txt"), ("to-home/notes/n.txt", E, E, "H/notes/n.txt"), ("to-dir/../a.txt", E, E, "O/a.txt"),
    ("in/../../../work2/b.txt", E, E, "H/work2/b.txt"), ("../work2/b.txt", E, E, "H/work2/b.txt"), ("{O}/o.txt", E, E, "O/o.txt"),
    ("//{O}/o.txt", E, E, "O/o.txt"), ("{W}/../notes/n.txt", E, E, "H/notes/n.txt"), ("{O}/d/../o.txt", E, E, "O/o.txt"),
    ("/proc/self/root{O}/o.txt", E, E, "O/o.txt"), ("/proc/thread-self/root{O}/o.txt", E, E, "O/o.txt"), ("/../../{O}/o.txt", E, E, "O/o.txt"),
    ("{O}/new/dir/file", E, E, "O/new/dir/file"), ("{H}/shared/s.txt", E, E, "H/shared/s.txt"), ("to-allowed/../s.txt", E, E, "H/shared/s.txt"),
    ("to-allowed/d.txt", A, A, "S/d.txt"), ("{S}/er/e.txt", A, A, "S/er/e.txt"), ("{S}/er/../d.txt", A, A, "S/d.txt"),
    ("{H}/shared/deepest", E, E, "H/shared/deepest"), ("{H}/shared/./deep/er//e.txt", A, A, "S/er/e.txt"), ("{S}/../s.txt", E, E, "H/shared/s.txt"),
    ("{H}/.ssh/id_rsa", F, F, "H/.ssh/id_rsa"), ("to-key", F, F, "H/.ssh/id_rsa"), ("to-home/.ssh/config", F, F, "H/.ssh/config"),
    ("hard-key", F, F, "W/hard-key"), ("in/../../../.ssh/id_rsa", F, F, "H/.ssh/id_rsa"), ("{H}/.aws/credentials", F, F, "H/.aws/credentials"),
    ("{H}/.ssh/new", F, F, "H/.ssh/new"), ("{H}/notes/../.ssh/id_rsa", F, F, "H/.ssh/id_rsa"), (".ssh/id", E, E, "W/.ssh/id"),
    ("{S}/.ssh/key", E, E, "S/.ssh/key"), ("{D}/journal.db", F, F, "D/journal.db"), ("to-data/config.yaml", F, F, "D/config.yaml"),
    ("env/bin/python", A, E, "W/env/bin/python"), ("env/notes.txt", A, A, "W/env/notes.txt"), ("env", A, E, "W/env"),
    ("~/notes/n.txt", E, E, "H/notes/n.txt"), ("~/.ssh/id_rsa", F, F, "H/.ssh/id_rsa"), ("~/work/../notes/n.txt", E, E, "H/notes/n.txt"),
    ("~/work/a.txt", A, A, "W/a.txt"), ("./~/a.txt", A, A, "W/~/a.txt"), ("~/.bashrc", E, E, "H/.bashrc"),
    ("hard-data", F, F, "W/hard-data"), ("{D}/new", F, F, "D/new"), ("{D}/workspaces/s/w.txt", F, F, "D/workspaces/s/w.txt"),
    ("to-home/.local/share/neuralclaw/journal.db", F, F, "D/journal.db"), ("{D}", F, F, "D"),
    ("to-data/../neuralclaw/journal.db", F, F, "D/journal.db"),
    ("{P}/lib/python3/site-packages/neuralclaw/ports.py", F, F, "P/lib/python3/site-packages/neuralclaw/ports.py"),
    ("to-pkg/../bin/python", F, F, "P/bin/python"), (".git/hooks/pre-commit", A, E, "W/.git/hooks/pre-commit"),
    ("to-hook", A, E, "W/.git/hooks/pre-commit"), (".envrc", A, E, "W/.envrc"), (".venv/bin/activate", A, E, "W/.venv/bin/activate"),
    ("sub/../.git/config", A, E, "W/.git/config"), ("AGENTS.md", A, E, "W/AGENTS.md"), (".ENVRC", A, E, "W/.ENVRC"),
    (".Git/Hooks/x", A, E, "W/.Git/Hooks/x"), ("in/../../.vscode/tasks.json", A, E, "W/.vscode/tasks.json"), ("innocent.md", E, E, "H/.bashrc"),
    ("{H}/.config/systemd/user/a.service", E, E, "H/.config/systemd/user/a.service"), ("/etc/hostname", A, E, "/etc/hostname"),
    ("to-etc/hostname", A, E, "/etc/hostname"), ("to-etc/../etc/hostname", A, E, "/etc/hostname"), ("/etc/shadow", F, F, "/etc/shadow"),
    ("to-etc/shadow", F, F, "/etc/shadow"), ("/usr/../etc/./shadow", F, F, "/etc/shadow"), ("/proc/1/environ", F, F, "/proc/1/environ"),
    ("Cafe\u0301.txt", A, A, "W/Cafe\u0301.txt"), ("Caf\u00e9.txt", A, A, "W/Caf\u00e9.txt"), ("\u2025/notes/n.txt", A, A, "W/\u2025/notes/n.txt"),
    ("．．/n.txt", A, A, "W/．．/n.txt"), ("a\u200b.txt", A, A, "W/a\u200b.txt"), ("./~", A, A, "W/~"),
]  # fmt: skip


def where(tree: Tree, text: str) -> str:
    places = {"W": tree.work, "H": tree.home, "O": tree.outside, "S": tree.allowed, "D": tree.data, "P": tree.program}
    head, slash, rest = text.partition("/")
    return f"{places[head]}{slash}{rest}" if head in places else text


def spelled(tree: Tree, text: str) -> str:
    return text.format(W=tree.work, H=tree.home, O=tree.outside, S=tree.allowed, D=tree.data, P=tree.program)


@pytest.mark.invariant("gate.outside-asks")
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
async def test_a_path_is_judged_where_the_kernel_finds_it(tree: Tree, case: tuple[str, str, str, str]) -> None:
    text, read, write, leads = case
    path = spelled(tree, text)
    for op, expected in (("read", read), ("write", write)):
        verdict = await tree.told_path(op, path)
        assert (verdict.decision, verdict.resolved) == (expected, where(tree, leads)), (op, verdict.rules)
        by_command = await tree.told(COMMANDS[op].format(path if path.startswith("~") else f"'{path}'"))
        assert by_command.decision == expected, (op, by_command.rules)


async def test_a_link_is_deleted_itself_and_what_is_behind_a_slash_where_it_leads(tree: Tree) -> None:
    for name in ("to-file", "to-dir", "to-data", "to-key", "dangling", "loop"):
        verdict = await tree.told_path("delete", name)
        assert (verdict.decision, verdict.resolved) == (ALLOW, str(tree.work / name)), verdict.rules
        assert (await tree.told(f"rm {name}")).decision is ALLOW
    assert (await tree.told("rm -r to-dir/")).decision is not ALLOW
    assert (await tree.told("rm -r to-dir/.")).decision is not ALLOW
    assert (await tree.told("rm to-data/journal.db")).decision is FORBID
    assert (await tree.told("rm -r to-dir/..")).decision is not ALLOW


async def test_a_home_is_not_removed_by_a_step_up_behind_a_link(tree: Tree) -> None:
    (tree.work / "leads").symlink_to(tree.home / "notes")
    verdict = await tree.told("rm -r leads/..")
    (tree.work / "leads").unlink()
    assert verdict.decision is FORBID
    assert "block.rm_roots" in [rule.id for rule in verdict.rules]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cd in && cat ../../a.txt", A),  # the kernel steps up from where the link leads
        ("cd in && cat ../../../notes/n.txt", E),
        ("cd in/.. && cat a.txt", A),  # the shell steps up by the names
        ("cd in && cd .. && cat a.txt", A),
        ("cd -P in && cd ../../.. && cat notes/n.txt", E),
        ("cd -P in/.. && cat ../../notes/n.txt", E),
        ("cd to-dir && cat p.txt", E),
        ("cd to-dir && cat ../o.txt", E),
        ("cd to-dir && cd .. && cat a.txt", A),
        ("cd to-dir/.. && cat a.txt", A),
        ("cd chain && cat ../o.txt", E),
        ("env -C to-dir cat ../o.txt", E),
        ("env -C to-dir cat p.txt", E),
        ("env -C in cat ../../a.txt", A),
        ("env -C in sh -c 'cd ../../.. && cat notes/n.txt'", E),
        ("env --chdir=to-dir/.. cat o.txt", E),
        ("git -C ../other log", E),
        ("git -C to-dir status", E),
        ("git -C sub -C .. status", A),
        ("git -C ../other/.git/hooks status", E),
        ("cd ~/notes && cat n.txt", E),
        ("cat ~/notes/n.txt", E),
        ("cat ~/work/a.txt", A),
        ("cat ~/.ssh/id_rsa", F),
        ("cat $HOME/.ssh/id_rsa", F),
        ("cat ~root/x", E),
        ("cat ~daemon/share/doc/x", A),  # its home is /usr/sbin, a public place
        ("cat ~nobody-there/x", E),
        ("cat /proc/self/cwd/a.txt", A),
        ("cat /proc/self/cwd/../notes/n.txt", E),
        ("cd to-dir && cat /proc/self/cwd/../o.txt", E),
        ("cat /dev/fd/0 < a.txt", A),
        ("cat < to-file", E),
        ("cat < to-key", F),
        ("echo x > to-file", E),
        ("echo x >> to-hook", E),
        ("echo x > hard-data", F),
        ("cat *.txt", A),
        ("cat to-*", F),  # one of them leads to a key
        ("cat to-f*", E),
        ("cat ch*n/p.txt", E),
        ("cat up/n*/n.txt", F),  # to find it the shell would list a home, which is not opened
        ("cat hard-*", F),
        ("cat [h]ard-key", F),
        ("cat i?/x.txt", A),
        ("cat s*/deep/*.txt", A),
        ("cat ../.s*/id_rsa", F),
        ("cp a.txt to-dir/", E),
        ("cp a.txt to-dir", E),
        ("cp a.txt .git/hooks", E),
        ("cp a.txt in", A),
        ("mv a.txt {P}/bin/", F),
        ("cp a.txt to-pkg/x", F),
        ("touch .venv/bin/activate", E),
        ("ls to-home", F),
        ("ls ..", F),
        ("ls {O}", E),
        ("ls /usr/share", A),
        ("ls in/..", A),
        ("{O}/o.txt", E),
        ("bash {O}/o.txt", E),
        ("bash to-dir/../o.txt", E),
        ("make -C {O}", E),
        ("make -C sub", A),
        ("tar -cf a.tar -C {O} o.txt", E),
        ("tar -xf a.tar -C to-dir", E),
        ("cd {D} && ls", F),
        ("cd to-data && ls", F),
        ("cd {P}/bin && ls", F),
        ("python3 to-file", E),
    ],
)  # fmt: skip
async def test_a_command_is_judged_where_it_works(tree: Tree, text: str, expected: str) -> None:
    verdict = await tree.told(spelled(tree, text))
    assert verdict.decision == expected, verdict.rules


async def test_a_command_starts_where_a_link_really_leads(tree: Tree) -> None:
    assert (await tree.told("cat ../../a.txt", working_dir="in")).decision is ALLOW
    assert (await tree.told("cd ../../.. && cat notes/n.txt", working_dir="in")).decision is ASK
    assert (await tree.told("cat p.txt", working_dir="to-dir")).decision is ASK
    assert (await tree.told("ls", working_dir=str(tree.outside))).decision is ASK
    assert (await tree.told("ls", working_dir=str(tree.data))).decision is FORBID
    for workspace in (tree.data, tree.data / "sub"):
        assert (await tree.gate().judge(action(TERMINAL, command="ls", workspace=str(workspace)))).decision is FORBID


@pytest.mark.invariant("gate.self-kept")
async def test_the_agents_own_places_are_kept_whatever_the_workspace(tree: Tree) -> None:
    package = tree.program / "lib/python3/site-packages/neuralclaw"
    for workspace in (tree.work, tree.home, tree.data, tree.data.parent, tree.data / "sub", Path("/")):
        for op in TOOLS:
            assert (await tree.told_path(op, str(tree.data / "config.yaml"), workspace)).decision is FORBID, (op, workspace)
    for workspace in (tree.work, tree.program, tree.program.parent, package, package.parent, Path("/")):
        for op in ("write", "delete"):
            for path in (package / "ports.py", tree.program / "bin/python", package / "new.py"):
                assert (await tree.told_path(op, str(path), workspace)).decision is FORBID, (op, workspace, path)
    given = tree.data / "workspaces/s"
    assert (await tree.told_path("write", "w.txt", given)).decision is ALLOW
    assert (await tree.told_path("read", "../../journal.db", given)).decision is FORBID
    assert (await tree.told_path("read", "../t/w.txt", given)).decision is FORBID
    assert (await tree.told_path("write", "notes.md", tree.program)).decision is ALLOW  # a project in whose top an environment was made


async def test_keys_of_the_person_are_kept_in_a_workspace_around_them(tree: Tree) -> None:
    assert (await tree.told_path("read", ".ssh/id_rsa", tree.home)).decision is FORBID
    assert (await tree.told_path("read", "work/.ssh/id", tree.home)).decision is ASK


async def test_who_runs_it_later_is_said_also_outside(tree: Tree) -> None:
    for path, who in ((".bashrc", "the shell"), ("other/.git/hooks/post-merge", "git"), (".config/systemd/user/a.service", "systemd"), ("x/.envrc", "direnv")):
        verdict = await tree.told_path("write", str(tree.home / path))
        assert any(rule.id == "path.later_run" and who in rule.reason for rule in verdict.rules), path


async def test_names_that_look_alike_are_other_names(tree: Tree) -> None:
    composed, taken_apart = (unicodedata.normalize(form, "Café.txt") for form in ("NFC", "NFD"))
    (tree.work / composed).symlink_to(tree.outside / "o.txt")
    try:
        assert (await tree.told_path("read", composed)).decision is ASK
        assert (await tree.told_path("read", taken_apart)).decision is ALLOW
    finally:
        (tree.work / composed).unlink()


async def test_what_only_an_administrator_may_read_of_the_public_places_asks(tmp_path: Path) -> None:
    """Real files are not closed in `/usr`: the fact is looked up of a file of this test, and judged as one of `/etc`."""
    closed = tmp_path.resolve() / "closed"
    closed.write_text("x")
    closed.chmod(0o600)
    call = action(READ, path=str(closed), workspace="/srv/work")
    sheet = await SystemFacts(Policy(), "").look(call, Wants(paths=(PathWant(str(closed), "read"),)))
    assert sheet.paths[0].closed == (os.geteuid() == 0)

    class Closed(FakeFacts):
        async def look(self, action: Action, wants: Wants) -> FactSheet:
            found = await super().look(action, wants)
            return msgspec.structs.replace(found, paths=tuple(msgspec.structs.replace(fact, closed=True) for fact in found.paths))

    for facts, expected in ((FakeFacts(), ALLOW), (Closed(), ASK)):
        assert (await gate(facts=facts).judge(action(READ, path="/etc/ssl/private/x.pem"))).decision is expected
        assert (await gate(facts=facts).judge(action(TERMINAL, command="cat /etc/ssl/private/x.pem"))).decision is expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("cd to-dir && make", "outside/d, which is outside"),
        ("cat to-f*", "outside/o.txt, which is outside"),
        ("{O}/tool --version", "runs {O}/tool, which is outside"),
        ("bash {O}/o.txt", "{O}/o.txt, which is outside"),
    ],
)
async def test_the_question_names_each_place_outside(tree: Tree, text: str, named: str) -> None:
    tool = tree.outside / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    with pytest.raises(Parked) as parked:
        await tree.gate().authorize(action(TERMINAL, command=spelled(tree, text), workspace=str(tree.work), trust=Trust.HIGH), Answers())
    assert spelled(tree, named) in parked.value.question.summary


async def test_what_file_tools_get_is_the_path_that_was_judged(tree: Tree) -> None:
    grant = await tree.gate().authorize(action(READ, path="~/work/a.txt", workspace=str(tree.work), trust=Trust.HIGH), Answers())
    assert grant.arguments["path"] == str(tree.work / "a.txt")
    verdict = await tree.told_path("read", "~root/.ssh/id_rsa")
    assert (verdict.decision, verdict.resolved) == (FORBID, "/root/.ssh/id_rsa")


@pytest.mark.parametrize("path", ["file:///etc/hostname", "FILE:/etc/hostname", "https://example.com/x"])
async def test_an_address_is_no_path(tree: Tree, path: str) -> None:
    assert (await tree.told_path("read", path)).decision == FORBID
