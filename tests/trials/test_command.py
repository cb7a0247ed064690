"""`neuralclaw models try` as a person and a script meet it."""

import json
import re
import signal
import subprocess
from pathlib import Path

import anyio
import pytest

from neuralclaw import Agent
from neuralclaw.app.trials.tasks import TASKS

from ..cli.program import PYTHON, Claw
from ..parts import small_model
from ..providers.loopback import LoopbackServer, Response, Seen, free_port, loopback
from ..waiting import until
from .scripted import reply, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.full]


@pytest.fixture
def claw(home: Path, tmp_path: Path) -> Claw:
    return Claw(home, tmp_path / "work")


def configured(claw: Claw, server: LoopbackServer) -> None:
    """A home whose service `mine` is the server. The seed of a trial is new each time: the server knows the tasks by their text alone."""
    models = {"good": {"tools": True, "price": {"input": 1, "output": 10}}, "bad": {"tools": True}}
    settings = {"llm": {"providers": {"mine": {"api": "chat", "base_url": server.url, "models": models}}, "retry": {"attempts": 1}}}
    (claw.home / "config.json").write_text(json.dumps(settings))


def computes(seen: Seen) -> Response:
    """The model `good` solves the calculation, out of the request alone; all else is claimed to be done."""
    asked = next(text_of(message) for message in seen.json["messages"] if message["role"] == "user")
    numbers = re.search(r"(\d+) \* (\d+) - (\d+)", asked)
    if seen.json["model"] != "good" or numbers is None:
        return reply("Done!", 0)
    left, right, less = map(int, numbers.groups())
    return reply(str(left * right - less), 0)


async def test_models_stand_side_by_side_and_every_failure_has_its_reason(claw: Claw) -> None:
    async with loopback() as server:
        configured(claw, server)
        server.answer = computes
        done = await claw("models", "try", "mine:good", "mine:bad", "--task", "calculation", "--task", "edit")
    assert done.code == 0, done
    lines = done.out.splitlines()
    assert lines[0].split() == ["TASK", "mine:good", "mine:bad"]
    assert lines[1].split() == ["edit", "FAIL", "FAIL"]
    assert lines[2].split() == ["calculation", "pass", "FAIL"]
    assert lines[3].split() == ["passes", "1", "of", "2", "0", "of", "2"]
    assert next(line.split() for line in lines if line.startswith("cost")) == ["cost,", "USD", "0.0030", "unknown"]
    assert "mine:good  edit: settings.ini is not what was asked for" in done.out
    assert "2 tasks for mine:good and mine:bad" in done.err
    assert "paid" not in done.err
    assert not (claw.home / "neuralclaw.db").exists()


async def test_json_is_one_list_with_an_object_for_each_model(claw: Claw) -> None:
    async with loopback() as server:
        configured(claw, server)
        server.answer = computes
        done = await claw("models", "try", "mine:good", "--task", "calculation", "--json")
    assert done.code == 0, done
    (value,) = done.json
    assert (value["model"], value["passes"], value["tasks"], value["calls"]) == ("mine:good", 1, 1, 1)
    assert value["usage"] == {"input": 1000, "cached": 400, "output": 50, "usd": pytest.approx(0.0015)}
    assert [result["task"] for result in value["results"]] == ["calculation"]


async def test_an_interrupted_trial_shows_what_it_measured_and_exits_130(claw: Claw) -> None:
    async with loopback() as server:
        configured(claw, server)
        server.answer = lambda seen: computes(seen) if len(server.seen) < 2 else Response([b": wait\n\n"], then="hang")
        with claw.started("models", "try", "mine:good", "--task", "calculation", "--task", "edit", "--json") as run:
            await until(lambda: len(server.seen) == 2)
            run.process.send_signal(signal.SIGINT)
            out, err = await anyio.to_thread.run_sync(lambda: run.process.communicate(timeout=10))
    assert run.process.returncode == 130
    (value,) = json.loads(out)
    assert ([result["task"] for result in value["results"]], value["tasks"]) == (["edit"], 2)
    assert b"stopped" in err


async def test_what_cannot_be_tried_has_the_exit_codes_of_run(claw: Claw) -> None:
    settings = {"llm": {"providers": {"gone": {"api": "chat", "base_url": f"http://127.0.0.1:{free_port()}/v1"}}, "retry": {"attempts": 1}}}
    (claw.home / "config.json").write_text(json.dumps(settings))
    assert (await claw("models", "try", "nowhere:m")).code == 78
    assert (await claw("models", "try")).code == 2
    assert (await claw("models", "try", "gone:m", "--task", "reed")).code == 2
    done = await claw("models", "try", "gone:m", "--json")
    assert (done.code, done.out) == (1, "")
    error = json.loads(done.err.splitlines()[-1])["error"]
    assert error["kind"] == "LLMUnavailableError"
    assert error["text"].startswith("gone:m could not be tried")


