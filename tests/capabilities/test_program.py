"""The program over packages that bring capabilities: each test runs it as a child process that finds them on its path."""

import json
import os
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest

from ..cli.program import Claw
from ..cli.test_readonly_home import readonly
from ..waiting import until
from .shelf import install

pytestmark = [pytest.mark.anyio, pytest.mark.full]

CODE = '''
"""A list of things to read."""
from collections.abc import AsyncIterator, Callable
from datetime import date
from typing import Annotated, Literal
import msgspec
from neuralclaw import UsageError
from neuralclaw.capability import Capability, CapabilityContext, DoctorCheck, EventKind, Table, Verb
from neuralclaw.types.events import Body

class ReadingList(msgspec.Struct, frozen=True, kw_only=True):
    """What waits to be read."""

    most: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20
    """How many entries may wait."""
    api_key: str | None = None
    """The key of the bookshop."""
    topics: list[str] = []

class Added(Body, frozen=True, kw_only=True, tag="reading_list.added"):
    url: str

async def add(
    context: CapabilityContext, url: Annotated[str, msgspec.Meta(max_length=30)], *, tags: list[str] = [], level: Literal["easy", "hard"] = "easy",
    count: Annotated[int, msgspec.Meta(ge=1)] = 1, urgent: bool = False, due: date | None = None
):
    await context.record(Added(url=url))
    return {"url": url, "tags": tags, "level": level, "count": count, "urgent": urgent, "most": context.settings.most, "who": context.who}

async def listed(context: CapabilityContext, *, unread: bool = True):
    return [{"url": "https://a.example", "most": context.settings.most, "unread": unread}, {"url": "https://b.example", "most": 1, "unread": unread}]

async def words(context: CapabilityContext, *titles: str) -> int:
    return len(titles)

async def count(context: CapabilityContext, numbers: list[int]) -> int:
    return sum(numbers)

async def read(context: CapabilityContext, pages: int, *, hold: bool = False, progress: Callable[[list[int]], None] | None = None) -> list[int]:
    done: list[int] = []
    for page in range(1, pages + 1):
        done.append(page)
        if progress is not None:
            progress(done)
    if hold:
        context.notice("held")
        await context.clock.sleep(600)
    return done

async def checks(context: CapabilityContext) -> AsyncIterator[DoctorCheck]:
    yield DoctorCheck(check="reading_list.room", ok=context.settings.most > 5, text=f"room for {context.settings.most}", fix="raise reading_list.most")

def fold(entry, rows):
    rows.put(url=entry.body.url)

async def stored(context: CapabilityContext):
    return await context.store.rows("reading_list")

HELP = {"url": "what to read"}
capability = Capability(
    name="reading_list",
    summary="What waits to be read.",
    settings=ReadingList,
    verbs=(
        Verb(name="reading.add", summary="Put an address on the list.", run=add, example="neuralclaw reading add https://a.example", help=HELP),
        Verb(name="reading.list", summary="What waits.", run=listed, reads=True, columns=("url", "most")),
        Verb(name="reading.stored", summary="What is stored.", run=stored, reads=True),
        Verb(name="reading.sum", summary="Add numbers.", run=count, reads=True, render=lambda value: f"the sum is {value}"),
        Verb(
            name="reading.pages", summary="Read pages.", run=read, reads=True, progress=lambda value: f"page {value[-1]} is read",
            failures=lambda value: [UsageError("page 13 is missing")] if 13 in value else [],
        ),
    ),
    events=(EventKind(body=Added, sentence=lambda body: body.url),),
    tables=(Table(name="reading_list", columns={"url": "text"}, key=("url",), kinds=("reading_list.added",), fold=fold),),
    checks=checks,
)
'''
PLAIN = '"""One."""\nfrom neuralclaw.capability import Capability, Verb\nasync def run(context): return "{name}"\n'
PLAIN += 'capability = Capability(name="{name}", summary="Does {name}.", verbs=(Verb(name="{noun}.go", summary="Go.", run=run),))\n'

