"""What an answer for the session or for ever covers: what its words say and nothing more."""

from typing import Any

import msgspec
import pytest

from neuralclaw.safety import ran_files
from neuralclaw.safety.shell import analyse
from neuralclaw.types.actions import Action
from neuralclaw.types.grants import Scope
from neuralclaw.types.options import Policy
from neuralclaw.types.questions import Answers, Question
from neuralclaw.types.risk import Decision, Effect, Power, Risk
from neuralclaw.types.signals import Parked
from neuralclaw.types.tools import ToolSpec

from .parts import DELETE, FETCH, LISTED, POLICY, TERMINAL, WORKSPACE, WRITE, FakeFacts, action, answered, gate, spec, standing

pytestmark = pytest.mark.anyio
ASKS_ALWAYS = Policy(programs=LISTED, home_dir="/home/ann", require_confirmation_for=tuple(Risk))


async def question(call: Action, policy: Policy = POLICY, facts: FakeFacts | None = None) -> Question:
    with pytest.raises(Parked) as parked:
        await gate(policy, facts).authorize(call, Answers())
    return parked.value.question


def command(text: str, **more: Any) -> Action:
    return action(TERMINAL, command=text, **more)


async def allowed(text: str, answers: Answers) -> bool:
    try:
        grant = await gate().authorize(command(text), answers)
    except Parked:
        return False
    assert grant.verdict is not None
    return grant.verdict.decision is Decision.ALLOW


@pytest.mark.invariant("gate.covers")
@pytest.mark.parametrize(
    ("said", "fine", "more"),
    [
        (
            "git commit -m x",
            (
                "git commit -m y",
                "git commit --message='all of it'",
                "git commit -m a -m b",
                "git status && git commit -m y",
                "timeout 5 git status; git commit -m y",
            ),
            (
                *("git commit --amend -m y", "git commit -a -m y", "git commit -m y file", "git commit", "git commit -F x", "git commit -C -m file"),
                *("git commit -m y && mkdir a", "git -c core.hooksPath=x commit -m y", "git commit -m y > log", "cd sub && git commit -m y"),
                *("git push", "env -C /tmp git commit -m x", "GIT_DIR=x git commit -m x", "echo a | git commit -m x", "sh -c 'git commit -m x'"),
            ),
        ),
        (
            "git push origin main",
            ("git push origin main", "cd . && git push origin main; true"),
            ("git push", "git push origin dev", "git push -f origin main", "git log && git push origin main", "git push origin main; cat a"),
        ),
        (
            "rm junk.txt",
            ("rm junk.txt", "ls && rm junk.txt"),
            ("rm -r junk.txt", "rm junk.txt other.txt", "rm /home/ann/project/sub/junk.txt", "cd sub; rm junk.txt"),
        ),
        (
            "python build.py",
            ("python build.py",),
            ("python other.py", "python build.py --release", "python3 build.py", "python -i build.py", "echo x | python build.py"),
        ),
        ("make && git commit -m x", ("make", "git commit -m z", "make; git commit -m z"), ("make clean", "make && git commit -m x && rm a")),
    ],
)
async def test_a_yes_to_a_command_covers_that_command_and_nothing_wider(said: str, fine: tuple[str, ...], more: tuple[str, ...]) -> None:
    answers = standing(await question(command(said)))
    for text in fine:
        assert await allowed(text, answers), text
    for text in more:
        assert not await allowed(text, answers), text


async def test_each_part_of_a_line_may_be_covered_by_another_answer() -> None:
    one, two = [standing(await question(command(text))).standing for text in ("make", "git commit -m x")]
    assert await allowed("make && git commit -m y", Answers(standing=(*one, *two)))
    assert not await allowed("make && git commit -m y && mkdir z", Answers(standing=(*one, *two)))


