"""What a model may leave or say that is hard to read, and places that cannot be kept: one task fails, and no run."""

import tempfile
from pathlib import Path

import pytest

from neuralclaw.app.trials.folder_snapshot import remove, snapshot
from neuralclaw.app.trials.task import Case, TaskOutcome
from neuralclaw.app.trials.trial_runner import judged
from neuralclaw.app.trials.workspaces import directory_of
from neuralclaw.errors import LLMAuthError, UsageError

from ..providers.loopback import Response, loopback
from .scripted import GOOD, Scripted, Step, case_of
from .test_trials import SEED, tried, trying, why, write

pytestmark = pytest.mark.anyio

DEEP = "import os\nfor n in range(80):\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)\n"


def shell(command: str) -> Step:
    return [("terminal", {"command": command})]


@pytest.mark.parametrize("task", ["calculation", "count", "absent"])
async def test_a_number_without_end_is_a_wrong_answer(tmp_path: Path, task: str) -> None:
    assert await why(tmp_path, task, shell("ls"), "9" * 5000)


@pytest.mark.parametrize(
    ("path", "content"),
    [("shop.json", "[" * 100_000), ("prices.csv", "x" * 200_000), ("prices.csv", "item\rnote"), ("prices.csv", "a\0b")],
)
async def test_files_that_no_reader_takes_are_not_what_was_asked_for(tmp_path: Path, path: str, content: str) -> None:
    good = list(GOOD["data"](case_of("data", SEED)))
    assert await why(tmp_path, "data", *good[:-1], write(path, content), "Done.") == f"{path} is not what was asked for"


@pytest.mark.full
async def test_a_path_too_long_to_read_fails_its_task_and_is_removed(tmp_path: Path) -> None:
    good = list(GOOD["edit"](case_of("edit", SEED)))
    steps = [*good[:-1], write("deep.py", DEEP), shell("python3 deep.py"), shell("rm deep.py"), "Done."]
    place = tmp_path / "tmp"
    place.mkdir()
    tempfile.tempdir = str(place)
    try:
        value = await tried(tmp_path, {**GOOD, "edit": lambda case: steps}, "edit", "create")
    finally:
        tempfile.tempdir = None
    assert [(result["task"], result["passed"]) for result in value["results"]] == [("edit", False), ("create", True)]
    assert value["results"][0]["why"].endswith("was changed without need")
    assert [path for path in place.iterdir() if path.name.startswith("neuralclaw-try")] == []


async def test_a_check_that_raises_is_why_its_task_failed(tmp_path: Path) -> None:
    async def check(outcome: TaskOutcome) -> str:
        (outcome.folder / "gone" / "probe.py").write_text("")
        return ""

    async with loopback() as server, trying(tmp_path, server) as agent:
        found = await judged(Case({}, "Do it.", check), tmp_path, snapshot(tmp_path / "home"), [], agent)
    assert found.startswith("what it left cannot be checked: [Errno 2] No such file")


def test_a_folder_is_read_and_removed_whatever_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "a" / "__pycache__").mkdir(parents=True)
    (folder / "a" / "__pycache__" / "x.pyc").write_bytes(b"x")
    (folder / "link").symlink_to(tmp_path)
    (folder / "plain").write_text("plain")
    (folder / "plain").chmod(0o400)
    deep = folder
    for _ in range(1500):
        deep = deep / "d"
        deep.mkdir()
    found = snapshot(folder)
    assert dict(found.files) == {"link": f"-> {tmp_path}".encode(), "plain": b"plain"}
    assert (dict(found.caches), found.modes["plain"]) == ({"a/__pycache__/x.pyc": b"x"}, 0o400)
    (folder / "a").chmod(0o500)
    remove(folder)
    assert not folder.exists()
    assert tmp_path.exists()


async def test_workspaces_are_kept_where_the_person_says_and_none_is_overwritten(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    await tried(tmp_path, GOOD, "create", keep=str(kept))
    assert (kept / "mine_good" / "create" / "report" / "stock.md").read_text().startswith("# Stock\n")
    with pytest.raises(UsageError, match="is there already"):
        await tried(tmp_path, GOOD, "create", keep=str(kept))


@pytest.mark.parametrize("place", ["held", "/proc/x", "file/below", "nul\0"])
async def test_places_that_cannot_be_kept_are_refused_before_any_call(tmp_path: Path, place: str) -> None:
    (tmp_path / "held" / "mine_good" / "create").mkdir(parents=True)
    (tmp_path / "file").write_text("")
    async with loopback() as server, trying(tmp_path, server) as agent:
        server.answer = Scripted(SEED, GOOD).answer
        with pytest.raises(UsageError):
            await agent.do("models.try", models=["mine:good"], tasks=["find", "create"], seed=SEED, keep=str(tmp_path / place))
        assert server.seen == []
    assert [path.name for path in (tmp_path / "held" / "mine_good").iterdir()] == ["create"]


async def test_places_that_were_not_used_are_not_left(tmp_path: Path) -> None:
    async with loopback() as server, trying(tmp_path, server) as agent:
        server.says(Response([b"{}"], status=401, kind="application/json"))
        with pytest.raises(LLMAuthError, match="could not be tried"):
            await agent.do("models.try", models=["mine:good"], tasks=["find", "create"], seed=SEED, keep=str(tmp_path / "kept"))
    assert [path.name for path in (tmp_path / "kept" / "mine_good").iterdir()] == ["find"]


def test_no_two_models_have_one_directory() -> None:
    models = ["mine:a/b", "mine:a_b", "mine:a:b", "mine_a:b", "mine:a b", "mine:ä", "mine:" + "a" * 300, "mine:" + "a" * 301, "mine:a.b"]
    names = {directory_of(model) for model in models}
    assert len(names) == len(models)
    assert all(len(name) < 200 and "/" not in name and name.isascii() for name in names)
    assert directory_of("openai:gpt-4o") == "openai_gpt-4o"


async def test_a_repository_around_a_workspace_tells_the_model_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("The person's own words: speak of zebras.\n")
    async with loopback() as server, trying(tmp_path, server) as agent:
        server.answer = Scripted(SEED, GOOD).answer
        await agent.do("models.try", models=["mine:good"], tasks=["read"], seed=SEED, keep=str(tmp_path / "kept"))
        assert not any("zebras" in str(seen.json) for seen in server.seen)