BELL = '''
"""A bell."""
from neuralclaw import tool
from neuralclaw.capability import Capability

@tool(risk="HIGH")
async def ring_bell(times: int) -> str:
    """Ring the bell."""
    return "ding " * times

async def tools(context, turn):
    assert context.desk is not None and context.store is not None
    return [] if turn.session == "silent" else [ring_bell]

capability = Capability(name="bell", summary="A bell.", tools=tools)
'''


@pytest.fixture
def reading(claw: Claw, tmp_path: Path) -> Claw:
    """The program with the package installed and enabled."""
    claw.env["PYTHONPATH"] = str(install(tmp_path / "packages", "reading_list", CODE))
    enable(claw, "reading_list")
    return claw


def enable(claw: Claw, *names: str, more: str = "") -> None:
    (claw.home / "config.yaml").write_text(f"capabilities: {{enabled: [{', '.join(names)}]}}\n{more}")


async def values(claw: Claw) -> dict[str, Any]:
    shown: dict[str, Any] = (await claw("config", "show", "--json")).json
    return {key: value for key, value in shown.items() if key.startswith("reading_list")}


async def test_an_enabled_capability_stands_in_the_help_with_its_commands(reading: Claw) -> None:
    for _ in range(2):  # loaded, then from the cache
        page = await reading("--help")
        assert " in bash, zsh or fish\n  reading             add, list, stored, sum, pages: What waits to be read.\n\n" in page.out
        assert (page.code, page.err) == (0, "")
    group = await reading("reading", "--help")
    assert "neuralclaw reading add     Put an address on the list." in group.out
    assert (await reading("help", "reading")).out == group.out
    told = await reading("reading", "add", "--help")
    assert "what to read" in told.out
    assert "--level easy|hard" in told.out
    assert "usage: neuralclaw reading pages [-h]" in (pages := (await reading("reading", "pages", "--help")).out)
    assert " PAGES\n" in pages, "a whole number by its place has its name"
    assert "neuralclaw reading add https://a.example" in told.out


async def test_a_verb_shows_how_far_it_is_at_a_terminal(reading: Claw) -> None:
    with reading.terminal("reading", "pages", "2") as terminal:
        terminal.until("page 1 is read")
        terminal.until("page 2 is read")
        assert terminal.end() == 0
    plain = await reading("reading", "pages", "2", "--json")
    assert (plain.code, plain.json, plain.err) == (0, [1, 2], "")


async def test_a_verb_that_is_stopped_shows_what_was_done_so_far(reading: Claw) -> None:
    with reading.started("reading", "pages", "2", "--hold", "--json") as run:
        await until(lambda: b"held" in os.read(run.process.stderr.fileno(), 1000))
        run.process.send_signal(signal.SIGINT)
        out, err = await anyio.to_thread.run_sync(lambda: run.process.communicate(timeout=5))
    assert (run.process.returncode, json.loads(out)) == (130, [1, 2])
    assert b"stopped: this was done so far" in err


async def test_what_failed_of_a_value_decides_the_exit_code(reading: Claw) -> None:
    done = await reading("reading", "pages", "13", "--json")
    assert (done.code, done.json[-1]) == (1, 13)
    assert "page 13 is missing" in done.err


async def test_without_being_enabled_it_brings_no_command_and_doctor_names_it(reading: Claw) -> None:
    (reading.home / "config.yaml").write_text("agent: {name: Ada}\n")
    page = await reading("--help")
    assert "reading" not in page.out
    assert not (reading.home / "capabilities.json").exists()
    unknown = await reading("reading", "list")
    assert unknown.code == 2
    assert "there is no command 'reading'" in unknown.err
    checks = {check["check"]: check for check in (await reading("doctor", "--json")).json}
    assert checks["capability.reading_list"]["text"] == "reading_list 1.2 from neuralclaw-reading-list, not enabled"
    assert "reading_list.room" not in checks


def upgrade(packages: Path, code: str, version: str) -> None:
    """What pip does with another version of the package."""
    for there in packages.iterdir():
        shutil.rmtree(there) if there.is_dir() else there.unlink()
    install(packages, "reading_list", code, version=version)


