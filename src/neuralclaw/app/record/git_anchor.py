"""The anchor as a branch of a git repository elsewhere: a commit for each mark, pushed and never forced."""

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping

import msgspec

from ...errors import StoreError
from ...sandbox.own_code import trusted_path
from ...store.anchor import AnchorFile, AnchorMark, CheckMark, report_of
from ...types.cut_texts import cut_text
from ...types.records import AnchorReport
from ...types.shown_addresses import shown_address, without_address
from .anchor_settings import GitAnchor
from .anchor_state import PlaceState, StateFile, changed, is_due, person_environment

SECONDS = 30.0
"""How long one command of git may take."""
AGAIN = 300.0
"""Seconds until a repository that could not be reached is tried again."""
UNPUSHED = "the last mark could not be pushed"
_WHO = {"NAME": "NeuralClaw", "EMAIL": "neuralclaw@localhost"}


class GitMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """A mark as a commit has it. `home`: the id of the home; `accepted`: the owner accepted the record as it was then: earlier marks hold no more."""

    home: str
    record: int
    hash: str
    time: int
    accepted: bool = False


class _Branch(msgspec.Struct, frozen=True):
    """The commits of the branch, newest first, and the marks of this home among them, each with whether the owner accepted the record then.

    `others`: how many marks are of other homes.
    """

    commits: tuple[str, ...]
    marks: tuple[tuple[AnchorMark, bool], ...]
    others: int


