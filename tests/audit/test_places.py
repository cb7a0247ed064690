"""Anchors besides the file: signed with a key of the keyring, and pushed to a git repository."""

import functools
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import anyio.to_thread
import msgspec
import pytest

from neuralclaw.app.record.anchor_keeper import AnchorKeeper
from neuralclaw.app.record.anchor_places import known_places
from neuralclaw.app.record.anchor_settings import GitAnchor
from neuralclaw.app.record.git_anchor import GitAnchorPlace
from neuralclaw.app.record.record_text import verified_lines
from neuralclaw.app.record.signed_anchor import SignedAnchor
from neuralclaw.errors import ConfigError, StoreError
from neuralclaw.store.anchor import AnchorFile, AnchorPlace
from neuralclaw.types.records import VerifyReport

from ..store import kit
from ..store.test_anchor import cut

pytestmark = [pytest.mark.anyio, pytest.mark.full]


class DictKeyring:
    """A keyring in memory. `locked`: it cannot be used."""

    def __init__(self) -> None:
        self.keys: dict[str, bytes] = {}
        self.locked = False

    def get(self, store: str) -> bytes | None:
        if self.locked:
            raise ConfigError("the keyring of the system cannot be used: KeyringLocked")
        return self.keys.get(store)

    def put(self, store: str, key: bytes) -> None:
        self.keys[store] = key


@pytest.fixture
def anchor(home: Path, tmp_path: Path) -> AnchorFile:
    return AnchorFile(str(home), str(tmp_path / "state"))


@pytest.fixture
def keyring() -> DictKeyring:
    return DictKeyring()


@pytest.fixture
def signed(anchor: AnchorFile, keyring: DictKeyring) -> Callable[[], SignedAnchor]:
    return lambda: SignedAnchor(anchor, lambda: keyring)


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    place = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", place], check=True, timeout=5)
    return place


@pytest.fixture
def pushed(anchor: AnchorFile, remote: Path) -> Callable[[], GitAnchorPlace]:
    return lambda: GitAnchorPlace(anchor, GitAnchor(remote=str(remote), branch="marks", every_minutes=0), os.environ)


WHO = ("-c", "user.name=x", "-c", "user.email=x@localhost")


def git(remote: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", remote, *words], check=True, timeout=5, capture_output=True, text=True).stdout.strip()


async def live(home: Path, anchor: AnchorFile, name: str, place: object | None = None) -> None:
    """A turn, and what the program does when it is closed."""
    async with kit.opened(home, anchor=anchor) as store:
        await kit.a_life(store, name)
    if place is not None:
        AnchorKeeper(anchor, lambda: [place]).close(5)  # type: ignore[list-item]


async def verified(home: Path, anchor: AnchorFile, *places: AnchorPlace) -> VerifyReport:
    async with kit.opened(home, readonly=True) as store:
        store.keep_anchor(anchor, lambda: places)
        return await store.verify()


def told(report: VerifyReport) -> tuple[bool, str, int]:
    (one,) = report.anchors
    assert one.ok is not one.why
    return report.ok, one.why, one.record


async def test_a_mark_is_signed_and_verified(home: Path, anchor: AnchorFile, signed: Callable[[], SignedAnchor]) -> None:
    await live(home, anchor, "work", signed())
    assert told(await verified(home, anchor, signed())) == (True, "", 13)


async def test_where_no_keyring_is_nothing_is_signed_and_nothing_is_wrong(home: Path, anchor: AnchorFile) -> None:
    place = SignedAnchor(anchor, lambda: None)
    await live(home, anchor, "work", place)
    report = await verified(home, anchor, place)
    assert (report.ok, report.anchors) == (True, ())


def forge_signed(place: SignedAnchor, **fields: object) -> None:
    path = Path(place.place.removesuffix(" (signed)"))
    path.write_bytes(msgspec.json.encode(msgspec.json.decode(path.read_bytes()) | fields))


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        ({"signature": "00" * 32}, "has a signature that is not genuine"),
        ({"signature": ""}, "has no signature, and the keyring has a key of this home"),
        ({"mark": None}, "has no signature, and the keyring has a key of this home"),
    ],
    ids=["another", "taken away", "mark taken away"],
)
async def test_a_signature_that_is_wrong_or_gone_is_found_and_stays_the_evidence(
    home: Path, anchor: AnchorFile, signed: Callable[[], SignedAnchor], forged: dict[str, object], why: str
) -> None:
    place = signed()
    await live(home, anchor, "work", place)
    forge_signed(place, **forged, tried=0.0)
    await live(home, anchor, "other", place)
    ok, said, _ = told(await verified(home, anchor, place))
    assert (ok, said) == (False, why)