async def test_a_reading_command_after_an_upgrade_sees_the_table_made_anew(reading: Claw, tmp_path: Path) -> None:
    assert (await reading("reading", "add", "a", "--json")).code == 0
    assert (await reading("reading", "stored", "--json")).json == [{"url": "a"}]
    later = CODE.replace('columns={"url": "text"}', 'columns={"url": "text", "length": "integer"}').replace(
        "url=entry.body.url)\n", "url=entry.body.url, length=1)\n"
    )
    upgrade(tmp_path / "packages", later, "2.0")
    for ran in (
        readonly(reading, "reading", "stored", "--json"),
        await reading("reading", "stored", "--json"),
        readonly(reading, "reading", "stored", "--json"),
    ):
        assert (ran.code, ran.err, ran.json) == (0, "", [{"url": "a", "length": 1}])
    upgrade(tmp_path / "packages", CODE, "1.3")
    assert (await reading("reading", "stored", "--json")).json == [{"url": "a"}], "and after going back"


async def test_doctor_names_the_capability_and_the_version_whose_table_cannot_be_derived(reading: Claw, tmp_path: Path) -> None:
    await reading("run", "calculate 6 * 7")
    await reading("reading", "add", "a", "--json")
    broken = CODE.replace("    rows.put(url=entry.body.url)", '    raise LookupError("no such shelf")')
    upgrade(tmp_path / "packages", broken, "2.0")
    ran = await reading("doctor", "--rebuild", "--json")
    checks = {one["check"]: one for one in ran.json}
    assert ran.code == 1
    assert checks["home"]["ok"]
    assert "derived tables rebuilt but reading_list" in checks["home"]["text"]
    failed = checks["capability.reading_list.reading_list"]
    assert failed["ok"] is False
    assert failed["text"] == (
        "reading_list 2.0 from neuralclaw-reading-list, cannot derive its table reading_list, which is empty: "
        "the table reading_list of a capability cannot process an entry of kind reading_list.added (LookupError: no such shelf)"
    )
    assert failed["fix"] == "fix or update neuralclaw-reading-list, then: neuralclaw doctor --rebuild"
    plain = await reading("doctor", "--json")
    assert "capability.reading_list.reading_list" in {one["check"] for one in plain.json if not one["ok"]}
    assert plain.code == 0, "the rest of the program works"
    stored = await reading("reading", "stored", "--json")
    assert stored.code == 1
    assert "LookupError: no such shelf" in stored.err
    upgrade(tmp_path / "packages", CODE, "2.1")
    assert (await reading("reading", "stored", "--json")).json == [{"url": "a"}]
    mended = await reading("doctor", "--rebuild", "--json")
    assert "capability.reading_list.reading_list" not in {one["check"] for one in mended.json}