async def test_the_words_say_what_where_and_for_how_long() -> None:
    asked = await question(command("git commit -am 'first try'"))
    assert asked.covers.session == f"git commit -a -m … (any message) in {WORKSPACE}, in this session only"
    assert asked.covers.always == f"git commit -a -m … (any message) in {WORKSPACE}, in every session of this workspace until you revoke it"
    assert asked.choices == ("once", "session", "always", "no")
    with_variable = await question(command("make", env_vars={"LANG": "C"}))
    assert "make with LANG=C in" in str(with_variable.covers.session)


@pytest.mark.parametrize(
    "text", ["rm junk.txt", "mv a b", "git clean -f", "git push", "curl https://example.com/x", "npx thing", "python build.py", "node x.js", "bash run.sh"]
)
async def test_deleting_network_programs_and_interpreters_offer_no_always(text: str) -> None:
    asked = await question(command(text))
    assert asked.choices == ("once", "session", "no")
    assert asked.covers.session is not None
    assert asked.covers.always is None
    wider = msgspec.structs.replace(standing(asked).standing[0], lasts="always")
    assert not await allowed(text, Answers(standing=(wider,))), "also where such a grant were on record"


@pytest.mark.parametrize(
    "text", ["rm *.txt", "find . -name x | xargs rm", "git add *.py", "cat a | frob", "hash -p ./evil make; make", "nice -n 5 env X=1 make"]
)
async def test_what_a_command_works_on_but_does_not_name_offers_no_standing_answer(text: str) -> None:
    assert (await question(command(text))).choices == ("once", "no")


async def test_a_program_that_means_another_file_is_asked_about_again() -> None:
    answers = standing(await question(command("make")))
    with pytest.raises(Parked):
        await gate(POLICY, FakeFacts(programs={"make": WORKSPACE + "/bin/make"})).authorize(command("make"), answers)


async def test_a_directory_that_leads_elsewhere_now_is_another_one() -> None:
    text = "cd sub && make"
    asked = await question(command(text))
    assert f"make in {WORKSPACE}/sub" in str(asked.covers.session)
    assert await allowed(text, standing(asked))
    with pytest.raises(Parked):
        await gate(POLICY, FakeFacts(links={f"{WORKSPACE}/sub": f"{WORKSPACE}/other"})).authorize(command(text), standing(asked))


async def test_a_program_that_the_workspace_holds_may_be_another_one_next_time_and_offers_no_standing_answer() -> None:
    asked = await question(command("make"), facts=FakeFacts(programs={"make": WORKSPACE + "/bin/make"}))
    assert asked.choices == ("once", "no")


async def test_a_yes_to_a_script_covers_the_script_as_it_is_now() -> None:
    script = f"{WORKSPACE}/build.py"
    asked = await question(command("python build.py"), facts=FakeFacts(scripts={script: "a" * 64}))
    assert asked.covers.session == f"python build.py in {WORKSPACE} (build.py as it is now; other files that it loads may change), in this session only"
    await gate(POLICY, FakeFacts(scripts={script: "a" * 64})).authorize(command("python build.py"), standing(asked))
    for scripts in ({script: "b" * 64}, {}):
        with pytest.raises(Parked):
            await gate(POLICY, FakeFacts(scripts=scripts)).authorize(command("python build.py"), standing(asked))
    assert (await question(command("python build.py"), facts=FakeFacts(scripts={}))).choices == ("once", "no"), "nothing to hold it to"


async def test_a_script_is_not_covered_beside_a_command_that_may_change_it() -> None:
    one, two = [standing(await question(command(text))).standing for text in ("cp evil.py build.py", "python build.py")]
    assert await allowed("cp evil.py build.py", Answers(standing=(*one, *two)))
    assert not await allowed("cp evil.py build.py; python build.py", Answers(standing=(*one, *two)))


@pytest.mark.parametrize("text", ["make", "cargo test", "npm run build", "just", "tox", "pytest -q"])
async def test_what_runs_the_files_of_the_workspace_is_covered_in_the_session_only_and_says_so(text: str) -> None:
    asked = await question(command(text))
    assert asked.choices == ("once", "session", "no")
    assert asked.covers.session == f"{text} in {WORKSPACE} (whatever the workspace's files hold then), in this session only"