class GitFailed(Exception):
    """Git said no, or did not answer. `text` is its last line."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class GitAnchorPlace:
    """One branch of one repository. `environ`: the owner's variables, for git."""

    name = "git"

    def __init__(self, file: AnchorFile, settings: GitAnchor, environ: Mapping[str, str], *, kept: bool = True) -> None:
        """`kept`: the settings name it; else it was written before, and is verified until the owner accepts the record without it."""
        self._kept = kept
        self._file, self._every = file, settings.every_minutes * 60
        self.remote = os.path.expanduser(settings.remote)  # noqa: PTH111
        self.branch = settings.branch or f"neuralclaw-anchor-{file.id[:12]}"
        self._ref = f"refs/heads/{self.branch}"
        self._state = StateFile(file, kind_of(self.remote, self.branch))
        self._folder = os.path.join(file.folder, f"{file.id}.git")  # noqa: PTH118
        self._environ = person_environment(environ) | {
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            "GIT_CEILING_DIRECTORIES": self._folder,
            "PATH": trusted_path(environ.get("PATH", os.defpath)),
        }
        for part, value in _WHO.items():
            self._environ |= {f"GIT_AUTHOR_{part}": value, f"GIT_COMMITTER_{part}": value}
        self._running: subprocess.Popen[bytes] | None = None
        self.place = f"git {shown_address(self.remote)} {self.branch}"

    def due(self, record: int) -> bool:
        """Whether a mark is to be pushed now. Raises `ValueError` and `OSError`."""
        return is_due(self._state.read(), record, self._every, AGAIN)

    def state(self) -> PlaceState:
        """What was pushed last. Raises `ValueError` and `OSError`."""
        return self._state.read()

    def stop(self) -> None:
        """End the command of git that runs."""
        if (running := self._running) is not None:
            running.kill()

    def write(self, mark: AnchorMark, check: CheckMark, accepted: bool = False) -> None:
        """Push this mark behind those that are there. Raises `StoreError`, `ValueError`, `OSError`.

        Where the branch was forced, or the record is not as a mark there says, nothing is pushed: it is the evidence.
        """
        state = self._state.read()
        try:
            commit = self._push(state, mark, check, accepted)
        except GitFailed as failed:
            self._state.write(changed(state, failed.text, remote=self.remote, branch=self.branch))
            raise StoreError(f"the anchor cannot be pushed to {self.place}: {failed.text}") from failed
        self._state.write(changed(state, mark=mark, commit=commit, remote=self.remote, branch=self.branch))

    def _push(self, state: PlaceState, mark: AnchorMark, check: CheckMark, accepted: bool) -> str:
        if not os.path.isdir(os.path.join(self._folder, "objects")):  # noqa: PTH112, PTH118
            self._git("init", "--quiet", "--bare", self._folder)
        there = self._fetch(self._folder)
        if not accepted and (why := self._contradiction(state, there, check)[1]):
            raise GitFailed(f"it is not as it was anchored ({why}); neuralclaw audit verify")
        body = GitMark(self._file.id, mark.record, mark.hash, mark.time, accepted)
        text = f"{'Accepted' if accepted else 'Anchor'}: record {mark.record}\n\n{msgspec.json.encode(body).decode()}\n"
        tree = self._git(f"--git-dir={self._folder}", "mktree", text="")
        parent = ("-p", there.commits[0]) if there is not None and there.commits else ()
        commit = self._git(f"--git-dir={self._folder}", "commit-tree", tree, *parent, text=text)
        self._git(f"--git-dir={self._folder}", "push", "--quiet", "--no-verify", self.remote, f"{commit}:{self._ref}")
        return commit

    def report(self, check: CheckMark) -> AnchorReport | None:
        """See `AnchorPlace`. A repository that cannot be reached is a note: the record is then compared with what was pushed last."""
        try:
            state = self._state.read()
        except (OSError, ValueError) as error:
            return AnchorReport(place=self.place, record=0, ok=False, why=f"it cannot be read ({error})")
        if state.mark is None and not self._kept:
            return None
        try:
            with tempfile.TemporaryDirectory(prefix="neuralclaw-anchor-") as folder:
                self._git("init", "--quiet", "--bare", folder)
                there = self._fetch(folder)
        except (GitFailed, OSError) as failed:
            note = f"it cannot be reached ({failed}): the record was compared with what was pushed last"
            if state.mark is None:
                return AnchorReport(place=self.place, record=0, ok=True, note=f"it cannot be reached ({failed}); nothing was pushed yet")
            return report_of(self.place, state.mark, check(state.mark), note)
        mark, why = self._contradiction(state, there, check)
        unpushed = f"{UNPUSHED} ({state.error})" if self._kept and state.error else ""
        if mark is not None or why:
            return AnchorReport(place=self.place, record=mark.record if mark is not None else 0, ok=not why, why=why, note="" if why else unpushed)
        if there is None or not there.others:
            return AnchorReport(place=self.place, record=0, ok=True, note=f"{unpushed}; nothing was pushed yet") if unpushed else None
        note = "its marks are of other homes, and none is of this one: if the data directory has another path now, nothing was compared with the marks before"
        return AnchorReport(place=self.place, record=0, ok=True, note=note)

    def accept(self, mark: AnchorMark, check: CheckMark) -> None:
        """See `AnchorPlace`. A branch that the settings do not name any more is forgotten."""
        try:
            if self._kept:
                self.write(mark, check, accepted=True)
            else:
                self._state.remove()
        except (OSError, ValueError) as error:
            raise StoreError(f"the anchor in {self.place} stays as it was: {error}") from error

    def _contradiction(self, state: PlaceState, there: _Branch | None, check: CheckMark) -> tuple[AnchorMark | None, str]:
        """The newest mark, or the one that the record or the branch contradicts, with why."""
        if state.commit and (there is None or state.commit not in there.commits):
            return state.mark, "gone" if there is None else "forced"
        newest = None
        for mark, accepted in there.marks if there is not None else ():
            newest = newest or mark
            if (bad := check(mark)) is not None:
                return mark, "cut" if bad.why == "cut" else "changed"
            if accepted:
                break
        return newest, ""

    def _fetch(self, folder: str) -> _Branch | None:
        """The branch as it is there now; None where there is none. Raises `GitFailed`."""
        if not self._git(f"--git-dir={folder}", "ls-remote", "--heads", self.remote, self._ref):
            return None
        own = "refs/neuralclaw/there"
        self._git(f"--git-dir={folder}", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", self.remote, f"+{self._ref}:{own}")
        log = self._git(f"--git-dir={folder}", "log", "--topo-order", "--format=%H%x00%b%x01", own)
        commits: list[str] = []
        others = 0
        marks: list[tuple[AnchorMark, bool]] = []
        for entry in filter(None, (part.strip("\n") for part in log.split("\x01"))):
            commit, _, text = entry.partition("\0")
            commits.append(commit)
            try:
                mark = msgspec.json.decode(text.strip().encode(), type=GitMark)
            except ValueError:
                continue  # a commit of somebody else: no mark
            if mark.home in self._file.ids:
                marks.append((AnchorMark(mark.home, mark.record, mark.hash, mark.time), mark.accepted))
            else:
                others += 1
        return _Branch(tuple(commits), tuple(marks), others)

    def _git(self, *words: str, text: str | None = None) -> str:
        """What git prints. Raises `GitFailed`. It has no terminal, so it asks nobody, and runs in no repository but its own: the settings of one, such as
        that of a workspace, name programs and other addresses."""
        settings = ("core.hooksPath=/dev/null", "gc.auto=0", "protocol.ext.allow=never", "i18n.logOutputEncoding=UTF-8")
        options = (word for setting in settings for word in ("-c", setting))
        try:
            self._running = run = subprocess.Popen(
                ("git", *options, *words),
                stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environ,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise GitFailed(f"git cannot be run: {error.strerror}") from error
        try:
            out, err = run.communicate(text.encode() if text is not None else None, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            run.kill()
            run.communicate()
            raise GitFailed(f"git did not answer within {SECONDS:g} s") from None
        finally:
            self._running = None
        if run.returncode:
            raise GitFailed(last_line(err, self.remote) or f"git ended with {run.returncode}")
        return out.decode("utf-8", "replace").strip()


def last_line(err: bytes, remote: str) -> str:
    """What git says of a failure, without what is secret in an address, here that of the repository."""
    lines = [line.strip() for line in err.decode("utf-8", "replace").splitlines() if line.strip() and not line.startswith(("hint:", "To "))]
    told = next((line for line in lines if line.startswith(("fatal:", "error:", " ! ", "! "))), lines[-1] if lines else "")
    return cut_text(re.sub(r"//[^/@\s]*@", "//", without_address(told, remote)), 300)


def kind_of(remote: str, branch: str) -> str:
    """The name of the state file of a branch."""
    return "git-" + hashlib.sha256(f"{remote}\0{branch}".encode()).hexdigest()[:12]