async def test_the_command_takes_what_its_signature_says(reading: Claw) -> None:
    plain = await reading("reading", "add", "https://a.example", "--json")
    assert plain.json == {"url": "https://a.example", "tags": [], "level": "easy", "count": 1, "urgent": False, "most": 20, "who": "program"}
    full = await reading("reading", "add", "u", "--tags", "a,b", "--tags", "c", "--level", "hard", "--count", "3", "--urgent", "--json")
    assert {**full.json, "who": ""} == {"url": "u", "tags": ["a", "b", "c"], "level": "hard", "count": 3, "urgent": True, "most": 20, "who": ""}
    assert (await reading("reading", "list", "--no-unread", "--json")).json[0]["unread"] is False
    assert (await reading("reading", "sum", "1", "2", "39", "--json")).json == 42


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add",), "neuralclaw reading add needs URL"),
        (("add", "u", "v"), "does not take a further 'v'"),
        (("add", "u", "--levle", "hard"), "has no option --levle; did you mean '--level'?"),
        (("add", "u", "--level", "hrad"), "--level: 'hrad' is not one of easy, hard; did you mean 'hard'?"),
        (("add", "u", "--count", "many"), "--count: 'many' is not a whole number"),
        (("add", "u", "--count", "-1"), "--count: '-1' is not a whole number from 1"),
        (("add", "u" * 31), "cannot be 'uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu': expected a text of length <= 30"),
        (("add", "u", "--count", "1", "--count", "2"), "--count: it is given twice"),
        (("sum", "1", "x"), "NUMBERS: 'x' is not a whole number"),
        (("add", "u", "--due", "tomorrow"), "--due: 'tomorrow' is not a date such as 2026-03-01"),
        (("lsit",), "neuralclaw reading has no 'lsit'; did you mean 'list'?"),
        ((), "neuralclaw reading requires a verb: add, list, stored, sum"),
    ],
)
async def test_what_does_not_fit_is_one_sentence_and_exit_code_2(reading: Claw, words: tuple[str, ...], said: str) -> None:
    done = await reading("reading", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


async def test_people_get_a_table_or_what_the_row_renders(reading: Claw) -> None:
    lines = (await reading("reading", "list")).out.splitlines()
    assert [line.split() for line in lines] == [["URL", "MOST"], ["https://a.example", "20"], ["https://b.example", "1"]]
    assert (await reading("reading", "sum", "2", "3")).out == "the sum is 5\n"
    assert "level: easy\n" in (await reading("reading", "add", "u")).out


async def test_a_verb_that_reads_works_on_a_read_only_home(reading: Claw) -> None:
    assert (await reading("sessions", "list")).code == 0
    assert (await reading("run", "calculate 1+1")).code == 0
    reading.home.chmod(0o500)
    try:
        found = await reading("reading", "sum", "20", "22", "--json")
        page = await reading("--help")
    finally:
        reading.home.chmod(0o700)
    assert found.json == 42, found
    assert "  reading   " in page.out
    assert os.getuid() == 0 or not (reading.home / "capabilities.json").exists()


async def test_its_settings_are_known_everywhere(reading: Claw) -> None:
    enable(reading, "reading_list", more="reading_list:\n  most: 7\n  api_key: sk-bookshop-0123456789abcdef\n")
    assert await values(reading) == {
        "reading_list.most": {"value": 7, "origin": "config.yaml:3"},
        "reading_list.api_key": {"value": "[set]", "origin": "config.yaml:4"},
        "reading_list.topics": {"value": [], "origin": "default"},
    }
    assert (await reading("reading", "list", "--json")).json[0]["most"] == 7
    schema = (await reading("config", "schema")).json["$defs"]["ReadingList"]
    assert schema["properties"]["most"]["description"] == "How many entries may wait."
    example = (await reading("config", "example")).out
    assert "# reading_list: What waits to be read.\n# How many entries may wait.\n# NEURALCLAW_READING_LIST__MOST=20\n" in example
    fromenv = await reading("reading", "list", "--json", env={"NEURALCLAW_READING_LIST__MOST": "9", "NEURALCLAW_READING_LIST__TOPICS": "a,b"})
    assert fromenv.json[0]["most"] == 9


async def test_a_key_of_its_section_is_set_and_checked_like_any_other(reading: Claw) -> None:
    done = await reading("config", "set", "reading_list.most", "8")
    assert (done.code, done.err) == (0, "")
    assert (await values(reading))["reading_list.most"] == {"value": 8, "origin": "config.yaml:3"}
    wrong = await reading("config", "set", "reading_list.mots", "8")
    assert wrong.code == 78
    assert "unknown key reading_list.mots; did you mean reading_list.most? Nothing was changed" in wrong.err
    assert (
        "expected a whole number from 1 to 100, found the number 500; nothing was changed" in (await reading("config", "set", "reading_list.most", "500")).err
    )


async def test_a_section_with_a_typo_is_an_error_where_it_is_used_and_in_config_check(reading: Claw) -> None:
    enable(reading, "reading_list", more="reading_list:\n  mots: 7\n")
    said = "config.yaml:3: unknown key reading_list.mots; did you mean reading_list.most?"
    check = await reading("config", "check")
    assert (check.code, said in check.err) == (78, True), check
    used = await reading("reading", "list")
    assert (used.code, said in used.err) == (78, True), used
    assert (await reading("run", "calculate 6*7")).out == "42\n", "nobody used it"
    checks = {one["check"]: one for one in (await reading("doctor", "--json")).json}
    assert checks["capability.reading_list"]["ok"] is False
    assert said in checks["capability.reading_list"]["text"]


async def test_doctor_names_it_and_runs_its_checks(reading: Claw) -> None:
    checks = {one["check"]: one for one in (await reading("doctor", "--json")).json}
    assert checks["capability.reading_list"]["text"] == "reading_list 1.2 from neuralclaw-reading-list, enabled"
    assert checks["reading_list.room"] == {"check": "reading_list.room", "ok": True, "text": "room for 20", "fix": None}


async def test_removed_again_the_home_opens_and_its_section_gives_one_notice(reading: Claw) -> None:
    enable(reading, "reading_list", more="reading_list:\n  most: 7\n")
    assert "reading" in (await reading("--help")).out
    del reading.env["PYTHONPATH"]
    done = await reading("run", "calculate 6*7")
    assert (done.code, done.out) == (0, "42\n")
    check = await reading("config", "check")
    assert check.code == 0
    assert "Settings of capabilities that are not installed or not enabled have no effect: reading_list (" in check.err
    assert re.search(r"config\.yaml:2\)", check.err)
    assert "reading" not in (await reading("--help")).out, "the cache does not hold any more"
    checks = {one["check"]: one for one in (await reading("doctor", "--json")).json}
    assert checks["capability.reading_list"]["text"] == "reading_list is enabled, and no installed package brings it"
    assert "take reading_list out of capabilities.enabled" in checks["capability.reading_list"]["fix"]


async def test_the_section_of_a_removed_capability_stays_a_notice_when_it_is_enabled_no_more(reading: Claw) -> None:
    assert (await reading("config", "set", "reading_list.most", "7")).code == 0
    del reading.env["PYTHONPATH"]
    notice = "Settings of capabilities that are not installed or not enabled have no effect: reading_list ("
    done = await reading("config", "set", "capabilities.enabled", "[]")
    assert (done.code, notice in done.err) == (0, True), done
    for arguments in (["run", "calculate 6*7"], ["config", "check"], ["config", "set", "agent.name", "Ada"]):
        done = await reading(*arguments)
        assert done.code == 0, done
    assert notice in (await reading("config", "check")).err
    (reading.home / "config.yaml").unlink()
    done = await reading("config", "check", env={"NEURALCLAW_READING_LIST__MOST": "2"})
    assert (done.code, f"{notice}environment NEURALCLAW_READING_LIST__MOST)" in done.err) == (0, True), done
    (reading.home / "config.yaml").write_text("toolz: {}\n")
    done = await reading("config", "check")
    assert (done.code, "config.yaml:1: unknown key toolz; did you mean tools?" in done.err) == (78, True), done


async def test_a_name_that_was_enabled_and_never_took_part_is_not_remembered(reading: Claw) -> None:
    enable(reading, "toolz")
    assert (await reading("config", "check")).code == 0
    (reading.home / "config.yaml").write_text("toolz: {}\n")
    assert "unknown key toolz; did you mean tools?" in (await reading("config", "check")).err
    assert not (reading.home / "capabilities.known").exists()


async def test_installed_and_not_enabled_its_section_is_a_notice_and_an_unknown_one_stays_an_error(reading: Claw) -> None:
    (reading.home / "config.yaml").write_text("reading_list: {most: 7}\n")
    check = await reading("config", "check")
    assert (check.code, "have no effect: reading_list (" in check.err) == (0, True), check
    (reading.home / "config.yaml").write_text("reading_lits: {most: 7}\n")
    assert "config.yaml:1: unknown key reading_lits" in (await reading("config", "check")).err
    enable(reading, "reading_list", more="reading_lits: {most: 7}\n")
    assert "config.yaml:2: unknown key reading_lits; did you mean reading_list?" in (await reading("config", "check")).err


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise RuntimeError('no luck')\n", "it cannot be loaded (RuntimeError: no luck, {file}:1)"),
        ("raise SystemExit(3)\n", "it cannot be loaded (SystemExit: 3, {file}:1)"),
        ("import neuralclaw_nowhere\n", "it cannot be loaded (ModuleNotFoundError: No module named 'neuralclaw_nowhere', {file}:1)"),
        ("capability = 3\n", "its entry point gives int, which is not a Capability"),
        (PLAIN.format(name="other", noun="other"), "its entry point is named broken and the capability other: both must be the same"),
        (PLAIN.format(name="broken", noun="sessions"), "the command sessions is taken: the capability sessions has it"),
        (PLAIN.format(name="broken", noun="reading"), "the command reading is taken: the capability reading_list has it"),
    ],
)
async def test_a_broken_capability_is_left_out_with_one_notice_and_everything_else_works(reading: Claw, tmp_path: Path, code: str, why: str) -> None:
    install(tmp_path / "packages", "broken", code)
    enable(reading, "reading_list", "broken", more="broken: {most: 7}\n")
    why = why.replace("{file}", str(tmp_path / "packages" / "neuralclaw_broken.py"))
    done = await reading("run", "calculate 6*7")
    assert (done.code, done.out) == (0, "42\n")
    told = [line for line in done.err.splitlines() if "broken" in line]
    assert len(told) == 1
    kept = "What it recorded and its settings are kept. Fix or update neuralclaw-broken, or take it out of capabilities.enabled ("
    assert f"The capability broken is left out: {why}. {kept}" in done.err
    assert (await reading("reading", "sum", "1", "--json")).json == 1
    checks = {one["check"]: one for one in (await reading("doctor", "--json")).json}
    assert checks["capability.broken"]["ok"] is False
    assert why in checks["capability.broken"]["text"]