async def test_a_forged_file_anchor_over_a_cut_record_does_not_stand_against_the_signed_one(
    home: Path, anchor: AnchorFile, signed: Callable[[], SignedAnchor]
) -> None:
    await live(home, anchor, "work")
    await live(home, anchor, "other", signed())
    cut(home, 13)
    Path(anchor.path).unlink()  # whoever cut it can write the state directory too
    async with kit.opened(home, anchor=anchor) as store:
        await store.append("home", [])
        await kit.a_life(store, "third")
    report = await verified(home, anchor, signed())
    assert report.anchor is not None
    assert report.anchor.ok
    assert told(report) == (False, "changed", 26)


async def test_a_removed_signed_anchor_is_missed(home: Path, anchor: AnchorFile, signed: Callable[[], SignedAnchor]) -> None:
    place = signed()
    await live(home, anchor, "work", place)
    Path(place.place.removesuffix(" (signed)")).unlink()
    assert told(await verified(home, anchor, signed()))[:2] == (False, "has no signature, and the keyring has a key of this home")


@pytest.mark.parametrize("locked", [True, False], ids=["locked", "no keyring"])
async def test_a_keyring_that_is_away_later_is_said_and_the_signed_mark_stays(
    home: Path, anchor: AnchorFile, keyring: DictKeyring, signed: Callable[[], SignedAnchor], locked: bool
) -> None:
    await live(home, anchor, "work", signed())
    keyring.locked = locked
    away = signed() if locked else SignedAnchor(anchor, lambda: None)
    forge_signed(away, tried=0.0)
    await live(home, anchor, "other", away)
    ok, why, _ = told(await verified(home, anchor, away))
    assert not ok
    assert why.startswith("it cannot be checked (the keyring of the system cannot be used")
    keyring.locked = False
    assert told(await verified(home, anchor, signed())) == (True, "", 13)


async def test_accepting_the_record_signs_it_anew(home: Path, anchor: AnchorFile, signed: Callable[[], SignedAnchor]) -> None:
    place = signed()
    await live(home, anchor, "work", place)
    forge_signed(place, signature="00" * 32)
    async with kit.opened(home) as store:
        store.keep_anchor(anchor, lambda: [place])
        await store.accept_anchor()
    assert told(await verified(home, anchor, signed())) == (True, "", 13)


async def test_each_mark_is_a_commit_behind_the_one_before(home: Path, anchor: AnchorFile, remote: Path, pushed: Callable[[], GitAnchorPlace]) -> None:
    for name in ("a", "b", "c"):
        await live(home, anchor, name, pushed())
    assert git(remote, "log", "--format=%s", "marks").splitlines() == ["Anchor: record 39", "Anchor: record 26", "Anchor: record 13"]
    assert str(home) not in git(remote, "log", "--format=%B", "marks")
    assert told(await verified(home, anchor, pushed())) == (True, "", 39)


async def test_a_record_and_a_state_directory_that_were_both_forged_are_found(
    home: Path, anchor: AnchorFile, remote: Path, pushed: Callable[[], GitAnchorPlace], tmp_path: Path
) -> None:
    await live(home, anchor, "a", pushed())
    await live(home, anchor, "b", pushed())
    cut(home, 13)
    Path(anchor.path).unlink()
    for path in Path(anchor.folder).glob("*.git-*.json"):
        path.unlink()
    await live(home, anchor, "third", pushed())  # nothing is pushed over the evidence
    assert git(remote, "log", "--format=%s", "marks").splitlines() == ["Anchor: record 26", "Anchor: record 13"]
    assert told(await verified(home, anchor, pushed())) == (False, "changed", 26)


