"""The libraries that run a model file in this process: openvino-genai, else llama-cpp-python. Blocking code, for a worker thread."""

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol

import msgspec

from ..errors import ConfigError, LLMContextLengthError, LLMModelError
from ..types.cut_texts import cut_text
from .local_file import ModelFile

MOST_TOKENS = 4096
"""Tokens of a reply where the request does not say."""
LEAST_TOKENS = 16
"""Room for a reply that a prompt must leave in the window."""


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One generation. `schema`: the JSON that the text must be, as JSON Schema text, or ""."""

    messages: Sequence[dict[str, str]]
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    schema: str = ""


class GenerationEnd(msgspec.Struct, frozen=True):
    """How a generation ended, in tokens. `length`: at the limit of tokens."""

    prompt_tokens: int
    made: int
    length: bool


class Engine(Protocol):
    """A loaded model; one generation at a time."""

    def generate(self, asked: GenerationRequest, say: Callable[[str], bool]) -> GenerationEnd:
        """`say` takes the text as it is made and returns whether to continue. Raises `LLMError`, or `RuntimeError` of the library."""
        ...


def engine_name() -> str:
    """The library that is installed, the preferred one first. Raises `ConfigError` when there is none."""
    for name in ("openvino_genai", "llama_cpp"):
        if name in sys.modules or importlib.util.find_spec(name) is not None:
            return name
    raise ConfigError("a model in this process needs a library that is not installed", hint="pip install 'openvino-genai>=2026.4'")


def load_engine(file: ModelFile) -> Engine:
    """Read the model into memory: seconds. Raises `LLMModelError` for one that the library cannot run."""
    kind = OpenVino if engine_name() == "openvino_genai" else LlamaCpp
    try:
        return kind(file)
    except (RuntimeError, ValueError, LookupError, TypeError, OSError, ImportError, MemoryError) as error:
        raise LLMModelError(f"{file.name} ({file.architecture}) cannot be loaded: {first_line(error)}", hint="choose another model file") from error


def first_line(error: BaseException) -> str:
    """What a library of C++ says, without the place in its source."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Check ", "Exception from ")) and " failed at " not in line]
    return cut_text((telling or lines or [type(error).__name__])[0], 300)


class OpenVino:
    """openvino-genai on the processor. Its `openvino-telemetry` is never imported: see `_silent`."""

    def __init__(self, file: ModelFile) -> None:
        _silent()
        self._library: Any = import_module("openvino_genai")
        self._file = file
        self._pipe: Any = self._library.LLMPipeline(file.path, "CPU")
        self._tokenizer: Any = self._pipe.get_tokenizer()
        if not self._tokenizer.chat_template:
            raise ValueError("it has no chat template, so it is no model that one can talk to")

    def generate(self, asked: GenerationRequest, say: Callable[[str], bool]) -> GenerationEnd:
        messages, prompt_tokens = self._fitted(asked.messages)
        room = self._file.context - prompt_tokens
        if room < LEAST_TOKENS:
            text = f"the request has {prompt_tokens:,} tokens, more than the window of {self._file.name}: {self._file.context:,}"
            raise LLMContextLengthError(text, hint="start a new session, or use a model with a larger window")
        config = self._config(asked, min(asked.max_tokens or MOST_TOKENS, room))
        library = self._library

        def streamed(text: str) -> Any:
            return library.StreamingStatus.RUNNING if say(text) else library.StreamingStatus.CANCEL

        result = self._pipe.generate(library.ChatHistory(messages), config, streamed)
        length = result.finish_reasons[0] == library.GenerationFinishReason.LENGTH
        return GenerationEnd(prompt_tokens, int(result.perf_metrics.get_num_generated_tokens()), length)

    def _fitted(self, messages: Sequence[dict[str, str]]) -> tuple[list[dict[str, str]], int]:
        """The messages as the model's template takes them, and their tokens: some templates know no system message."""
        chat = list(messages)
        try:
            return chat, self._tokens(chat)
        except RuntimeError:
            if len(chat) < 2 or chat[0]["role"] != "system":
                raise
        joined = {"role": "user", "content": f"{chat[0]['content']}\n\n{chat[1]['content']}"}
        return [joined, *chat[2:]], self._tokens([joined, *chat[2:]])

    def _tokens(self, messages: list[dict[str, str]]) -> int:
        prompt = self._tokenizer.apply_chat_template(messages, add_generation_prompt=True)
        return int(self._tokenizer.encode(prompt, add_special_tokens=False).input_ids.shape[1])

    def _config(self, asked: GenerationRequest, most: int) -> Any:
        config = self._library.GenerationConfig()
        config.max_new_tokens = most
        config.do_sample = bool(asked.temperature)
        if asked.temperature:
            config.temperature = asked.temperature
            config.top_p = asked.top_p if asked.top_p else 1.0
        if asked.schema:
            config.structured_output_config = self._library.StructuredOutputConfig(json_schema=asked.schema)
        return config


def _silent() -> None:
    """Keep `openvino-telemetry` out of the process: without it OpenVINO uses the stub that it brings for that case, which sends nothing."""
    if "openvino_telemetry" not in sys.modules:
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]


class LlamaCpp:
    """llama-cpp-python, where a person has it."""

    def __init__(self, file: ModelFile) -> None:
        self._file = file
        self._model: Any = import_module("llama_cpp").Llama(model_path=file.path, n_ctx=file.context, verbose=False)

    def generate(self, asked: GenerationRequest, say: Callable[[str], bool]) -> GenerationEnd:
        form = {"type": "json_object", "schema": msgspec.json.decode(asked.schema)} if asked.schema else None
        try:
            chunks = self._model.create_chat_completion(
                messages=list(asked.messages),
                stream=True,
                max_tokens=asked.max_tokens or MOST_TOKENS,
                temperature=asked.temperature or 0.0,
                top_p=asked.top_p if asked.top_p else 1.0,
                response_format=form,
            )
            made, finish = 0, ""
            for chunk in chunks:
                choice = chunk["choices"][0]
                text = choice["delta"].get("content") or ""
                finish = choice.get("finish_reason") or finish
                made += bool(text)
                if text and not say(text):
                    break
        except ValueError as error:  # how it says that the prompt is too long
            raise LLMContextLengthError(f"{self._file.name}: {first_line(error)}", hint="start a new session") from error
        return GenerationEnd(max(0, int(self._model.n_tokens) - made), made, finish == "length")
