"""The scenes of docs/what-you-see.md: what stands in the way, and what a person sees then."""

import time

from tests.cli.program import Terminal

from .play import Page
from .stage import Stage, kill, service, until

INTRODUCTION = """\
# What you see when something goes wrong

Recorded from real runs by `tests/docs/scenes.py`; CI plays every scene again and compares it with this page. A command that did not end with 0
shows its exit code in the last line. Answers go to standard output, everything else to standard error. Each scene ends with a look at the record:
what was recorded before is there, unchanged.
"""
AUTO = "--approvals auto --trust high"


def no_key(stage: Stage) -> None:
    """No key

    Nothing is started and nothing sent: it is said which variable is missing.
    """
    seen = stage.types('neuralclaw run --session hello --model openai:gpt-4o "hello"', code=78)
    assert seen.out == ""
    assert "OPENAI_API_KEY" in seen.err
    stage.tells("An empty one counts as absent. A program gets the same as an object:")
    stage.types('OPENAI_API_KEY= neuralclaw run --session hello --model openai:gpt-4o --output json "hello"', code=78)
    assert stage.events("hello") == []


def wrong_key(stage: Stage) -> None:
    """A wrong key

    The service's own words, and what to do. The key itself is neither shown nor recorded.
    """
    key = "sk-wrong-key-of-nobody"
    shown = f"{key[:8]}{'*' * (len(key) - 12)}{key[-4:]}"
    text = f"Incorrect API key provided: {shown}. You can find your API key at https://platform.openai.com/account/api-keys."
    refusal = {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}}
    with service(lambda given, _: (401, refusal) if given == key else (500, {})) as url:
        stage.quietly(f"export OPENAI_BASE_URL={url}")
        stage.types(f"export OPENAI_API_KEY={key}")
        seen = stage.types('neuralclaw run --session hello --model openai:gpt-4o "hello"', code=1)
        assert seen.out == ""
        assert "401" in seen.err
    assert [e["kind"] for e in stage.events("hello") if e["type"] == "error"] == ["LLMAuthError"]
    assert not [path for path in stage.home.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]