async def test_the_marks_of_a_branch_count_where_the_state_directory_is_gone(home: Path, anchor: AnchorFile, pushed: Callable[[], GitAnchorPlace]) -> None:
    await live(home, anchor, "a", pushed())
    await live(home, anchor, "b", pushed())
    shutil.rmtree(anchor.folder)
    assert told(await verified(home, anchor, pushed())) == (True, "", 26)
    cut(home, 13)
    assert told(await verified(home, anchor, pushed())) == (False, "cut", 26)


async def test_what_is_anchored_on_a_branch_alone_is_said_to_be_anchored(home: Path, anchor: AnchorFile, pushed: Callable[[], GitAnchorPlace]) -> None:
    await live(home, anchor, "a", pushed())
    Path(anchor.path).unlink()
    report = await verified(home, anchor, pushed())
    (said, _), *_ = verified_lines(msgspec.to_builtins(report))
    assert said.endswith(", anchored")


async def test_a_name_in_the_database_makes_no_line_of_its_own(home: Path, anchor: AnchorFile, pushed: Callable[[], GitAnchorPlace]) -> None:
    await live(home, anchor, "a", pushed())
    forged = "x: y\nwhole: 99 records, 0 erased, head 00, anchored"
    with closing(sqlite3.connect(home / "neuralclaw.db", isolation_level=None)) as c:
        c.execute("INSERT INTO derived_tables VALUES (?, 'd', 'k', 0)", (forged,))
    report = await verified(home, anchor, pushed())
    lines = [text for text, _ in verified_lines(msgspec.to_builtins(report))]
    assert any("x: y" in line for line in lines)
    assert not any("\n" in line for line in lines)


async def test_a_merge_hides_no_marks(home: Path, anchor: AnchorFile, remote: Path, pushed: Callable[[], GitAnchorPlace]) -> None:
    await live(home, anchor, "a", pushed())
    await live(home, anchor, "b", pushed())
    shutil.rmtree(anchor.folder)
    cut(home, 13)
    tree, early = git(remote, "rev-parse", "marks^{tree}"), git(remote, "log", "-1", "--format=%B", "marks~1")
    root = git(remote, *WHO, "commit-tree", "-m", "new", tree)
    merge = git(remote, *WHO, "commit-tree", "-p", root, "-p", "marks", "-m", early, tree)
    git(remote, "update-ref", "refs/heads/marks", merge)
    assert told(await verified(home, anchor, pushed())) == (False, "cut", 26)


async def test_marks_of_another_home_are_no_marks_of_this_one_and_that_is_said(
    home: Path, anchor: AnchorFile, remote: Path, pushed: Callable[[], GitAnchorPlace]
) -> None:
    assert (await verified(home, anchor, pushed())).anchors == ()
    await live(home, anchor, "a", pushed())
    moved = AnchorFile(str(home.with_name("moved")), anchor.folder)
    home.rename(moved.home)
    place = GitAnchorPlace(moved, GitAnchor(remote=str(remote), branch="marks"), os.environ)
    report = await verified(Path(moved.home), moved, place)
    assert told(report) == (True, "", 0)
    assert "none is of this one" in report.anchors[0].note


async def test_a_history_that_was_forced_is_found(home: Path, anchor: AnchorFile, remote: Path, pushed: Callable[[], GitAnchorPlace]) -> None:
    await live(home, anchor, "a", pushed())
    await live(home, anchor, "b", pushed())
    git(remote, "update-ref", "refs/heads/marks", "marks~1")
    assert told(await verified(home, anchor, pushed())) == (False, "forced", 26)
    await live(home, anchor, "c", pushed())
    assert git(remote, "log", "--format=%s", "marks") == "Anchor: record 13"


