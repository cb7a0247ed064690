"""A model file that runs in this process: no account, no network."""

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from typing import Any

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream

from ..errors import ConfigError, LLMError
from ..types.messages import (
    AssistantMessage,
    Failure,
    Finished,
    ModelEvent,
    ModelInfo,
    ModelReply,
    Notice,
    Price,
    Request,
    TextPart,
    ToolMessage,
    Usage,
    UserMessage,
)
from .images import without_images
from .local_engine import Engine, GenerationEnd, GenerationRequest, engine_name, first_line, load_engine
from .local_file import ModelFile, read_model_file

WAIT_SECONDS = 0.1
END_SECONDS = 10.0
"""How long the end of the process waits for a thread inside the library, which cannot be stopped between two tokens."""


class LoadedModel:
    """One model file in the memory of this process, whoever uses it. `lock`: one load or generation at a time."""

    def __init__(self, file: ModelFile) -> None:
        self.file = file
        self.lock = threading.Lock()
        self.engine: Engine | None = None


_loaded: dict[str, LoadedModel] = {}
_jobs: "set[Generation]" = set()


class Generation:
    """One generation in a thread of its own. What it says arrives in the loop's thread by `post`; `stop` ends it at its next token."""

    def __init__(self, model: LoadedModel, asked: GenerationRequest, post: Callable[[Any], None]) -> None:
        self._model, self._asked, self._post = model, asked, post
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, name=f"local {model.file.name}", daemon=True)

    def start(self) -> None:
        _jobs.add(self)
        self.thread.start()

    def _run(self) -> None:
        """The guard around the libraries: whatever they raise is the generation's end."""
        try:
            self._say(self._turn())
        except LLMError as error:
            self._say(Failure(error.kind, error.text, error.hint))
        except Exception as error:
            self._say(Failure("LLMError", f"{self._model.file.name} failed: {type(error).__name__}: {first_line(error)}"))
        finally:
            _jobs.discard(self)

    def _turn(self) -> GenerationEnd | None:
        while not self._model.lock.acquire(timeout=WAIT_SECONDS):
            if self.stop.is_set():
                return None
        try:
            if self._model.engine is None:
                self._model.engine = load_engine(self._model.file)
            self._say(None)  # from here on the model works
            return None if self.stop.is_set() else self._generate(self._model.engine)
        finally:
            self._model.lock.release()

    def _generate(self, engine: Engine) -> GenerationEnd:
        try:
            return engine.generate(self._asked, self._say)
        except RuntimeError:
            if not self._asked.schema or self.stop.is_set():
                raise
            return engine.generate(msgspec.structs.replace(self._asked, schema=""), self._say)  # a schema that the library cannot hold to

    def _say(self, what: Any) -> bool:
        """Hand over a piece of text, None when the work begins, or how it ended; False when nobody wants more."""
        if self.stop.is_set():
            return False
        try:
            self._post(what)
        except RuntimeError:  # the loop is closed
            return False
        return True


def _end_jobs() -> None:
    """A thread that comes back from C++ into an interpreter that is gone would abort the process."""
    for job in list(_jobs):
        job.stop.set()
        job.thread.join(END_SECONDS)


atexit.register(_end_jobs)