def unknown_model(stage: Stage) -> None:
    """A model that the service does not know

    It ends with 1. The turn and its end are on record, so that the same session can go on with another model.
    """

    def answer(_: str, model: str) -> tuple[int, object]:
        text = f"The model `{model}` does not exist or you do not have access to it."
        return 404, {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": "model_not_found"}}

    with service(answer) as url:
        stage.quietly(f"export OPENAI_BASE_URL={url} OPENAI_API_KEY=sk-of-nobody")
        assert stage.types('neuralclaw run --session hello --model openai:gpt-4oo "hello"', code=1).out == ""
    stage.types('neuralclaw run --session hello --model offline "calculate 6*7"')
    assert [e["status"] for e in stage.events("hello") if e["type"] == "turn.finished"] == ["failed", "done"]


def unknown_provider(stage: Stage) -> None:
    """A service that nobody knows

    Those there are, and the nearest name.
    """
    seen = stage.types('neuralclaw run --session hello --model opnai:gpt-4o "hello"', code=78)
    assert seen.out == ""
    assert "openai" in seen.err
    assert stage.events("hello") == []


def bad_settings(stage: Stage) -> None:
    """Settings that cannot be read

    File, line and key are named, and the nearest right word. What only reads works without them.
    """
    stage.types("printf 'agent:\\n  name: Claw\\n max_iterations_per_turn: 5\\n' > ~/.local/share/neuralclaw/config.yaml")
    assert ":3:" in stage.types('neuralclaw run "calculate 6*7"', code=78).err
    stage.types("printf 'agent:\\n  max_iteration_per_turn: 5\\n' > ~/.local/share/neuralclaw/config.yaml")
    assert "max_iterations_per_turn" in stage.types('neuralclaw run "calculate 6*7"', code=78).err
    stage.types("printf 'agent:\\n  max_iterations_per_turn: ten\\n' > ~/.local/share/neuralclaw/config.yaml")
    assert stage.types('neuralclaw run "calculate 6*7"', code=78).out == ""
    stage.types("neuralclaw config check", code=78)
    stage.types("neuralclaw audit verify")


def full_disk(stage: Stage) -> None:
    """A full disk

    Here the home and the workspace lie on a disk of 2 MB, and a command of the agent fills it. The step that cannot be recorded ends the run;
    what was recorded before is kept.
    """
    stage.enter("bwrap", "--dev-bind", "/", "/", "--size", str(2 << 20), "--tmpfs", str(stage.you), "--chdir", str(stage.you), "--")
    seen = stage.types(f'neuralclaw run --session film {AUTO} "run head -c 8M /dev/zero > film then calculate 6*7"', code=1)
    assert seen.out == ""
    stage.tells("Nothing new can begin, and everything that only reads works:")
    assert '"kind":"StoreError"' in stage.types('neuralclaw run --session more --output json "calculate 6*7"', code=1).err
    assert stage.events("more") == []
    stage.types("neuralclaw sessions list")
    assert "tool.started" in stage.types("neuralclaw sessions show film | tail -n 3").out
    stage.types("neuralclaw audit verify")
    stage.tells("When there is space again, the turn continues. It is not known whether the command did its work, so it is not run again.")
    stage.types("rm film")
    assert "may have happened" in stage.types("neuralclaw run --resume film", code=1).out
    assert [e["type"] for e in stage.events("film")].count("tool.started") == 1


def read_only_home(stage: Stage) -> None:
    """A read-only home

    Nothing is written, not even a lock; what only reads works, also when the last run was killed and left its latest steps in SQLite's log.
    """
    with stage.terminal("run", "--session", "killed", "--approvals", "auto", "run sleep 300") as terminal:
        terminal.until("> terminal")
        until(lambda: any(e["type"] == "tool.started" for e in stage.events("killed")))
        kill(terminal)
    assert (stage.home / "neuralclaw.db-wal").stat().st_size
    before = {path.name: path.read_bytes() for path in stage.home.rglob("*") if path.is_file()}
    stage.enter("bwrap", "--dev-bind", "/", "/", "--ro-bind", str(stage.home), str(stage.home), "--")
    assert stage.types('neuralclaw run "calculate 6*7"', code=1).out == ""
    stage.types("neuralclaw run --resume killed", code=1)
    stage.types("neuralclaw sessions list")
    assert "tool.started" in stage.types("neuralclaw sessions show killed | tail -n 1").out
    stage.types("neuralclaw audit verify")
    assert {path.name: path.read_bytes() for path in stage.home.rglob("*") if path.is_file()} == before


def unusable_home(stage: Stage) -> None:
    """A home that cannot be used

    It is refused with the reason, never replaced by another place.
    """
    stage.types("echo mine > diary.txt")
    assert stage.types('neuralclaw --home diary.txt run "calculate 6*7"', code=78).out == ""
    stage.types('neuralclaw --home diary.txt/here run "calculate 6*7"', code=78)
    assert stage.quietly("cat diary.txt").out == "mine\n"


def ctrl_c(stage: Stage) -> None:
    """Ctrl-C in the middle of a command

    The command and all its processes are gone within a second; what was done is said and recorded. A second Ctrl-C would leave at once.
    """
    task = "run sleep 301 then calculate 6*7"
    with stage.terminal("run", "--session", "nap", "--approvals", "auto", task) as terminal:
        terminal.until("> terminal")
        until(lambda: stage.runs("sleep 301"))
        stage.screen(f'neuralclaw run --session nap --approvals auto "{task}"', terminal, code=stopped(terminal))
    assert not stage.runs("sleep 301")
    stage.types("neuralclaw sessions show nap --after 4")
    assert [e["status"] for e in stage.events("nap") if e["type"] == "turn.finished"] == ["cancelled"]
    stage.tells("At a question it does the same, and the question is closed.")
    with stage.terminal("run", "--session", "ask", "run rm shopping.txt") as terminal:
        terminal.until("Enter > ")
        stage.screen('neuralclaw run --session ask "run rm shopping.txt"', terminal, code=stopped(terminal))
    assert stage.types("neuralclaw approvals list").out == ""


def stopped(terminal: Terminal) -> int:
    """Type Ctrl-C and see the end within a second; the exit code."""
    begun = time.monotonic()
    terminal.type("\x03")
    code = terminal.end()
    assert time.monotonic() - begun < 5  # the promise is one second; a busy machine may take longer
    assert code == 130, terminal.seen
    return code


def ten_megabytes(stage: Stage) -> None:
    """10 MB of output

    The model, the screen and the entry get its two ends, and how much there was. The whole is kept beside the record: `read_result` reads it page by page.
    """
    seen = stage.types(f'neuralclaw run --session digits {AUTO} "run seq 1000001 2250000" | tail -n 3')
    assert "10,000,000" in seen.out
    (finished,) = [e for e in stage.events("digits") if e["type"] == "tool.finished"]
    assert finished["ok"]
    assert finished["truncated"]
    assert len(finished["content"]) < 21_000
    page = f'{{"call_id": "{finished["call_id"]}", "offset": 9999976}}'
    assert "2250000" in stage.types(f"neuralclaw tools call read_result '{page}' --session digits").out


def binary_output(stage: Stage) -> None:
    """Binary output

    What is no text is shown as such; a control character never reaches the terminal, not even one that a file tries to smuggle to it.
    """
    stage.types(r"printf '\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe \033]0;owned\007' > dot.png")
    with stage.terminal("run", "--session", "dot", "run cat dot.png") as terminal:
        assert terminal.end() == 0, terminal.seen
        stage.screen('neuralclaw run --session dot "run cat dot.png"', terminal)
        assert "\0" not in terminal.seen
        assert "\x07" not in terminal.seen
    assert "not a text file" in stage.types('neuralclaw run --session dot "read dot.png"', code=1).out


def stubborn_command(stage: Stage) -> None:
    """A command that ignores SIGTERM

    It is killed when its time is over, with everything it started; what it printed until then is kept.
    """
    script = r"trap '' TERM INT HUP; echo still here; while :; do sleep 1; done"
    stage.types(f'echo "{script}" > stubborn.sh')
    stage.types("printf 'tools: {terminal: {default_timeout_seconds: 1}}\\n' > ~/.local/share/neuralclaw/config.yaml")
    begun = time.monotonic()
    seen = stage.types(f'neuralclaw run --session stubborn {AUTO} "run bash stubborn.sh"', code=1)
    assert time.monotonic() - begun < 10
    assert "still here" in seen.out
    assert not stage.runs("bash stubborn.sh")
    (finished,) = [e for e in stage.events("stubborn") if e["type"] == "tool.finished"]
    assert not finished["ok"]
    stage.tells("Ctrl-C ends it as fast as any other.")
    stage.quietly("rm ~/.local/share/neuralclaw/config.yaml")
    command = ("run", "--session", "again", "--approvals", "auto", "run bash stubborn.sh")
    with stage.terminal(*command) as terminal:
        terminal.until("> terminal")
        until(lambda: stage.runs("bash stubborn.sh"))
        stage.screen('neuralclaw run --session again --approvals auto "run bash stubborn.sh"', terminal, code=stopped(terminal))
    assert not stage.runs("bash stubborn.sh")


def second_terminal(stage: Stage) -> None:
    """A question answered from a second terminal

    The first terminal waits; any other process can answer, and the first answer counts.
    """
    stage.quietly("echo milk > shopping.txt")
    with stage.terminal("run", "--session", "tidy", "run rm shopping.txt") as terminal:
        terminal.until("(question ")
        terminal.until("Enter > ")
        asked = terminal.seen.replace("\r\n", "\n")
        stage.shows("# first terminal", '$ neuralclaw run --session tidy "run rm shopping.txt"', asked)
        stage.shows("", "# second terminal")
        question = stage.types("neuralclaw approvals list").out.splitlines()[1].split()[0]
        stage.types(f"neuralclaw approvals answer {question} once")
        assert terminal.end() == 0, terminal.seen
        stage.shows("", "# first terminal again", terminal.seen.replace("\r\n", "\n")[len(asked) :].strip("\n"))
    stage.tells("It is too late for another answer.")
    stage.types(f"neuralclaw approvals answer {question} no", code=1)
    assert not (stage.project / "shopping.txt").exists()
    (resolved,) = [e for e in stage.events("tidy") if e["type"] == "approval.resolved"]
    assert resolved["decision"] == "once"
    stage.tells("A run over a pipe, with `--approvals ask` and its standard input open, waits in the same way and says what it waits for.")
    stage.quietly("echo flour > bread.txt")
    with stage.piped("run", "--session", "crumbs", "--approvals", "ask", "run rm bread.txt") as program:
        until(lambda: "approvals answer " in program.printed)
        question = program.printed.partition("approvals answer ")[2].split()[0]
        asked = program.printed
        stage.shows("# first terminal", '$ program | neuralclaw run --session crumbs --approvals ask "run rm bread.txt"', asked, "", "# second terminal")
        stage.types(f"neuralclaw approvals answer {question} no")
        assert program.end() == 1
        stage.shows("", "# first terminal again", program.printed[len(asked) :])
    assert (stage.project / "bread.txt").exists()


def killed_run(stage: Stage) -> None:
    """A killed run that continues

    `kill -9` in the middle of a command: what was recorded is there, no process is left, and `run --resume` continues from the last finished step.
    """
    task = "write milk to list.txt then run sleep 302 then read list.txt"
    with stage.terminal("run", "--session", "list", "--approvals", "auto", task) as terminal:
        terminal.until("> terminal")
        until(lambda: [e["type"] for e in stage.events("list")].count("tool.started") == 2)
        kill(terminal)
        stage.screen(f'neuralclaw run --session list --approvals auto "{task}"', terminal)
        stage.shows("Killed")
    until(lambda: not stage.runs("sleep 302"))
    stage.types("neuralclaw sessions list --unfinished")
    stage.tells("The finished step is not repeated. The command that was interrupted may have done its work, so it is not run again unasked. In a script:")
    assert "may have happened" in stage.types("neuralclaw run --resume list", code=1).out
    started = [e["name"] for e in stage.events("list") if e["type"] == "tool.started"]
    assert started.count("write_file") == started.count("terminal") == 1
    stage.tells("At a terminal you are asked.")
    stage.types("echo 'test -e half || { touch half; sleep 303; }; echo the rest is done' > work.sh")
    with stage.terminal("run", "--session", "work", "--approvals", "auto", "run bash work.sh") as terminal:
        until(lambda: stage.runs("sleep 303"))
        kill(terminal)
    with stage.terminal("run", "--resume", "work") as terminal:
        terminal.until("Enter > ")
        terminal.type("y\n")
        assert terminal.end() == 0, terminal.seen
        stage.screen("neuralclaw run --resume work", terminal)
        assert "the rest is done" in terminal.seen
    stage.types("neuralclaw audit verify")


PAGE = Page(
    "what-you-see.md",
    INTRODUCTION,
    no_key,
    wrong_key,
    unknown_model,
    unknown_provider,
    bad_settings,
    full_disk,
    read_only_home,
    unusable_home,
    ctrl_c,
    ten_megabytes,
    binary_output,
    stubborn_command,
    second_terminal,
    killed_run,
)