async def test_a_name_that_is_enabled_twice_or_built_in_is_said_and_changes_nothing(reading: Claw) -> None:
    enable(reading, "reading_list", "documents", "reading_list")
    check = await reading("config", "check")
    assert check.code == 0
    assert "reading_list occurs more than once in capabilities.enabled (" in check.err
    assert "documents has no effect in capabilities.enabled (" in check.err
    assert "left out" not in check.err
    checks = [one for one in (await reading("doctor", "--json")).json if one["check"] == "capability.documents"]
    assert [(one["ok"], one["text"]) for one in checks] == [(True, "documents, built in")]


async def test_the_cache_of_the_help_is_made_anew_when_anything_changed(reading: Claw, tmp_path: Path) -> None:
    assert "What waits to be read." in (await reading("--help")).out
    cache = reading.home / "capabilities.json"
    held = json.loads(cache.read_text())
    assert [(one["name"], one["version"], one["origin"]) for one in held["capabilities"]] == [("reading_list", "1.2", "neuralclaw-reading-list")]
    assert cache.stat().st_mode & 0o777 == 0o600
    code = tmp_path / "packages" / "neuralclaw_reading_list.py"
    code.write_text(CODE.replace('summary="What waits to be read."', 'summary="Books and papers."'))
    assert "add, list, stored, sum, pages: Books and papers." in (await reading("--help")).out
    install(tmp_path / "packages", "second", PLAIN.format(name="second", noun="second"))
    enable(reading, "reading_list", "second")
    assert "  second              go: Does second." in (await reading("--help")).out
    cache.write_text("{broken")
    assert "  second              go: Does second." in (await reading("--help")).out