async def test_long_arguments_are_shortened_to_words_that_stay_exact() -> None:
    mail = spec("mail", risk=Risk.HIGH)
    texts = [(await question(action(mail, to="ann", body="x" * 2_000 + end))).covers.session for end in "ab"]
    assert all(len(str(text)) < 400 and "2,003 characters, SHA-256 " in str(text) for text in texts)
    assert texts[0] != texts[1]
    many = await question(action(mail, **{f"a{n}": "y" * 90 for n in range(50)}))
    assert len(str(many.covers.session)) < 400
    assert "SHA-256" in str(many.covers.session)
    long = await question(command("mkdir " + "d" * 1_000))
    assert len(str(long.covers.session)) < 400


async def test_a_yes_to_a_file_tool_covers_the_directory_of_its_path_and_none_below() -> None:
    answers = standing(await question(action(DELETE, path="sub/b.txt")))
    await gate().authorize(action(DELETE, path="sub/c.txt"), answers)
    for path in ("sub/deep/c.txt", "subway.txt", "other/b.txt"):
        with pytest.raises(Parked):
            await gate().authorize(action(DELETE, path=path), answers)
    with pytest.raises(Parked):
        await gate(ASKS_ALWAYS).authorize(action(WRITE, path="sub/c.txt"), answers)


async def test_a_yes_to_an_address_covers_its_host_and_port() -> None:
    facts = FakeFacts(addresses={"example.com": ("93.184.216.34",), "www.example.com": ("93.184.216.34",)})
    asked = await question(action(FETCH, url="https://example.com/a"), ASKS_ALWAYS, facts)
    assert asked.covers.session == "web_fetch from example.com, port 443, in this session only"
    answers = standing(asked, "always")
    judged = gate(ASKS_ALWAYS, facts)
    await judged.authorize(action(FETCH, url="https://example.com:443/b"), answers)
    for url in ("https://example.com:8443/a", "http://example.com/a", "https://www.example.com/a"):
        with pytest.raises(Parked):
            await judged.authorize(action(FETCH, url=url), answers)


OTHER: list[dict[str, Any]] = [
    {"risk": Risk.CRITICAL},
    {"description": "Another one."},
    {"powers": (Power.WRITE, Power.DELETE, Power.NETWORK)},
    {"effect": Effect.ONCE},
    {"input_schema": {"type": "object"}},
]


@pytest.mark.invariant("gate.covers")
@pytest.mark.parametrize("other", OTHER, ids=lambda change: "".join(change))
@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [(DELETE, {"path": "sub/b.txt"}, "directory"), (FETCH, {"url": "https://example.com/a"}, "host"), (TERMINAL, {"command": "make"}, "program")],
)
async def test_a_standing_yes_to_a_tool_is_none_to_another_one_of_its_name(tool: ToolSpec, arguments: dict[str, Any], kind: str, other: dict[str, Any]) -> None:
    facts = FakeFacts(addresses={"example.com": ("93.184.216.34",)})
    judged = gate(ASKS_ALWAYS, facts)
    asked = await question(action(tool, **arguments), ASKS_ALWAYS, facts)
    assert [scope.kind for scope in asked.scopes] == [kind]
    await judged.authorize(action(tool, **arguments), standing(asked))
    with pytest.raises(Parked):
        await judged.authorize(action(msgspec.structs.replace(tool, **other), **arguments), standing(asked))


async def test_a_standing_yes_of_an_earlier_version_counts_for_built_in_tools_alone() -> None:
    for tool, arguments in ((DELETE, {"path": "sub/b.txt"}), (TERMINAL, {"command": "make"})):
        built_in = msgspec.structs.replace(tool, built_in=True)
        asked = await question(action(built_in, **arguments), ASKS_ALWAYS)
        earlier = msgspec.structs.replace(asked, scopes=tuple(Scope(scope.kind, scope.value, scope.tool) for scope in asked.scopes))
        changed = msgspec.structs.replace(built_in, description="The same in other words.")
        for now in (built_in, changed):
            await gate(ASKS_ALWAYS).authorize(action(now, **arguments), standing(earlier))
        with pytest.raises(Parked):
            await gate(ASKS_ALWAYS).authorize(action(tool, **arguments), standing(earlier))


