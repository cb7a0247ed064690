"""Stored secrets that a call names: asked about, given to this program or host alone, and nowhere to be read."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent
from neuralclaw.app.approver import Ask
from neuralclaw.app.clock import SystemClock
from neuralclaw.app.secret_store.granted_secrets import GrantedSecrets
from neuralclaw.documents.document_formats import DOCUMENTS
from neuralclaw.errors import PermissionDeniedError, ToolError
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.converter import ChildConverter
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.testing import Reply, ScriptedProvider
from neuralclaw.tools.file_formats import FileFormats
from neuralclaw.tools.web_tools import web_fetch
from neuralclaw.types.actions import Action
from neuralclaw.types.grants import Grant
from neuralclaw.types.messages import Request
from neuralclaw.types.options import OwnerRule, Policy
from neuralclaw.types.questions import Answer, Answers, Question
from neuralclaw.types.risk import Decision, Risk
from neuralclaw.types.secret_references import secret_reference
from neuralclaw.types.signals import Denied, Parked
from neuralclaw.types.tools import ToolContext

from ..cli.program import Claw
from ..sandbox.web_world import World, page, redirect, world

pytestmark = [pytest.mark.anyio, pytest.mark.full]

VALUE = "".join(("qT7", "-vv81_", "kkZp03xYw"))
DIGEST = hashlib.sha256(VALUE.encode()).hexdigest()


class Run:
    """One turn in a home whose store has DEMO_TOKEN: what was asked, shown, told and kept."""

    def __init__(self, home: Path, workspace: Path) -> None:
        self.home, self.workspace = home, workspace
        self.asked: list[Ask] = []
        self.events: list[dict[str, Any]] = []
        self.requests: list[Request] = []

    async def of(self, tool: str, arguments: Mapping[str, Any], answer: str | None = "once", **options: Any) -> dict[str, Any]:
        """The result of one call. `answer` None: nobody is there."""

        async def approver(question: Ask) -> Any:
            self.asked.append(question)
            return answer

        model = ScriptedProvider(Reply("", [{"name": tool, "arguments": dict(arguments)}]), Reply("done"))
        environ = {"HOME": str(self.home.parent), "PATH": "/usr/bin:/bin"}
        options |= {"approver": approver} if answer else {}
        async with Agent.open(home=self.home, workspace=self.workspace, provider=model, environ=environ, **options) as agent:
            async with agent.turn("go", session="s") as stream:
                self.events += [event.to_dict() async for event in stream]
        self.requests += model.requests
        return [event for event in self.events if event["type"] == "tool.finished"][-1]

    def places_with(self, value: str) -> list[str]:
        """Everything that was shown, told or kept, and has the value."""
        files = {str(path): path.read_bytes().decode(errors="replace") for path in self.home.rglob("*") if path.is_file()}
        told = {**files, "events": json.dumps(self.events), "requests": repr(self.requests), "asked": repr(self.asked)}
        return [place for place, text in told.items() if value in text]


@pytest.fixture
async def run(home: Path, tmp_path: Path) -> Run:
    claw = Claw(home, tmp_path / "work")
    assert (await claw("secrets", "set", "DEMO_TOKEN", stdin=VALUE.encode())).code == 0
    return Run(home, claw.workspace)


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock", "process"])
async def test_a_command_gets_the_secret_that_it_names_after_a_yes_and_nothing_shows_it(run: Run, sandbox: str) -> None:
    command = 'printf %s "$DEMO_TOKEN" | sha256sum; echo "it is $DEMO_TOKEN"; cat /proc/[0-9]*/cmdline | tr "\\0" " "'
    settings = {"tools.terminal.sandbox": sandbox, "logging.level": "DEBUG"}
    done = await run.of("terminal", {"command": command, "env_vars": {"DEMO_TOKEN": "secret:DEMO_TOKEN"}}, settings=settings)
    assert done["ok"], done
    assert DIGEST in done["content"]
    assert "it is [REDACTED:DEMO_TOKEN]" in done["content"]
    assert done["content"].count("REDACTED") == 1  # no list of arguments has it
    (asked,) = run.asked
    assert asked.action.variables == {"DEMO_TOKEN": "secret:DEMO_TOKEN"}
    assert any("gives the secret DEMO_TOKEN to" in reason and "as the variable DEMO_TOKEN" in reason for reason in asked.reasons)
    assert asked.question.risk is Risk.HIGH
    assert asked.question.choices == ("once", "no")
    assert run.places_with(VALUE) == []
    assert "secret:DEMO_TOKEN" in json.dumps(run.events)


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.parametrize("tool", ["terminal", "search_files"])
async def test_a_secret_that_a_result_was_cut_in_is_nowhere_to_be_read(run: Run, tool: str) -> None:
    (run.workspace / "lines.txt").write_text("".join(f"{'x ' * (size // 2)}{' ' * (size % 2)}{VALUE} and more\n" for size in range(270, 305)))
    command = {"command": f"printf '%{20_000 - 12}s' ' '; echo $TOK", "env_vars": {"TOK": "secret:DEMO_TOKEN"}}
    result = await run.of(tool, command if tool == "terminal" else {"pattern": "x", "path": "lines.txt"})
    assert "[REDACTED:DEMO_TOKEN]" in json.dumps(result)
    (run.workspace / "lines.txt").unlink()
    assert run.places_with(VALUE[:8]) == []


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.parametrize("command", [
    'printf %s "${TOK%???}"; echo oops >&2', 'printf %s "${TOK#???}"; exit 3', 'printf "\\377%s" "${TOK%???}"', "printf '%s\\n' \"${TOK%???}\"",
    'printf "\\n%s it" "${TOK#???}"', 'echo fine; printf %s "${TOK%???}" >&2; exit 3',
])  # fmt: skip
async def test_what_a_command_leaves_of_a_secret_at_the_ends_of_one_of_its_outputs_is_nowhere_to_be_read(run: Run, command: str) -> None:
    done = await run.of("terminal", {"command": command, "env_vars": {"TOK": "secret:DEMO_TOKEN"}})
    assert "[REDACTED:DEMO_TOKEN]" in done["content"]
    assert run.places_with(VALUE[4:20]) == []


async def test_only_the_command_that_names_it_gets_it(run: Run) -> None:
    done = await run.of("terminal", {"command": 'echo "[$DEMO_TOKEN]"'})
    assert done["content"].strip() == "[]"


@pytest.mark.parametrize("answer", ["no", None])
async def test_without_a_yes_of_a_person_no_secret_is_given_also_where_everything_else_is_let_through(run: Run, answer: str | None) -> None:
    settings = {"safety.rules": [{"id": "all", "decision": "allow", "tool": "terminal"}]}
    options: dict[str, Any] = {"trust": "high", "settings": settings} | ({"approvals": "auto"} if answer is None else {})
    done = await run.of("terminal", {"command": "echo ran > ran.txt", "env_vars": {"T": "secret:DEMO_TOKEN"}}, answer, **options)
    assert not done["ok"]
    assert not (run.workspace / "ran.txt").exists()


async def test_an_unknown_name_is_answered_with_those_that_are_there_and_nobody_is_asked(run: Run) -> None:
    done = await run.of("terminal", {"command": "echo x", "env_vars": {"T": "secret:OTHER"}})
    assert "there is no secret OTHER that can be given: there is DEMO_TOKEN" in done["content"]
    assert run.asked == []


async def test_a_value_that_is_not_looked_for_in_texts_is_not_given(run: Run) -> None:
    pin = "".join(("pin", "4917"))
    assert (await Claw(run.home, run.workspace)("secrets", "set", "PIN", stdin=pin.encode())).code == 0
    done = await run.of("terminal", {"command": "echo $T", "env_vars": {"T": "secret:PIN"}})
    assert "there is no secret PIN that can be given: there is DEMO_TOKEN" in done["content"]
    assert run.places_with(pin) == []


async def test_a_question_names_the_programs_of_a_command_line_and_no_variables(run: Run) -> None:
    await run.of("terminal", {"command": "A=1 B=2 ls; printf x", "env_vars": {"ABC": "x", "TOK": "secret:DEMO_TOKEN"}})
    [asked] = run.asked
    assert "gives the secret DEMO_TOKEN to ls, printf as the variable TOK" in asked.reasons


async def test_a_reference_inside_another_text_is_refused_and_a_variable_that_decides_what_is_run_too(run: Run) -> None:
    for variables, said in (({"U": "http://x:secret:DEMO_TOKEN@y"}, "a reference is"), ({"LD_PRELOAD": "secret:DEMO_TOKEN"}, "may not be set")):
        run.events.clear()
        done = await run.of("terminal", {"command": "echo x", "env_vars": variables})
        assert said in done["content"]


async def test_a_model_is_told_the_names_where_there_are_any_and_nothing_where_there_are_none(run: Run, tmp_path: Path) -> None:
    await run.of("echo", {"text": "x"})
    assert "DEMO_TOKEN" in run.requests[0].system
    assert "Stored secrets" in run.requests[0].system
    empty = Run(tmp_path / "empty", run.workspace)
    empty.home.mkdir(mode=0o700)
    await empty.of("echo", {"text": "x"})
    assert "Stored secrets" not in empty.requests[0].system


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("secret:A", ("A", "")),
        ("Bearer secret:a.b-c_1", ("a.b-c_1", "Bearer ")),
        ("secret:", None),
        ("secret:A ", None),
        ("secret:A\n", None),
        ("Bearer  secret:A", None),
        ("a b secret:A", None),
        ("Secret:A", None),
        ("secret:1", None),
        ("", None),
    ],
)
def test_a_reference_is_the_whole_of_a_text_or_stands_behind_one_word(text: str, found: tuple[str, str] | None) -> None:
    reference = secret_reference(text)
    assert (reference and (reference.name, reference.before)) == found


async def test_a_value_is_given_under_an_open_grant_that_names_it_alone() -> None:
    secrets, gate = GrantedSecrets({"A": "value-of-a", "B": "value-of-b"}), Fetcher(world()).gate
    granted = await yes(gate, fetch_call("https://1.1.1.1/", {"Authorization": "Bearer secret:A"}))
    assert secrets.resolve("Bearer secret:A", granted) == "Bearer value-of-a"
    with pytest.raises(PermissionDeniedError, match="does not give the secret B"):
        secrets.resolve("secret:B", granted)
    for text in ("secret:C", "value"):
        with pytest.raises(ToolError):
            secrets.resolve(text, granted)
    granted.close()
    with pytest.raises(PermissionDeniedError):
        secrets.resolve("secret:A", granted)
    with pytest.raises(PermissionDeniedError):
        secrets.resolve("secret:A", gate.standing_grant(hosts=("a.test",)))


class Fetcher:
    """The tool in a world of servers, whose owner opened them, with the secrets A and B."""

    def __init__(self, here: World) -> None:
        rules = tuple(OwnerRule(id=host, decision=Decision.ALLOW, host=host, inside=True) for host in here.names)
        policy = Policy(rules=rules, secrets=("A", "B"))
        self.gate = PolicyGate(policy, SystemFacts(policy, "", here.resolve), SystemClock(), analyse)
        self.tool = web_fetch(here.web, FileFormats(DOCUMENTS.formats, ChildConverter()), GrantedSecrets({"A": VALUE, "B": "two\nlines"}))

    async def fetch(self, url: str, headers: dict[str, str]) -> Any:
        grant = await yes(self.gate, fetch_call(url, headers))
        return await self.tool.run(grant.arguments, grant, ToolContext(session="s", turn=1, call_id="c", workspace="/"))


def fetch_call(url: str, headers: dict[str, str]) -> Action:
    spec = web_fetch(None, None).spec  # type: ignore[arg-type]  # nothing is fetched with it
    return Action(session="s", turn=1, call_id="c", spec=spec, arguments={"url": url, "headers": headers}, workspace="/")


async def question(gate: PolicyGate, action: Action) -> Question:
    with pytest.raises(Parked) as parked:
        await gate.authorize(action, Answers())
    return parked.value.question


async def yes(gate: PolicyGate, action: Action) -> Grant:
    asked = await question(gate, action)
    return await gate.authorize(action, Answers(by_hash={asked.hash: Answer(approval_id=asked.approval_id, decision="once", by="owner")}))


async def test_a_header_is_asked_about_with_its_host_and_shown_by_its_name() -> None:
    asked = await question(Fetcher(world()).gate, fetch_call("https://1.1.1.1/x", {"Authorization": "Bearer secret:A"}))
    assert asked.action.headers == {"Authorization": "Bearer secret:A"}
    assert "sends the secret A to 1.1.1.1:443 in the header Authorization" in asked.reasons
    assert "sends the secret A to 1.1.1.1:443" in asked.summary
    assert (asked.risk, asked.choices, asked.auto) == (Risk.HIGH, ("once", "no"), False)


@pytest.mark.parametrize(
    ("url", "headers", "said"),
    [
        ("http://1.1.1.1/", {"Authorization": "Bearer secret:A"}, "where others can read it"),
        ("https://1.1.1.1/", {"Authorization": "Bearer secret:C"}, "there is no secret C that can be given: there are A, B"),
        ("https://1.1.1.1/", {"X-Plain": "a text"}, "is given no secret"),
    ],
)
async def test_a_secret_for_others_to_read_an_unknown_one_and_a_plain_header_are_refused(url: str, headers: dict[str, str], said: str) -> None:
    with pytest.raises(Denied) as denied:
        await Fetcher(world()).gate.authorize(fetch_call(url, headers), Answers())
    assert said in denied.value.verdict.reasons[0]


async def test_a_secret_reaches_the_origin_that_was_asked_about_and_no_other_that_a_redirect_leads_to() -> None:
    async with world(a=[["127.0.0.2"]], b=[["127.0.0.3"]]).open() as here:
        back = await here.serve(page(b"end"), "127.0.0.2")
        away = await here.serve(redirect(f"http://a.test:{back.port}/"), "127.0.0.3")

        async def start(stream: Any, request: bytes) -> None:
            await redirect("/again" if request.startswith(b"GET / ") else f"http://b.test:{away.port}/")(stream, request)

        first = await here.serve(start, "127.0.0.2")
        result = await Fetcher(here).fetch(f"http://a.test:{first.port}/", {"Authorization": "Bearer secret:A"})
        assert result.content == "end"
        sent = [f"Authorization: Bearer {VALUE}".encode() in request for request in (*first.requests, *away.requests, *back.requests)]
        assert sent == [True, True, False, False]


@pytest.mark.parametrize(
    ("name", "value", "said"), [("Host", "secret:A", "cannot be given"), ("X\r\nY", "secret:A", "cannot be given"), ("X", "secret:B", "no header can hold")]
)
async def test_a_header_that_decides_how_a_request_is_read_or_would_break_it_is_not_sent(name: str, value: str, said: str) -> None:
    async with world().open() as here:
        server = await here.serve(page(b"x"))
        with pytest.raises((ToolError, Denied), match=said):
            await Fetcher(here).fetch(f"http://a.test:{server.port}/", {name: value})
        assert server.requests == []
