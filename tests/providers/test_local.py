"""A real language model inside the process: loaded once, heard token by token, stopped at a token, at work through the whole program."""

import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from neuralclaw.errors import ConfigError
from neuralclaw.providers.local import LocalProvider
from neuralclaw.providers.local_file import read_model_file
from neuralclaw.providers.plain_tools.wrapper import PlainTools
from neuralclaw.types import messages as m

from ..cli.program import Claw
from ..parts import small_model

pytestmark = pytest.mark.anyio


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(*, context: int = 512, version: int = 3, missing: int = 0) -> bytes:
    """A GGUF file with a window, a list of words and one tensor of 4 numbers."""
    values = [text("general.architecture") + struct.pack("<I", 8) + text("llama"), text("llama.context_length") + struct.pack("<II", 4, context)]
    values.append(text("words") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("bc"))
    tensor = text("t") + struct.pack("<IQIQ", 1, 4, 0, 0)
    head = b"GGUF" + struct.pack("<IQQ", version, 1, len(values)) + b"".join(values) + tensor
    return (head + bytes(-len(head) % 32) + bytes(16))[: None if not missing else -missing]


def test_the_head_says_the_window(tmp_path: Path) -> None:
    (path := tmp_path / "m.gguf").write_bytes(gguf(context=777))
    file = read_model_file(str(path))
    assert (file.name, file.architecture, file.context) == ("m.gguf", "llama", 777)


