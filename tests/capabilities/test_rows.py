"""What the row of a verb says of its command: what people read, which arguments there are, and the exit code."""

import argparse
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from neuralclaw.app.capabilities import Capabilities, LoadedCapability
from neuralclaw.app.capability_context import CapabilityClient
from neuralclaw.app.capability_problems import TakenNames, problem_of
from neuralclaw.app.clock import SystemClock
from neuralclaw.capability import Capability, CapabilityContext, Verb
from neuralclaw.cli import capability_rows, verb_rows
from neuralclaw.cli.parsing import arguments_of
from neuralclaw.errors import AgentError, UsageError
from neuralclaw.store.derived_tables import DerivedTables

from ..cli.program import Claw
from .shelf import install
from .test_program import enable

pytestmark = pytest.mark.full


async def shelf(context: CapabilityContext, name: str = "", *, words: bool = False) -> dict[str, Any]:
    return {"name": name, "full": words}


def row(**parts: Any) -> Verb:
    return Verb(name="shelf.show", summary="The shelf.", run=shelf, **parts)


def told(row: Verb, value: Any, capsys: pytest.CaptureFixture[str], *, as_json: bool = False) -> tuple[int, str, str]:
    """The exit code of the command, and what it prints."""
    code = capability_rows.shown_value(row, argparse.Namespace(json=as_json), {"name": "x"}, value)
    return code, *capsys.readouterr()


def test_lines_are_shown_with_their_styles_and_a_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(row(render=lambda value: [(value["name"], "bold"), ("below", "")]), {"name": "top"}, capsys) == (0, "top\nbelow\n", "")
    assert told(row(render=lambda value: "one\ntwo"), {"name": "top"}, capsys) == (0, "one\ntwo\n", "")


def test_an_empty_list_is_told_by_its_row_also_where_it_renders(capsys: pytest.CaptureFixture[str]) -> None:
    rows = row(render=lambda value: str(value[0]), empty=lambda given: f"nothing of {given['name']}")
    assert told(rows, [], capsys) == (0, "", "nothing of x\n")
    assert told(row(empty="no {name}"), [], capsys) == (0, "", "no x\n")


def test_a_value_that_is_not_the_good_case_exits_1(capsys: pytest.CaptureFixture[str]) -> None:
    checked = row(succeeded=lambda value: value["ok"], render=lambda value: "checked")
    assert [told(checked, {"ok": ok}, capsys)[0] for ok in (True, False)] == [0, 1]
    assert told(checked, {"ok": False}, capsys, as_json=True) == (1, '{"ok":false}\n', "")


def test_lines_for_programs_are_printed_one_for_each_and_take_no_json(capsys: pytest.CaptureFixture[str]) -> None:
    lines = row(json_lines=True)
    assert capability_rows.shown_value(lines, argparse.Namespace(), {}, [1, {"two": 2}]) == 0
    assert capsys.readouterr().out == '1\n{"two":2}\n'
    with pytest.raises(UsageError, match="has no option --json"):
        arguments_of(capability_rows.command_of(lines), ["--json"])


def test_what_is_given_for_people_has_no_option_and_is_not_given_for_programs() -> None:
    worded = row(for_people={"words": True})
    command = capability_rows.command_of(worded)
    assert verb_rows.arguments_given(worded, arguments_of(command, ["a"])) == {"name": "a", "words": True}
    assert verb_rows.arguments_given(worded, arguments_of(command, ["a", "--json"])) == {"name": "a"}
    with pytest.raises(UsageError, match="has no option --words"):
        arguments_of(command, ["--words"])


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"for_people": {"wrods": True}}, "for_people of the verb shelf.show gives wrods, which is none of its parameters"),
        ({"needs": "record"}, "the verb shelf.show works with the record alone, which is only read, and does not say reads=True"),
        ({"needs": "records"}, "the verb shelf.show needs 'records', which is none of home, record, settings"),
        ({"json_lines": True, "render": str}, "the verb shelf.show prints JSON lines for programs: render, which is for people, has no effect"),
        (
            {"json_lines": True, "for_people": {"words": True}},
            "the verb shelf.show prints JSON lines for programs: for_people, which is for people, has no effect",
        ),
        ({"render": str, "columns": ("name",)}, "the verb shelf.show renders its value: columns, which is for a table, has no effect"),
        ({"render": str, "drop": ("name",)}, "the verb shelf.show renders its value: drop, which is for a table, has no effect"),
        ({"columns": ("name", "page"), "drop": ("nmae",)}, "drop of the verb shelf.show names nmae, which is none of its columns"),
        ({"columns": ("name", "name")}, "columns of the verb shelf.show names name twice"),
        ({"columns": ("name", "page"), "drop": ()}, ""),
        ({"for_people": {"words": True}, "needs": "record", "reads": True}, ""),
    ],
)
def test_a_row_that_does_not_fit_its_function_is_told_when_it_is_loaded(parts: dict[str, Any], why: str) -> None:
    assert problem_of(Capability(name="shelf", summary="x", verbs=(row(**parts),)), "shelf", TakenNames()) == why


