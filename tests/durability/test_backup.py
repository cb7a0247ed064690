"""`backup` and `restore`: a copy beside processes that write, what damages one, what interrupts a restore, and who may not be there meanwhile."""

import asyncio
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from neuralclaw import Agent
from neuralclaw.app.backup.backup_manifest import SavedFile, encoded, read_manifest
from neuralclaw.app.settings_verbs import settings_desk
from neuralclaw.config import SettingsRequest
from neuralclaw.errors import StoreError, UsageError
from neuralclaw.testing import FunctionProvider

from ..cli.program import Claw
from ..store import kit

pytestmark = [pytest.mark.anyio, pytest.mark.full]


async def do(home: Path, verb: str, **arguments: Any) -> Any:
    async with settings_desk(SettingsRequest(str(home), os.environ, None)) as desk:
        return await desk.do(verb, **arguments)


async def fine(request: Any) -> str:
    return "fine"


async def talk(home: Path, *messages: str) -> None:
    """A session with an answer to each message."""
    async with Agent.open(home=home, workspace=home.parent, provider=FunctionProvider(fine), builtin=()) as agent:
        for message in messages:
            await agent.ask(message, session="s")


async def said(home: Path) -> list[str]:
    """What was said in the session."""
    async with Agent.open(home=home, workspace=home.parent, provider=FunctionProvider(fine), builtin=()) as agent:
        shown = await agent.do("sessions.show", session="s")
    return [event["text"] for event in shown["events"] if event["type"] == "turn.started"]


def files(folder: Path) -> dict[str, str]:
    """What a directory holds: links, and digests of files. Locks and the database's log come and go."""
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file() and not name.startswith(("locks/", "backups/", "neuralclaw.db-")):
            found[name] = sha256(path.read_bytes()).hexdigest()
    return found


@pytest.fixture
async def saved(home: Path) -> Path:
    """The backup of a home with two turns and some files; a turn and a file came later."""
    await talk(home, "one", "two")
    (home / "config.yaml").write_text("agent: {name: First}\n")
    (home / "souls").mkdir()
    (home / "souls" / "ä b.md").write_bytes(b"soul\n")
    (home / "souls" / "link").symlink_to("ä b.md")
    (home / "config.yaml").chmod(0o640)
    report = await do(home, "backup")
    await talk(home, "three")
    (home / "config.yaml").write_text("agent: {name: Second}\n")
    (home / "souls" / "later.md").write_bytes(b"later\n")
    return Path(report["backup"])


@pytest.mark.invariant("backup.verified")
async def test_a_restored_home_is_as_it_was_and_the_former_one_is_kept(home: Path, saved: Path) -> None:
    report = await do(home, "restore", backup=str(saved))
    assert await said(home) == ["one", "two"]
    assert (home / "config.yaml").read_text() == "agent: {name: First}\n"
    assert (home / "config.yaml").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in (home / "souls").iterdir()) == ["link", "ä b.md"]
    assert (home / "souls" / "link").readlink() == Path("ä b.md")
    replaced = Path(report["replaced"])
    assert (replaced / "souls" / "later.md").read_bytes() == b"later\n"
    assert await said(replaced) == ["one", "two", "three"]
    assert not (home / "restoring").exists()
    assert not (home / "locks" / "restore").exists()
    async with Agent.open(home=home, workspace=home.parent, provider=FunctionProvider(fine), builtin=()) as agent:
        (restored,) = (await agent.do("sessions.show", session="home"))["events"]
    assert (restored["type"], restored["backup"], restored["replaced"]) == ("backup.restored", str(saved), report["replaced"])
    assert report["records"] == restored["records"] == read_manifest(str(saved)).record.records