async def test_git_follows_no_settings_of_the_directory_that_the_program_runs_in(
    home: Path, anchor: AnchorFile, remote: Path, pushed: Callable[[], GitAnchorPlace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = tmp_path / "evil"
    subprocess.run(["git", "init", "--quiet", evil], check=True, timeout=5)
    subprocess.run(["git", "-C", evil, "config", f"url.{tmp_path / 'elsewhere'}.insteadOf", str(remote)], check=True, timeout=5)
    monkeypatch.chdir(evil)
    await live(home, anchor, "a", pushed())
    assert told(await verified(home, anchor, pushed())) == (True, "", 13)
    assert git(remote, "log", "--format=%s", "marks") == "Anchor: record 13"


async def test_a_branch_that_is_gone_is_found(home: Path, anchor: AnchorFile, remote: Path, pushed: Callable[[], GitAnchorPlace]) -> None:
    await live(home, anchor, "a", pushed())
    git(remote, "update-ref", "-d", "refs/heads/marks")
    assert told(await verified(home, anchor, pushed())) == (False, "gone", 13)


async def test_a_remote_that_is_away_is_a_note_and_the_record_is_compared_with_what_was_pushed(
    home: Path, anchor: AnchorFile, remote: Path, pushed: Callable[[], GitAnchorPlace]
) -> None:
    await live(home, anchor, "a", pushed())
    remote.rename(remote.with_name("away"))
    report = await verified(home, anchor, pushed())
    assert told(report) == (True, "", 13)
    assert report.anchors[0].note.startswith("it cannot be reached (")
    await live(home, anchor, "b", pushed())
    assert pushed().state().error
    cut(home, 5)
    assert told(await verified(home, anchor, pushed()))[1] == "cut"


@pytest.mark.parametrize("pushed_before", [False, True])
async def test_a_remote_that_can_be_read_and_takes_no_push_is_said_also_where_nothing_was_ever_pushed(
    home: Path, anchor: AnchorFile, remote: Path, pushed: Callable[[], GitAnchorPlace], pushed_before: bool
) -> None:
    if pushed_before:
        await live(home, anchor, "a", pushed())
    (hook := remote / "hooks" / "pre-receive").write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    await live(home, anchor, "b", pushed())
    report = await verified(home, anchor, pushed())
    assert told(report) == (True, "", 13 if pushed_before else 0)
    assert report.anchors[0].note.startswith("the last mark could not be pushed (! [remote rejected]")


async def test_settings_of_the_owner_s_git_do_not_keep_a_mark_from_being_pushed_and_read(home: Path, anchor: AnchorFile, remote: Path, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[safe]\n\tbareRepository = explicit\n[i18n]\n\tlogOutputEncoding = UTF-16\n")
    place = GitAnchorPlace(
        anchor, GitAnchor(remote=str(remote), branch="marks", every_minutes=0), {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_CONFIG_HOME": ""}
    )
    (tmp_path / "config").rename(tmp_path / ".gitconfig")
    await live(home, anchor, "a", place)
    assert told(await verified(home, anchor, place)) == (True, "", 13)


async def test_accepting_is_a_commit_that_says_so_and_earlier_marks_hold_no_more(
    home: Path, anchor: AnchorFile, remote: Path, pushed: Callable[[], GitAnchorPlace]
) -> None:
    await live(home, anchor, "a")
    await live(home, anchor, "b", pushed())
    cut(home, 13)
    async with kit.opened(home) as store:
        store.keep_anchor(anchor, lambda: [pushed()])
        await store.accept_anchor()
    assert git(remote, "log", "--format=%s", "marks").splitlines() == ["Accepted: record 13", "Anchor: record 26"]
    assert told(await verified(home, anchor, pushed())) == (True, "", 13)


async def test_a_remote_that_takes_nothing_is_told_when_the_record_is_accepted(home: Path, anchor: AnchorFile, tmp_path: Path) -> None:
    await live(home, anchor, "a")
    place = GitAnchorPlace(anchor, GitAnchor(remote=str(tmp_path / "nowhere"), every_minutes=0), os.environ)
    async with kit.opened(home) as store:
        store.keep_anchor(anchor, lambda: [place])
        with pytest.raises(StoreError, match="the anchor cannot be pushed to git"):
            await store.accept_anchor()


@pytest.mark.parametrize(
    ("remote", "why"),
    [
        ("", "the address"),
        ("--upload-pack=x", "the address"),
        ("https://me:secret@example.com/x.git", "without a password"),
        ("https://example.com/x.git?token=abc", "without a query"),
        ("ssh://example.com/x.git#abc", "without a query"),
        ("ext::sh -c x", "remote helpers"),
        ("some/path", "absolute"),
    ],
)
def test_an_address_that_git_must_not_be_given_is_refused(remote: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        GitAnchor(remote=remote)


@pytest.mark.parametrize("branch", ["-x", "a..b", "a b", "x.lock", "/x", ".x"])
def test_a_name_that_is_no_branch_is_refused(branch: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a branch"):
        GitAnchor(remote="/r.git", branch=branch)


async def test_the_settings_name_the_repository_and_the_program_pushes_when_it_ends(tmp_path: Path, remote: Path) -> None:
    home, state = tmp_path / "h", tmp_path / "state"
    home.mkdir()
    (home / "config.yaml").write_text(f"audit: {{anchor: {{git: {{remote: {remote}}}}}}}\n")
    env = {**os.environ, "NEURALCLAW_HOME": str(home), "XDG_STATE_HOME": str(state), "HOME": str(tmp_path)}
    done = await program(env, "run", "calculate 6*7")
    assert (done.returncode, done.stdout) == (0, "42\n")
    (branch,) = git(remote, "for-each-ref", "--format=%(refname:short)").splitlines()
    assert branch.startswith("neuralclaw-anchor-")
    (home / "config.yaml").unlink()  # what the home says takes no place away
    report = msgspec.json.decode((await program(env, "audit", "verify", "--json")).stdout)
    assert [(one["place"], one["ok"]) for one in report["anchors"]] == [(f"git {remote} {branch}", True)]
    git(remote, "update-ref", "-d", f"refs/heads/{branch}")
    found = await program(env, "audit", "verify")
    assert found.returncode == 1
    assert f"NOT AS ANCHORED in git {remote} {branch}: the branch is gone" in " ".join(found.stdout.split())


async def test_a_branch_that_the_settings_name_is_compared_where_the_state_directory_is_gone(tmp_path: Path, remote: Path) -> None:
    home, state = tmp_path / "h", tmp_path / "state"
    home.mkdir()
    written = f"audit: {{anchor: {{git: {{remote: {remote}}}}}}}\n"
    (home / "config.yaml").write_text(written)
    env = {**os.environ, "NEURALCLAW_HOME": str(home), "XDG_STATE_HOME": str(state), "HOME": str(tmp_path)}
    await program(env, "run", "calculate 6*7")
    shutil.rmtree(state)
    (home / "neuralclaw.db").unlink()
    await program({**env, "NEURALCLAW_HOME": str(tmp_path / "other")}, "run", "calculate 1+1")
    shutil.copyfile(tmp_path / "other" / "neuralclaw.db", home / "neuralclaw.db")
    found = await program(env, "audit", "verify")
    assert found.returncode == 1
    assert f"NOT AS ANCHORED in git {remote} " in " ".join(found.stdout.split())
    (home / "config.yaml").write_text(f"{written}wrong: [\n")
    told = await program(env, "audit", "verify")
    assert "the settings: they cannot be read, so a repository that they may name was not compared" in " ".join(told.stdout.split())


async def test_what_the_home_says_moves_no_anchor(tmp_path: Path) -> None:
    home = tmp_path / "h"
    home.mkdir()
    elsewhere = tmp_path / "elsewhere"
    env = {name: value for name, value in os.environ.items() if name != "XDG_STATE_HOME"} | {"NEURALCLAW_HOME": str(home), "HOME": str(tmp_path)}
    refused = await program(env, "secrets", "set", "XDG_STATE_HOME", said=str(elsewhere))
    assert (refused.returncode, "cannot be in it" in refused.stderr) == (2, True)
    (home / ".env").write_text(f"XDG_STATE_HOME={elsewhere}\nHOME={elsewhere}\n")
    (home / ".env").chmod(0o600)
    done = await program(env, "run", "calculate 6*7")
    assert done.stdout == "42\n"
    assert "XDG_STATE_HOME" in done.stderr
    assert not elsewhere.exists()
    assert len(list((tmp_path / ".local" / "state" / "neuralclaw" / "anchors").iterdir())) == 1


@pytest.mark.parametrize("forged", [b"{", b'{"remote": "ext::sh -c x", "branch": "b"}', b"{}"], ids=["damaged", "no address", "emptied"])
async def test_a_remembered_branch_that_cannot_be_read_is_not_ok(home: Path, anchor: AnchorFile, pushed: Callable[[], GitAnchorPlace], forged: bytes) -> None:
    await live(home, anchor, "a", pushed())
    (kept,) = Path(anchor.folder).glob("*.git-*.json")
    kept.write_bytes(forged)
    report = await verified(home, anchor, *known_places(anchor, None, {}))
    assert [(one.place, one.ok) for one in report.anchors] == [(str(kept), False)]
    async with kit.opened(home) as store:
        store.keep_anchor(anchor, lambda: known_places(anchor, None, {}))
        await store.accept_anchor()
    assert (await verified(home, anchor, *known_places(anchor, None, {}))).ok


async def test_a_wrong_setting_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("audit:\n  anchor:\n    git:\n      remote: https://me:pw@host/x.git\n")
    done = await program({**os.environ, "NEURALCLAW_HOME": str(tmp_path)}, "run", "calculate 6*7")
    assert done.returncode == 78
    assert "config.yaml:" in done.stderr
    assert "without a password" in done.stderr
    assert "me:pw" not in done.stderr


async def program(env: dict[str, str], *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "neuralclaw", *words]
    run = functools.partial(subprocess.run, command, env=env, capture_output=True, text=True, timeout=20, check=False, input=said)
    return await anyio.to_thread.run_sync(run)


BACKEND = """
import json, os, pathlib
from keyring.backend import KeyringBackend

class FileBackend(KeyringBackend):
    priority = 5
    path = pathlib.Path(os.environ["KEYS"])

    def _all(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def get_password(self, service, username):
        if "GONE" in os.environ:
            raise RuntimeError("dbus gone")
        return self._all().get(f"{service}/{username}")

    def set_password(self, service, username, password):
        self.path.write_text(json.dumps(self._all() | {f"{service}/{username}": password}))
"""


async def test_the_program_signs_with_the_keyring_that_the_person_names(tmp_path: Path) -> None:
    home = tmp_path / "h"
    home.mkdir()
    (tmp_path / "file_backend.py").write_text(BACKEND)
    bare = {**os.environ, "NEURALCLAW_HOME": str(home), "XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    env = bare | {"PYTHON_KEYRING_BACKEND": "file_backend.FileBackend", "PYTHONPATH": str(tmp_path), "KEYS": str(tmp_path / "keys")}
    assert (await program(env, "run", "calculate 6*7")).returncode == 0
    assert [name.split("/")[0] for name in msgspec.json.decode((tmp_path / "keys").read_bytes())] == ["neuralclaw anchor"]
    report = msgspec.json.decode((await program(env, "audit", "verify", "--json")).stdout)
    assert [(one["place"].endswith(" (signed)"), one["ok"]) for one in report["anchors"]] == [(True, True)]
    away = await program(bare, "audit", "verify")
    assert away.returncode == 1
    assert "it cannot be checked" in away.stdout


async def test_a_keyring_that_fails_in_its_own_way_stops_no_command_that_reads(tmp_path: Path) -> None:
    home = tmp_path / "h"
    home.mkdir()
    (tmp_path / "file_backend.py").write_text(BACKEND)
    bare = {**os.environ, "NEURALCLAW_HOME": str(home), "XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    env = bare | {"PYTHON_KEYRING_BACKEND": "file_backend.FileBackend", "PYTHONPATH": str(tmp_path), "KEYS": str(tmp_path / "keys")}
    assert (await program(env, "run", "calculate 6*7")).returncode == 0
    verified = await program(env | {"GONE": "1"}, "audit", "verify")
    assert "it cannot be checked (the keyring of the system cannot be used: RuntimeError" in verified.stdout, verified
    assert (await program(env | {"GONE": "1"}, "sessions", "list")).returncode == 0