class LocalProvider:
    """GGUF models by path: absolute, relative to the current directory, beginning with `~`, or the name of a file in `folder`.

    A file is loaded with the first request for it, once in a process, and stays; a `Notice` says so. Text arrives token by token.
    Ending the stream ends the generation at the next token. `person_home` is what `~` stands for; `configured` the owner's words on
    models (`llm.providers.local.models`), by the name they are asked for.
    """

    def __init__(self, folder: str, person_home: str, configured: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self._folder, self._person_home, self._configured = folder, person_home, configured or {}
        self._files: dict[str, ModelFile] = {}

    def file(self, model: str) -> ModelFile:
        """The file that a model's name means. Raises `ConfigError` for a missing library, and for a file that is missing or unusable."""
        if model not in self._files:
            engine_name()
            self._files[model] = read_model_file(self._path(model))
        return self._files[model]

    def info(self, model: str) -> ModelInfo:
        """The window is the file's. Tools go through the prompt, and the model is held to their schema."""
        try:
            context = self.file(model).context
        except ConfigError:
            context = ModelInfo().context
        info = ModelInfo(context=context, tools=False, price=Price(0.0, 0.0), schema=True)
        configured = self._configured.get(model) or self._configured.get(os.path.basename(model)) or {}  # noqa: PTH119
        return msgspec.structs.replace(info, **{key: configured[key] for key in ("context", "tools") if key in configured})

    def count(self, request: Request) -> int:
        """A quarter of the letters: near enough, without loading the model for it."""
        return sum(len(message["content"]) for message in _messages(request)) // 4

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return aclosing(self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[ModelEvent]:
        try:
            file = self.file(request.model)
        except ConfigError as error:
            yield Finished(_failed(request.model, "", Failure("LLMModelError", error.text, error.hint)))
            return
        model = _loaded.setdefault(file.path, LoadedModel(file))
        if model.engine is None:
            yield Notice(f"loading {file.name}…")
        send, receive = anyio.create_memory_object_stream[Any](float("inf"))
        loop = asyncio.get_running_loop()

        def arrive(what: Any) -> None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the stream has just ended
                send.send_nowait(what)

        def post(what: Any) -> None:
            loop.call_soon_threadsafe(arrive, what)

        job = Generation(model, _asked(request), post)
        job.start()
        try:
            with send, receive:
                async with aclosing(self._parts(request, file, receive)) as parts:
                    async for part in parts:
                        yield part
        finally:
            job.stop.set()

    async def _parts(self, request: Request, file: ModelFile, receive: MemoryObjectReceiveStream[Any]) -> AsyncGenerator[ModelEvent]:
        """Text as it comes, then the end. The time limit counts from the moment the model works, not while it loads."""
        text: list[str] = []
        seconds: float | None = None
        while True:
            what: Any = ""
            with anyio.move_on_after(seconds) as limit:
                what = await receive.receive()
            if limit.cancelled_caught:
                what = Failure("LLMTimeoutError", f"{file.name} made no token in {request.timeout:g} s", retryable=False)
            match what:
                case None:
                    seconds = request.timeout
                case str():
                    if what:
                        text.append(what)
                        yield TextPart(what)
                case Failure():
                    yield Finished(_failed(file.name, "".join(text), what))
                    return
                case GenerationEnd():
                    usage = Usage(what.prompt_tokens, 0, what.made, 0.0)
                    yield Finished(ModelReply(text="".join(text), stop="length" if what.length else "end", model=file.name, usage=usage))
                    return

    def _path(self, model: str) -> str:
        if not model:
            raise ConfigError("local has no default model", hint="name a GGUF file: --model local:/path/model.gguf")
        if model.startswith("~/"):
            return os.path.join(self._person_home, model[2:])  # noqa: PTH118
        here = os.path.realpath(model)
        if os.sep in model or os.path.exists(here):  # noqa: PTH110
            return here
        kept = os.path.join(self._folder, model)  # noqa: PTH118
        return kept if os.path.exists(kept) else here  # noqa: PTH110


def _asked(request: Request) -> GenerationRequest:
    return GenerationRequest(
        messages=_messages(request),
        temperature=request.temperature,
        top_p=request.top_p,
        max_tokens=request.max_tokens,
        schema=msgspec.json.encode(request.answer_schema).decode() if request.answer_schema else "",
    )


def _messages(request: Request) -> list[dict[str, str]]:
    """The chat as the template takes it; the environment is at the end of the last message of the user."""
    chat = [{"role": "system", "content": request.system}] if request.system else []
    for message in request.messages:
        match message:
            case UserMessage():
                chat.append({"role": "user", "content": without_images(message)})
            case AssistantMessage():
                chat.append({"role": "assistant", "content": message.text})
            case ToolMessage():
                chat.append({"role": "user", "content": without_images(message)})
    if request.environment:
        if chat and chat[-1]["role"] == "user":
            chat[-1]["content"] += f"\n\n{request.environment}"
        else:
            chat.append({"role": "user", "content": request.environment})
    return chat


def _failed(model: str, text: str, failure: Failure) -> ModelReply:
    return ModelReply(text=text, stop="error", model=model, usage=Usage(usd=0.0), failure=failure)