async def test_a_backup_is_restored_into_a_home_that_is_not_there(home: Path, saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    report = await do(other, "restore", backup=str(saved))
    assert (report["replaced"], await said(other)) == ("", ["one", "two"])


async def test_what_was_acknowledged_is_in_a_backup_made_while_processes_write(home: Path) -> None:
    """Two tasks and this process's backups at once; each copy is whole, and holds every turn that had ended when it began."""
    counted = 0

    async def write(agent: Agent, name: str) -> None:
        nonlocal counted
        for number in range(15):
            await agent.ask(f"{name} {number}", session=name)
            counted += 1

    before = []
    async with Agent.open(home=home, workspace=home.parent, provider=FunctionProvider(fine), builtin=()) as agent:
        await agent.ask("first", session="a")
        writers = asyncio.gather(write(agent, "a"), write(agent, "b"))
        while not writers.done():
            ended = counted
            before.append((ended, (await agent.do("backup"))["backup"]))
        await writers
    assert len(before) > 1
    for ended, backup in before:
        async with kit.opened(Path(backup) / "home") as store:
            assert (await store.verify()).ok
            assert sum(row.last_turn for row in await store.sessions()) > ended


@pytest.mark.invariant("backup.verified")
async def test_no_changed_byte_of_a_backup_is_restored(home: Path, saved: Path) -> None:
    there = files(home)
    for path in sorted(saved.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        for place in {0, len(data) // 2, len(data) - 3}:
            path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
            with pytest.raises(StoreError, match="nothing was changed"):
                await do(home, "restore", backup=str(saved))
        path.unlink()
        with pytest.raises(StoreError, match="nothing was changed"):
            await do(home, "restore", backup=str(saved))
        path.write_bytes(data)
    assert files(home) == there
    assert not (home / "restoring").exists()
    path = saved / "manifest.json"
    text = path.read_bytes()
    for place in range(len(text)):
        path.write_bytes(text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :])
        with pytest.raises(StoreError, match="nothing was changed"):
            read_manifest(str(saved))


async def test_a_manifest_cannot_name_files_outside_the_home(home: Path, saved: Path, tmp_path: Path) -> None:
    manifest = read_manifest(str(saved))
    for path in ("../outside", "/etc/outside", "souls/../../x", "", "souls//x"):
        changed = msgspec.structs.replace(manifest, files=(SavedFile(path=path), *manifest.files))
        (saved / "manifest.json").write_bytes(encoded(changed))
        with pytest.raises(StoreError, match="not the manifest of a backup"):
            await do(home, "restore", backup=str(saved))
    assert not (tmp_path / "outside").exists()


@pytest.mark.invariant("backup.restore-alone")
async def test_a_home_that_a_process_has_open_is_not_restored(home: Path, saved: Path) -> None:
    there = files(home)
    async with kit.opened(home), kit.opened(home):
        with pytest.raises(StoreError, match=rf"open in another program \(pid {os.getpid()}\); nothing was changed"):
            await do(home, "restore", backup=str(saved))
    assert files(home) == there
    assert (await do(home, "restore", backup=str(saved)))["records"]


@pytest.mark.invariant("backup.restore-alone")
async def test_nobody_opens_a_home_while_it_is_restored_or_half_restored(home: Path, saved: Path) -> None:
    """Killed before each change of a name: afterwards the home is as it was, or `restore` finishes it; nobody opens it half restored."""
    await talk(home, "four")
    before, wanted, refused = await said(home), ["one", "two"], 0
    kept = home.parent / "kept"
    shutil.copytree(home, kept, symlinks=True)
    for step in range(1, 100):
        shutil.rmtree(home)
        shutil.copytree(kept, home, symlinks=True)
        words = [sys.executable, "-m", "tests.durability.killed_restore", str(home), str(saved), str(step)]
        done = await asyncio.to_thread(subprocess.run, words, capture_output=True, timeout=60, check=False)
        if done.stdout == b"whole\n":
            break
        assert done.returncode == -9, done.stderr
        half = (home / "restoring" / "state.json").exists()
        for readonly in (False, True):
            if half and (not readonly or not (home / "neuralclaw.db").exists()):
                refused += 1
                with pytest.raises(StoreError, match=r"interrupted; nothing is lost"):
                    async with await kit.SqliteStore.open(str(home), clock=kit.RealClock(), readonly=readonly) as store:
                        await store.sessions()
        if half:
            report = await do(home, "restore")
            assert report["finished"]
            assert await said(Path(report["replaced"])) == before
        assert await said(home) == (wanted if half or not (home / "restoring").exists() else before)
        assert (await do(home, "restore", backup=str(saved)))["finished"] is False
        assert await said(home) == wanted
        assert not (home / "restoring").exists()
    else:
        raise AssertionError("the restore changes more names than were tried")
    assert refused > 6


async def test_one_restore_at_a_time(home: Path, saved: Path) -> None:
    outcomes = await asyncio.gather(*(do(home, "restore", backup=str(saved)) for _ in range(3)), return_exceptions=True)
    assert any(isinstance(one, dict) for one in outcomes)
    for one in outcomes:
        assert isinstance(one, dict) or "is being restored by another process" in str(one)
    assert await said(home) == ["one", "two"]


async def test_a_backup_that_cannot_be_written_leaves_nothing(home: Path, tmp_path: Path) -> None:
    await talk(home, "one")
    limit = 64 * 1024
    words = [sys.executable, "-m", "neuralclaw", "--home", str(home), "backup", str(tmp_path / "full")]
    done = await asyncio.to_thread(
        subprocess.run, words, capture_output=True, text=True, check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    )
    assert done.returncode == 1
    assert "the home is as it was" in done.stderr
    assert list((tmp_path / "full").iterdir()) == []
    assert await said(home) == ["one"]


async def test_a_backup_that_was_killed_is_removed_by_the_next(home: Path, tmp_path: Path) -> None:
    await talk(home, "one")
    place = tmp_path / "copies"
    left = place / ".20200101T000000Z-1.unfinished"
    left.mkdir(parents=True)
    (left / "half").write_bytes(b"x")
    (place / "mine.unfinished").mkdir()
    report = await do(home, "backup", place=str(place))
    assert sorted(path.name for path in place.iterdir()) == sorted([Path(report["backup"]).name, "mine.unfinished"])


async def test_two_backups_at_once_have_two_names(home: Path, tmp_path: Path) -> None:
    await talk(home, "one")
    made = await asyncio.gather(*(do(home, "backup", place=str(tmp_path / "copies")) for _ in range(3)))
    assert len({one["backup"] for one in made}) == 3
    for one in made:
        assert (await do(home, "restore", backup=one["backup"]))["records"] == one["records"]


@pytest.mark.invariant("backup.verified")
async def test_a_damaged_record_is_copied_and_said_and_not_restored(home: Path) -> None:
    await talk(home, "one", "two")
    kit.damage(home, 3)
    claw = Claw(home, home.parent / "work")
    ran = await claw("backup", "--json")
    assert (ran.code, ran.json["ok"]) == (1, False)
    assert ran.json["why"].startswith("record 3")
    again = await claw("restore", ran.json["backup"])
    assert again.code == 1
    assert "is not whole" in again.err
    assert "nothing was changed" in again.err


async def test_a_home_with_a_broken_configuration_and_a_broken_database_is_restored(home: Path, saved: Path) -> None:
    (home / "config.yaml").write_text("agent: [")
    (home / "neuralclaw.db").write_bytes(b"no database")
    claw = Claw(home, home.parent / "work")
    ran = await claw("restore", str(saved), "--json")
    assert ran.code == 0, ran
    assert await said(home) == ["one", "two"]
    assert (Path(ran.json["replaced"]) / "neuralclaw.db").read_bytes() == b"no database"


async def test_what_is_no_backup_is_refused_and_the_newest_is_named(home: Path, saved: Path) -> None:
    with pytest.raises(UsageError, match="requires BACKUP") as wrong:
        await do(home, "restore")
    assert str(saved) in (wrong.value.hint or "")
    with pytest.raises(StoreError, match="is no backup") as wrong_place:
        await do(home, "restore", backup=str(saved.parent))
    assert str(saved) in (wrong_place.value.hint or "")
    with pytest.raises(UsageError, match="is in the home itself"):
        await do(home, "backup", place=str(home / "souls"))
    with pytest.raises(StoreError, match="there is no record"):
        await do(home.parent / "nothing", "backup")
    assert not (home.parent / "nothing").exists()


async def test_a_backup_says_what_it_does_not_hold(home: Path, tmp_path: Path) -> None:
    await talk(home, "one")
    os.mkfifo(home / "pipe")
    (home / "models").mkdir()
    report = await do(home, "backup", place=str(tmp_path / "copies"))
    told = {Path(one["path"]).name: one["why"] for one in report["not_included"]}
    assert told["pipe"] == "neither a file nor a directory"
    assert "fetched again" in told["models"]
    assert not (Path(report["backup"]) / "home" / "pipe").exists()


async def test_a_backup_is_only_for_its_owner_and_is_a_home(home: Path, saved: Path) -> None:
    assert saved.stat().st_mode & 0o077 == 0
    assert (saved / "home" / "neuralclaw.db").stat().st_mode & 0o077 == 0
    ran = await Claw(saved / "home", home.parent / "work")("sessions", "show", "s", "--json")
    assert ran.code == 0, ran
    with sqlite3.connect(saved / "home" / "neuralclaw.db") as copy:
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_the_commands_tell_what_they_did(home: Path) -> None:
    claw = Claw(home, home.parent / "work")
    await claw("run", "calculate 1+1")
    made = await claw("backup")
    place = made.out.splitlines()[0].removeprefix("backup: ")
    assert (made.code, Path(place).parent) == (0, home / "backups")
    assert "the record in it is whole" in made.out
    await claw("run", "calculate 2+2")
    done = await claw("restore", place)
    assert done.code == 0, done
    assert "what was there before:" in done.out
    assert (await claw("audit", "verify")).code == 1
    assert (await claw("audit", "anchor", "--accept")).code == 0
    assert (await claw("audit", "verify")).code == 0
    assert (await claw("run", "calculate 3+3")).out == "6\n"