def test_no_built_in_row_contradicts_itself() -> None:
    loaded = Capabilities.load()
    for value in loaded:
        assert problem_of(msgspec.structs.replace(value, tables=()), value.name, NoNames()) == ""
        assert all(table.name.startswith(value.name) for table in value.tables)
    DerivedTables(loaded.codec, loaded.tables())  # one may be derived from kinds of another capability


class NoNames(TakenNames):
    """Nothing is taken."""

    def clash(self, capability: Capability) -> str:
        return ""


@pytest.mark.anyio
async def test_a_verb_of_the_record_alone_has_neither_settings_nor_a_desk() -> None:
    async def ask(context: CapabilityContext, part: str) -> str:
        return str(getattr(context, part))

    value = Capability(name="shelf", summary="x", verbs=(Verb(name="shelf.ask", summary="x", run=ask, needs="record", reads=True),))
    found = Capabilities([LoadedCapability("shelf", "", "built in", value=value)])
    verbs = found.for_client(CapabilityClient(None, None, None, SystemClock(), lambda entries: None, "/w")).verbs()
    assert await verbs["shelf.ask"](part="workspace") == "/w"
    for part in ("settings", "desk"):
        with pytest.raises(AgentError, match=f"shelf works with the record alone here: there is no {part}"):
            await verbs["shelf.ask"](part=part)


@pytest.mark.anyio
@pytest.mark.parametrize("words", ["sessions list", "sessions show s", "approvals list", "grants list", "audit verify", "audit show", "audit export"])
async def test_the_record_is_read_where_the_configuration_cannot_be(home: Path, tmp_path: Path, words: str) -> None:
    claw = Claw(home, tmp_path / "work")
    assert (await claw("run", "calculate 6*7", "--session", "s")).code == 0
    (home / "config.yaml").write_text("llm: {temperature: warm}\n")
    assert (await claw("run", "calculate 6*7")).code == 78
    assert (await claw(*words.split())).code == 0


BOTH = """
from neuralclaw import UsageError
from neuralclaw import capability as nc

async def pages(context: nc.CapabilityContext):
    return [{"page": 12, "read": True, "marks": None}, {"page": 13, "read": False, "marks": ["a", "b"]}]

async def book(context: nc.CapabilityContext):
    return {"title": "Walden", "usd": 0.25, "read": False}

async def none(context: nc.CapabilityContext):
    return []

def missing(value):
    return [UsageError("page 13 is missing", hint="neuralclaw shelf fetch 13")]

capability = nc.Capability(name="shelf", summary="Books.", verbs=(
    nc.Verb(name="shelf.pages", summary="x", run=pages, reads=True, failures=missing, hint=lambda value, given: "read them all"),
    nc.Verb(name="shelf.book", summary="x", run=book, reads=True),
    nc.Verb(name="shelf.none", summary="x", run=none, reads=True, empty="no book waits"),
))
"""


@pytest.mark.anyio
async def test_the_chat_shows_what_the_command_line_shows(home: Path, tmp_path: Path) -> None:
    claw = Claw(home, tmp_path / "work")
    claw.env["PYTHONPATH"] = str(install(tmp_path / "packages", "shelf", BOTH))
    enable(claw, "shelf")
    chat = await claw("chat", stdin=b"/shelf pages\n/shelf book\n/shelf none\n")
    pages, book, none = [await claw("shelf", verb) for verb in ("pages", "book", "none")]
    assert pages.code == 1
    told = [line.strip() for line in (*pages.out.splitlines(), *pages.err.splitlines(), *none.err.splitlines())]
    assert {"page 13 is missing", "neuralclaw shelf fetch 13"} <= {part for line in told for part in (line, line.partition(": ")[2], line.partition(" ")[2])}
    assert [line for line in told if line not in {line.strip() for line in chat.err.splitlines()}] == []
    assert book.out == "title: Walden\nusd: 0.2500\nread: no\n"
    for name, text in (("title", "Walden"), ("usd", "0.2500"), ("read", "no")):
        assert re.search(rf"^\s*{name}\s+{re.escape(text)}\s*$", chat.err, re.MULTILINE), chat.err