async def test_a_yes_to_a_tool_of_ones_own_covers_the_same_arguments() -> None:
    mail = spec("mail", risk=Risk.HIGH)
    answers = standing(await question(action(mail, to="ann")), "always")
    await gate().authorize(action(mail, to="ann"), answers)
    with pytest.raises(Parked):
        await gate().authorize(action(mail, to="bob"), answers)
    assert (await question(action(spec("run_it", powers=(Power.EXECUTE,)), code="x"))).choices == ("once", "session", "no")


async def test_the_verdict_names_the_grant_that_was_used() -> None:
    asked = await question(command("git commit -m x"))
    grant = await gate().authorize(command("git commit -m x"), standing(asked, "always"))
    assert grant.verdict is not None
    first = grant.verdict.rules[0]
    assert (first.id, first.decision) == ("grant.Q123456789", Decision.ALLOW)
    assert first.reason == f"grant Q123456789 covers it: {asked.covers.always}"
    explained = await gate().judge(command("git commit -m x"), standing(asked, "always").standing)
    assert (explained.decision, explained.rules) == (Decision.ALLOW, grant.verdict.rules)


async def test_an_answer_says_which_files_it_is_held_to_and_holds_to_them() -> None:
    makefile = f"{WORKSPACE}/Makefile"
    asked = await question(command("make"), facts=FakeFacts(code={makefile: "a" * 64}))
    assert asked.covers.session == f"make in {WORKSPACE} (Makefile as it is now; other files that it loads may change), in this session only"
    assert (asked.action.programs, asked.action.files) == ({"make": "/usr/bin/make"}, {makefile: "a" * 64})
    await gate(POLICY, FakeFacts(code={makefile: "a" * 64})).authorize(command("make"), standing(asked))
    for code in ({makefile: "b" * 64}, {}):
        with pytest.raises(Parked):
            await gate(POLICY, FakeFacts(code=code)).authorize(command("make"), standing(asked))


@pytest.mark.invariant("gate.held")
async def test_a_yes_for_once_is_one_to_the_files_and_places_that_were_there() -> None:
    script, other = f"{WORKSPACE}/build.py", f"{WORKSPACE}/other"
    asked = await question(command("python build.py"), facts=FakeFacts(scripts={script: "a" * 64}))
    yes = answered(asked.hash, "once")
    await gate(POLICY, FakeFacts(scripts={script: "a" * 64})).authorize(command("python build.py"), yes)
    with pytest.raises(Parked):
        await gate(POLICY, FakeFacts(scripts={script: "b" * 64})).authorize(command("python build.py"), yes)
    asked = await question(command("rm sub/junk.txt"))
    assert asked.action.targets == (f"delete {WORKSPACE}/sub/junk.txt",)
    for facts in (FakeFacts(links={f"{WORKSPACE}/sub": other}), FakeFacts(digests={f"{WORKSPACE}/sub/junk.txt": "c" * 64})):
        with pytest.raises(Parked):
            await gate(POLICY, facts).authorize(command("rm sub/junk.txt"), answered(asked.hash, "once"))
    asked = await question(command("cd sub && frobnicate"))
    moved = FakeFacts(links={f"{WORKSPACE}/sub": other})
    with pytest.raises(Parked):
        await gate(POLICY, moved).authorize(command("cd sub && frobnicate"), answered(asked.hash, "once"))


DOWNLOADS = (
    *("-x http://proxy:1", "--proxy=http://p", "--next", "-T a", "-d x=1", "--data=@a", "-F a=@b", "-K conf", "--resolve example.com:443:1.2.3.4", "-sT a"),
    *("--connect-to ::evil.example:443", "https://evil.example/y", "-X POST", "-b jar", "-H X-A:1", "-u a:b", "--doh-url https://d", "-sx http://p", "-q"),
)