@pytest.mark.parametrize("data", [b"hello", b"", gguf(version=9), gguf()[:40], b"GGUF" + b"\xff" * 60, b"GGUF" + struct.pack("<IQQ", 3, 0, 10**15)])
def test_what_is_no_model_is_refused_in_a_sentence(tmp_path: Path, data: bytes) -> None:
    (path := tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises(ConfigError, match="is not a GGUF model file"):
        read_model_file(str(path))


def test_half_a_file_is_refused_before_the_library_dies_of_it(tmp_path: Path) -> None:
    (path := tmp_path / "m.gguf").write_bytes(gguf(missing=1))
    with pytest.raises(ConfigError, match="is not whole"):
        read_model_file(str(path))


def test_a_name_is_a_path_or_a_file_of_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("models", "person", "here"):
        (tmp_path / place).mkdir()
        (tmp_path / place / f"{place}.gguf").write_bytes(gguf())
    monkeypatch.chdir(tmp_path / "here")
    provider = LocalProvider(str(tmp_path / "models"), str(tmp_path / "person"))
    for name, place in (("models.gguf", "models"), ("~/person.gguf", "person"), ("here.gguf", "here"), (str(tmp_path / "here" / "here.gguf"), "here")):
        assert provider.file(name).path == str(tmp_path / place / f"{place}.gguf")
    with pytest.raises(ConfigError, match="there is no model file"):
        provider.file("none.gguf")


async def reply_of(provider: Any, **request: Any) -> tuple[list[m.ModelEvent], m.ModelReply]:
    asked = m.Request(**{"messages": (m.UserMessage("What is the capital of France?"),), "temperature": 0.0, "max_tokens": 40, **request})
    async with provider.stream(asked) as events:
        seen = [event async for event in events]
    last = seen.pop()
    assert isinstance(last, m.Finished)
    assert "".join(event.text for event in seen if isinstance(event, m.TextPart)) == last.reply.text
    return seen, last.reply


async def test_a_file_that_the_library_cannot_run_is_a_failure_of_the_model(tmp_path: Path) -> None:
    (path := tmp_path / "m.gguf").write_bytes(gguf())
    _, reply = await reply_of(LocalProvider("", ""), model=str(path))
    assert reply.failure is not None
    assert reply.failure.kind == "LLMModelError"
    assert "m.gguf (llama) cannot be loaded" in reply.failure.text


def resident() -> int:
    """Megabytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4 // 1024


@pytest.fixture(scope="module")
def path() -> str:
    return str(small_model())


@pytest.mark.full
async def test_it_answers_token_by_token_and_is_loaded_once_in_a_process(path: str) -> None:
    seen, reply = await reply_of(LocalProvider("", ""), model=path)
    assert isinstance(seen[0], m.Notice)
    assert "loading SmolLM2" in seen[0].text
    assert len(seen) > 5
    assert "Paris" in reply.text
    assert (reply.stop, reply.usage.usd) == ("end", 0.0)
    assert reply.usage.input > 10
    assert reply.usage.output >= len(seen) - 2
    before = resident()
    seen, again = await reply_of(LocalProvider("", ""), model=path)
    assert not any(isinstance(event, m.Notice) for event in seen)
    assert (again.text, again.usage) == (reply.text, reply.usage)
    assert resident() - before < 60
    assert sys.modules.get("openvino_telemetry") is None


@pytest.mark.full
async def test_ending_the_stream_ends_the_generation_at_a_token_and_others_wait_their_turn(path: str) -> None:
    provider = LocalProvider("", "")
    long = m.Request(model=path, messages=(m.UserMessage("Write a long story about the rain."),), temperature=0.0, max_tokens=3000)
    with anyio.fail_after(30):
        async with provider.stream(long) as events:
            async for event in events:
                if isinstance(event, m.TextPart):
                    break
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(lambda: reply_of(provider, model=path))


@pytest.mark.full
async def test_limits_of_tokens_and_of_the_window_are_kept(path: str) -> None:
    provider = LocalProvider("", "")
    assert provider.info(path).context == 8192
    _, reply = await reply_of(provider, model=path, messages=(m.UserMessage("Write a long story."),), max_tokens=7)
    assert (reply.stop, reply.usage.output) == ("length", 7)
    _, reply = await reply_of(provider, model=path, messages=(m.UserMessage("rain " * 9000),))
    assert reply.failure is not None
    assert reply.failure.kind == "LLMContextLengthError"
    assert "8,192" in reply.failure.text


@pytest.mark.full
async def test_it_is_held_to_a_schema_and_so_to_calls(path: str) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}}, "required": ["city"], "additionalProperties": False}
    _, reply = await reply_of(LocalProvider("", ""), model=path, answer_schema=schema)
    assert list(msgspec.json.decode(reply.text)) == ["city"]
    tool = m.ToolDef(
        "switch", "Switches the light.", {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"], "additionalProperties": False}
    )
    for question in ("Switch the light on.", "Hello!", "What is two and two?", "Use switch with on true."):
        _, reply = await reply_of(PlainTools(LocalProvider("", "")), model=path, messages=(m.UserMessage(question),), tools=(tool,), system="You help.")
        assert reply.failure is None
        assert reply.tool_calls or not reply.text.startswith("{")
        assert all(call.error is None and isinstance(call.arguments["on"], bool) for call in reply.tool_calls if reply.stop == "tools")


CONFIG = "llm: {temperature: 0, max_tokens: 80}\nagent: {environment_snapshot: false}\n"


@pytest.mark.full
def test_the_program_does_a_task_with_it_and_no_network(home: Path, tmp_path: Path, path: str) -> None:
    (home / "config.yaml").write_text(CONFIG)
    options = ("--model", f"local:{path}", "--tools", "read_file", "--output", "stream-json")
    # The prompt names the workspace, and under some paths a model this small names another file: it is tried in a few.
    for name in ("work", "project", "notes", "desk", "house"):
        claw = Claw(home, tmp_path / name)
        (claw.workspace / "notes.txt").write_text("The meeting is on Tuesday at ten.\n")
        with claw.started("run", *options, "Read the file notes.txt") as run:
            lines = list(run.events())  # nothing but events stands on standard output
            ended = run.process.wait(30), run.err.read().decode()
        assert ended in ((0, ""), (4, "")), "a file that is not there, asked for again, is a limit; nothing else ends it otherwise"
        if ended[0] == 0:
            break
    assert ended == (0, "")
    finished = [line for line in lines if line["type"] == "tool.finished"]
    assert [(line["name"], line["ok"], line["content"].strip()) for line in finished] == [("read_file", True, "The meeting is on Tuesday at ten.")]
    assert (lines[-1]["status"], lines[-1]["usage"]["usd"]) == ("done", 0)
    assert [line["text"] for line in lines if line["type"] == "status"] == ["loading SmolLM2-135M-Instruct.Q4_1.gguf…"]


@pytest.mark.full
def test_stopping_the_program_in_the_middle_of_a_generation_is_a_clean_end(home: Path, tmp_path: Path, path: str) -> None:
    claw = Claw(home, tmp_path / "work")
    (home / "config.yaml").write_text("llm: {temperature: 0}\n")
    with claw.started("run", "--model", f"local:{path}", "--output", "stream-json", "calculate 17*23") as run:
        run.until("status")
        run.process.send_signal(signal.SIGINT)
        last = list(run.events())[-1]
        assert (last["status"], run.process.wait(30)) == ("cancelled", 130)


def test_without_the_library_the_command_that_installs_it_is_told(tmp_path: Path) -> None:
    script = (
        "import sys; from neuralclaw.providers.local import LocalProvider; sys.path.clear(); sys.path_importer_cache.clear()\n"
        "try: LocalProvider('', '').file('m.gguf')\nexcept Exception as error: print(type(error).__name__, error.hint)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=20, check=True)
    assert done.stdout == "ConfigError pip install 'openvino-genai>=2026.4'\n"


async def test_a_file_that_is_not_there_is_named_before_the_turn(home: Path, tmp_path: Path) -> None:
    ran = await Claw(home, tmp_path / "work")("run", "--model", "local:none.gguf", "hello")
    assert ran.code == 78, ran
    assert "there is no model file" in ran.err