async def test_a_configuration_that_cannot_be_read_leaves_the_help_as_it_is(reading: Claw) -> None:
    (reading.home / "config.yaml").write_text("capabilities: {enabled: [reading_list]\n")
    page = await reading("--help")
    assert page.code == 0
    assert "usage: neuralclaw" in page.out
    assert "The commands of capabilities are not known: " in page.err


async def test_its_commands_are_found_under_the_home_that_the_command_line_names(reading: Claw, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    assert (await reading("reading", "sum", "1", "--home", str(other))).code == 2
    assert (await reading("--home", str(other), "--help")).out.count("reading") == 0
    assert (await reading("--home", str(reading.home), "reading", "sum", "4", "--json", env={"NEURALCLAW_HOME": str(other)})).json == 4


async def test_its_commands_are_slash_commands_of_the_chat(reading: Claw) -> None:
    said = b"/help\n/reading sum 4 5\n/reading add https://a.example --level hrad\n/reading add u --count 0\n"
    said += b"/reading list\n/reading lsit\n/reading add u --count 2 --json\n"
    done = await reading(stdin=said)
    assert done.code == 0
    text = done.out + done.err
    assert "/reading add|list|stored|sum|pages What waits to be read." in re.sub(" +", " ", text)
    assert "the sum is 9" in text
    assert "--level: 'hrad' is not one of easy, hard; did you mean 'hard'?" in text
    assert "--count: '0' is not a whole number from 1" in text
    assert re.search(r"https://b\.example +1", text)
    assert "/reading has no 'lsit'; did you mean 'list'?" in text
    assert '"count":2' in text


async def test_its_commands_are_completed(reading: Claw) -> None:
    script = (await reading("completion", "bash")).out
    assert "reading" in script
    assert "--urgent" in script
    enable(reading)
    assert "reading" not in (await reading("completion", "bash")).out


async def test_policy_explain_knows_its_tools_as_calls_do_and_about_me_names_them(claw: Claw, tmp_path: Path) -> None:
    claw.env["PYTHONPATH"] = str(install(tmp_path / "packages", "bell", BELL))
    enable(claw, "bell")
    asked = ("ring_bell", '{"times": 1}')
    real = (await claw("tools", "call", *asked, "--dry-run", "--json")).json
    explained = await claw("policy", "explain", "--tool", asked[0], "--args", asked[1], "--json")
    assert (explained.json, explained.json["decision"]) == (real, "ask")
    batch = await claw("policy", "explain", "--batch", "-", stdin=b'{"id": 1, "tool": "ring_bell", "args": {"times": 1}}\n{"id": 2, "tool": "ring_bel"}\n')
    assert batch.lines == [{"id": 1, **real}, {"id": 2, "decision": "forbid", "error": "there is no tool named 'ring_bel'"}]
    assert (await claw("run", "--session", "s", "--approvals", "none", f"call {asked[0]} {asked[1]}")).code == 3
    events = (await claw("sessions", "show", "s", "--json")).json["events"]
    [call_id] = [call["id"] for event in events for call in event.get("tool_calls") or ()]
    recorded = await claw("policy", "explain", f"s/{call_id}", "--json")
    assert recorded.json["decision"] == "ask"
    assert "ring_bell" in (await claw("run", "who are you")).out
    assert "ring_bell" not in (await claw("run", "--session", "silent", "who are you")).out
    before = {path: path.read_bytes() for path in claw.home.rglob("*") if path.is_file()}
    assert readonly(claw, "policy", "explain", "--tool", asked[0], "--args", asked[1], "--json").json == real
    assert {path: path.read_bytes() for path in claw.home.rglob("*") if path.is_file()} == before


async def test_its_events_and_tables_are_kept_and_shown_and_stay_on_record_when_it_is_removed(reading: Claw) -> None:
    assert (await reading("reading", "add", "https://a.example")).code == 0
    assert (await reading("reading", "stored", "--json")).json == [{"url": "https://a.example"}]
    shown = (await reading("sessions", "show", "home", "--json")).json["events"]
    assert [(event["type"], event["url"]) for event in shown] == [("reading_list.added", "https://a.example")]
    assert "  reading_list.added  https://a.example\n" in (await reading("sessions", "show", "home")).out
    del reading.env["PYTHONPATH"]
    assert 'reading_list.added version 1, which this program does not know: {"type":"reading_list.added"' in (await reading("sessions", "show", "home")).out
    [raw] = (await reading("sessions", "show", "home", "--json")).json["events"]
    assert (raw["type"], raw["kind"], raw["why"]) == ("unreadable", "reading_list.added", "unknown")
    assert (await reading("audit", "verify", "--json")).json["ok"] is True
    assert (await reading("run", "calculate 6*7")).out == "42\n"