async def test_calls_that_cost_money_are_announced_first(claw: Claw) -> None:
    settings = {
        "llm": {
            "providers": {"far": {"api": "chat", "base_url": "http://192.0.2.1:9/v1", "api_key": "k" * 12}},
            "timeout_seconds": 0.3,
            "retry": {"attempts": 1},
        }
    }
    (claw.home / "config.json").write_text(json.dumps(settings))
    done = await claw("models", "try", "far:m", "--task", "read")
    assert done.code == 1
    assert "These are real calls: what far:m charges for them is paid." in done.err


async def test_closing_the_terminal_leaves_nothing_behind(claw: Claw, tmp_path: Path) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    claw.env["TMPDIR"] = str(place)
    async with loopback() as server:
        configured(claw, server)
        server.answer = lambda seen: Response([b": wait\n\n"], then="hang")
        with claw.started("models", "try", "mine:good", "--task", "edit", "--json") as run:
            await until(lambda: len(server.seen) == 1)
            assert [path.name for path in place.iterdir() if path.name.startswith("neuralclaw-try-")]
            run.process.send_signal(signal.SIGHUP)
            run.process.send_signal(signal.SIGHUP)  # a shell sends it once more
            await anyio.to_thread.run_sync(lambda: run.process.communicate(timeout=10))
    assert run.process.returncode == 130
    assert [path.name for path in place.iterdir() if path.name.startswith("neuralclaw-try-")] == []


async def test_a_command_under_nohup_stays(claw: Claw) -> None:
    async with loopback() as server:
        configured(claw, server)
        server.answer = lambda seen: computes(seen) if len(server.seen) == 2 else Response([b": wait\n\n"], then="hang")
        words = (*PYTHON, "models", "try", "mine:good", "--task", "edit", "--timeout", "600")
        with subprocess.Popen(
            ["nohup", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=claw.workspace, env=claw.env
        ) as run:
            await until(lambda: len(server.seen) == 1)
            run.send_signal(signal.SIGHUP)
            run.send_signal(signal.SIGINT)
            out, _ = await anyio.to_thread.run_sync(lambda: run.communicate(timeout=10))
    assert run.returncode == 130
    assert b"stopped: this was done so far" in out


async def test_a_run_that_ends_early_shows_what_was_measured(claw: Claw, tmp_path: Path) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    claw.env["TMPDIR"] = str(place)
    async with loopback() as server:
        configured(claw, server)

        def answer(seen: Seen) -> Response:
            if len(server.seen) == 2:
                place.rename(tmp_path / "gone")  # with the record of the second task
                place.write_text("")
            return computes(seen)

        server.answer = answer
        done = await claw("models", "try", "mine:good", "--task", "edit", "--task", "calculation", "--json", env={"TMPDIR": str(place)})
    assert done.code == 1, done
    (value,) = done.json
    assert ([result["task"] for result in value["results"]], value["tasks"], value["calls"]) == (["edit"], 2, 1)


async def test_offline_is_tried_and_understands_nothing(claw: Claw) -> None:
    done = await claw("models", "try", "offline", "--task", "find", "--task", "read")
    assert done.code == 0, done
    assert done.out.splitlines()[3].split() == ["passes", "0", "of", "2"]
    assert "find: offline: not understood: In which file" in done.out


async def test_the_small_real_model_goes_the_whole_way(tmp_path: Path) -> None:
    settings = {"llm.temperature": 0, "llm.max_tokens": 12, "agent.environment_snapshot": False}
    async with Agent.open(home=tmp_path / "home", workspace=tmp_path, settings=settings, environ={"HOME": str(tmp_path)}) as agent:
        (value,) = await agent.do("models.try", models=[f"local:{small_model()}"], tasks=["calculation"], timeout=100)
    (result,) = value["results"]
    assert (result["task"], value["error"]) == ("calculation", None)
    assert value["calls"] >= 1
    assert value["usage"]["input"] > 0
    assert value["usage"]["usd"] in (None, 0)
    assert result["passed"] or result["why"]


async def test_all_tasks_are_named_in_the_help(claw: Claw) -> None:
    told = (await claw("models", "try", "--help")).out
    assert [task.name for task in TASKS if task.name not in told] == []