@pytest.mark.parametrize("option", DOWNLOADS)
async def test_a_download_that_goes_elsewhere_or_sends_something_offers_no_standing_answer(option: str) -> None:
    assert (await question(command(f"curl {option} https://example.com/x"))).choices == ("once", "no")


@pytest.mark.parametrize(
    "text", ["wget -i list https://example.com/x", "wget --post-file=a https://example.com/x", "wget -e use_proxy=on https://example.com/x"]
)
async def test_so_does_wget(text: str) -> None:
    assert (await question(command(text))).choices == ("once", "no")


@pytest.mark.parametrize(
    "text", ["curl https://example.com/x", "curl -sSfL -o a.zip --max-time 9 https://example.com:8443/x", "wget -q -O a https://example.com/x"]
)
async def test_a_plain_download_is_covered_with_the_place_it_reaches(text: str) -> None:
    asked = await question(command(text))
    port = 8443 if "8443" in text else 443
    assert asked.covers.session == f"{text} in {WORKSPACE} (reaches example.com:{port} alone), in this session only"
    assert not await allowed(f"cat secret.txt; {text}", standing(asked))
    assert "may reach every public place" in str((await question(command("git push"))).covers.session)


@pytest.mark.parametrize(
    ("text", "ran"),
    [
        ("bash x.sh", "x.sh"),
        ("bash -x -o pipefail x", "x"),
        ("bash --rcfile rc x", "rc"),
        ("./run a", "run"),
        ("python3.11 -u -W ignore x.py", "x.py"),
        ("python app", "app/__main__.py"),
        ("python -m pkg.tool", "pkg/tool.py"),
        ("python -m pkg.tool", "pkg/__init__.py"),
        ("python -m pytest", "conftest.py"),
        (". ./env.sh", "env.sh"),
        ("source env", "env"),
        ("make -C sub all", "sub/Makefile"),
        ("make all", "GNUmakefile"),
        ("npm run build", "package.json"),
        ("npm --prefix=web test", "web/package.json"),
        ("pytest -q", "tests/conftest.py"),
        ("cat x.txt | bash", "x.txt"),
        ("bash < x.txt", "x.txt"),
        ("timeout 5 env A=1 bash x", "x"),
        ("find . -name a -exec ./x {} +", "x"),
        ("echo a | xargs -n1 bash x", "x"),
        ("bash -c './x a'", "x"),
        ("git push", ".git/config"),
        ("node --require ./hook x", "hook"),
        ("curl -T notes.txt https://example.com/", "notes.txt"),
    ],
)
def test_the_files_that_a_line_runs_as_code_are_found_in_each_spelling(text: str, ran: str) -> None:
    line = analyse(text, cwd=WORKSPACE, workspace=WORKSPACE, policy=POLICY, env={})
    assert f"{WORKSPACE}/{ran}" in ran_files.of_line(line).ran


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("frob --conf=x.cfg", "x.cfg"),
        ("make -fx.mk", "x.mk"),
        ("frob @args a.py", "args"),
        ("python -c 'exec(open(\"x.py\").read())'", "x.py"),
    ],
)
def test_what_may_be_code_is_looked_at(text: str, named: str) -> None:
    line = analyse(text, cwd=WORKSPACE, workspace=WORKSPACE, policy=POLICY, env={})
    assert f"{WORKSPACE}/{named}" in ran_files.of_line(line).named


@pytest.mark.parametrize("text", ["ls -l x.py", "rm x.py", "cp a b && mkdir c", "cat x.sh"])
def test_a_line_that_runs_no_code_names_none(text: str) -> None:
    line = analyse(text, cwd=WORKSPACE, workspace=WORKSPACE, policy=POLICY, env={})
    assert ran_files.of_line(line) == ran_files.NamedFiles()
