"""`sessions export` on the command line and `/export` in the chat."""

import json
import resource
import subprocess

import pytest

from .program import PYTHON, Claw

pytestmark = pytest.mark.anyio


async def test_the_session_is_printed_or_written_to_a_new_file(claw: Claw) -> None:
    await claw("run", "calculate 6*7", "--session", "work")
    printed = await claw("sessions", "export", "work")
    assert (printed.code, printed.out.splitlines()[0]) == (0, "# calculate 6*7"), printed
    written = await claw("sessions", "export", "work", "--output", "work.md")
    assert written.out == f"wrote 8 entries of work to {claw.workspace / 'work.md'}\n", written
    assert (claw.workspace / "work.md").read_text() == printed.out
    again = await claw("sessions", "export", "work", "--output", "work.md")
    assert (again.code, again.out) == (2, "")
    assert "work.md already; it was left as it is" in again.err
    told = await claw("sessions", "export", "work", "--json", "--output", "work.json")
    assert told.json["entries"] == len(json.loads((claw.workspace / "work.json").read_text())["events"]) == 8
    unknown = await claw("sessions", "export", "nothing")
    assert (unknown.code, unknown.out) == (2, "")
    assert "there is no session nothing" in unknown.err


async def test_the_chat_writes_its_session_to_a_file(claw: Claw) -> None:
    said = "/export\ncalculate 6*7\n/export\n/export\n/export mine.json\n"
    ran = await claw(stdin=said.encode())
    [markdown] = claw.workspace.glob("*.md")
    assert "there is no session yet" in ran.err, ran
    assert markdown.read_text().startswith("# calculate 6*7\n")
    assert f"{markdown.name} already" in ran.err
    assert json.loads((claw.workspace / "mine.json").read_text())["session"] == markdown.stem


async def test_a_full_disk_leaves_no_half_written_file_and_the_session_can_still_be_printed(claw: Claw) -> None:
    await claw("run", "calculate 6*7", "--session", "work")

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    words = (*PYTHON, "sessions", "export", "work")
    ran = subprocess.run([*words, "--output", "work.md"], capture_output=True, cwd=claw.workspace, env=claw.env, preexec_fn=full, timeout=20, check=False)
    assert ran.returncode == 1, ran
    assert b"nothing of it was kept" in ran.stderr
    assert not (claw.workspace / "work.md").exists()
    printed = subprocess.run(words, capture_output=True, cwd=claw.workspace, env=claw.env, preexec_fn=full, timeout=20, check=False)
    assert (printed.returncode, printed.stdout[:17]) == (0, b"# calculate 6*7\n\n"), printed
