"""Labels stay with what came from outside through copies, archives, links, undo and a killed process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from neuralclaw import Reply

from .kit import agent, call, calls
from .test_file_labels import PAGE, labels, read_again, saved

pytestmark = pytest.mark.anyio


async def changed(home: Path, *commands: str) -> None:
    """Another session runs these commands, in another process."""
    async with agent(home, *(calls(call("terminal", command=one)) for one in commands), Reply("done")) as opened:
        assert (await opened.ask("tidy up", session="tidying", trust="high", approvals="auto")).status == "done"


@pytest.mark.invariant("flow.labels-join")
@pytest.mark.parametrize(
    ("commands", "path"),
    [
        (("cp page.txt copy.txt",), "copy.txt"),
        (("mkdir -p d && cp page.txt d/", "mv d e"), "e/page.txt"),
        (("mkdir -p d/deep && cp -r page.txt d/deep && cp -a d f",), "f/deep/page.txt"),
        (("tar cf a.tar page.txt", "mkdir out", "tar xf a.tar -C out"), "out/page.txt"),
        (("tar czf - page.txt | tar xzf - --transform s/page/unpacked/",), "unpacked.txt"),
        (("zip -q a.zip page.txt", "unzip -q a.zip -d out"), "out/page.txt"),
        (("gzip -k page.txt", "gunzip -c page.txt.gz > again.txt"), "again.txt"),
        (("ln page.txt hard.txt",), "hard.txt"),
        (("ln -s page.txt soft.txt",), "soft.txt"),
        (("mkdir d && cp page.txt d/ && ln -s d way",), "way/page.txt"),
        (("sed s/notes/words/ page.txt > edited.txt",), "edited.txt"),
        (("tee t.txt < page.txt",), "t.txt"),
        (("head -c 100 page.txt > dir.txt; cat dir.txt dir.txt > twice.txt",), "twice.txt"),
        (("python3 -c \"import shutil; shutil.copy('page.txt', 'p.txt')\"",), "p.txt"),
        (("for i in $(seq 30); do cp page.txt many$i.txt; done",), "many30.txt"),
        (("cp page.txt $'odd\\nname.txt'",), "odd\nname.txt"),
        (("base64 page.txt > b64", "base64 -d b64 > back.txt"), "back.txt"),
    ],
)
async def test_a_copy_keeps_the_label_whatever_made_it(tmp_path: Path, commands: tuple[str, ...], path: str) -> None:
    home = tmp_path / "home"
    await saved(home, call("write_file", path="page.txt", content="the notes"))
    await changed(home, *commands)
    assert (tmp_path / "work" / path).read_text().strip(), "the command made it"
    assert PAGE in await read_again(home, call("read_file", path=path))


@pytest.mark.invariant("flow.labels-join")
async def test_a_file_that_an_undo_brings_back_has_its_label_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    await saved(home, call("write_file", path="page.txt", content="the notes"))
    async with agent(home, calls(call("delete_file", path="page.txt")), Reply("done")) as opened:
        await opened.ask("delete it", session="deleting", trust="high", approvals="auto")
        assert not (tmp_path / "work" / "page.txt").exists()
        await opened.do("undo", session="deleting")
    assert (tmp_path / "work" / "page.txt").read_text() == "the notes"
    assert PAGE in await read_again(home, call("read_file", path="page.txt"))


@pytest.mark.invariant("flow.labels-join")
async def test_undo_and_redo_of_what_was_written_keep_the_label(tmp_path: Path) -> None:
    home = tmp_path / "home"
    await saved(home, call("write_file", path="page.txt", content="the notes"))
    async with agent(home, Reply("done")) as opened:
        await opened.do("undo", session="saving")
        await opened.do("redo", session="saving")
    assert PAGE in await read_again(home, call("read_file", path="page.txt"))


@pytest.mark.invariant("flow.labels-join")
async def test_the_rest_of_a_shortened_result_has_its_label(tmp_path: Path) -> None:
    home = tmp_path / "home"
    await saved(home, call("write_file", path="page.txt", content="the notes\n" * 9_000))
    reading = calls(call("read_file", "r1", path="page.txt"), call("read_result", call_id="r1", offset=40_000))
    async with agent(home, reading, calls(call("write_file", path="rest.txt", content="rest")), Reply("done")) as opened:
        await opened.ask("look", session="reading", trust="high", approvals="auto")
    (tmp_path / "work" / "page.txt").unlink()
    assert PAGE in await read_again(home, call("read_file", path="rest.txt"))


CHILD = """
import anyio, os, signal, sys
from neuralclaw import Agent, Reply
from neuralclaw.testing import FunctionProvider
home, work = sys.argv[1:]

async def think(request):
    return Reply("", tool_calls=[{"name": "terminal", "arguments": {"command": "cp page.txt copy.txt; echo copied; sleep 60"}}])

async def main():
    async with Agent.open(home=home, workspace=work, provider=FunctionProvider(think)) as a:
        async with a.turn("go", session="killed", trust="high", approvals="auto") as events:
            async for event in events:
                if event.body.type == "tool.output":
                    os.kill(os.getpid(), signal.SIGKILL)

anyio.run(main)
"""


@pytest.mark.invariant("flow.labels-join")
async def test_a_copy_of_a_command_that_was_killed_has_the_label(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    await saved(home, call("write_file", path="page.txt", content="the notes"))
    environ = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", CHILD, str(home), str(work)], env=environ, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (work / "copy.txt").exists()
    async with agent(home, Reply("done")) as opened:
        async with opened.desk.resume("killed", by="owner") as events:
            async for _ in events:
                pass
        assert PAGE in await labels(opened, "killed")
    (work / "page.txt").unlink()
    assert PAGE in await read_again(home, call("read_file", path="copy.txt"))
