"""`models.try`: the tasks with one model after the other, and what came of them as plain values."""

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ... import config, errors
from ...errors import LLMError, UsageError
from ...plugins import load
from ...providers.model_service import is_local
from ...types.messages import Usage
from ..models.model_resolver import GIVEN, LOCAL, OWN, ModelResolver
from ..option_checks import count, refused, seconds
from .task import ReportProgress, Task
from .tasks import TASKS
from .trial_runner import FINAL, TaskResult, Trial, named
from .trial_text import announcement
from .workspaces import trial_workspaces

SECONDS = 120.0


class TrialRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be tried: models as `P:M`, the names of tasks (none: all), seconds for each, how often each, and where workspaces are kept."""

    models: tuple[str, ...]
    tasks: tuple[str, ...] = ()
    timeout: float = SECONDS
    runs: int = 1
    keep: str | None = None
    seed: str | None = None


def trial_request(
    *, models: Sequence[str], tasks: Sequence[str] = (), timeout: float = SECONDS, runs: int = 1, keep: str | None = None, seed: str | None = None
) -> TrialRequest:
    """What a program asked for, checked. Raises `UsageError`."""
    for name, value in (("models", models), ("tasks", tasks)):
        if isinstance(value, str) or not all(isinstance(one, str) and one for one in value):
            raise refused(name, value, "a list of names")
    return TrialRequest(models=tuple(models), tasks=tuple(tasks), timeout=seconds("timeout", timeout), runs=count("runs", runs), keep=keep, seed=seed)


def chosen(names: Sequence[str]) -> list[Task]:
    """The tasks of these names, in the order of all; all where none is named. Raises `UsageError` for a name that is none."""
    known = [task.name for task in TASKS]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"there is no task {unknown[0]!r}", hint=f"there are: {', '.join(known)}")
    return [task for task in TASKS if not names or task.name in names]


async def full_names(models: ModelResolver, names: Sequence[str]) -> list[str]:
    """Every model as `P:M`, each once. Raises `ConfigError` for one that cannot be asked and `UsageError` for what is no model."""
    found: list[str] = []
    for name in names:
        if name.partition(":")[0] == "direct":
            raise UsageError("direct is no model: it only passes calls on", hint="neuralclaw models list")
        await models.ready(name)
        full = models.full_name(name)
        models.provider(full)
        found += [full] if full not in found else []
    if not found:
        raise UsageError("there is no model to try", hint="neuralclaw models try openai:gpt-4o")
    return found


def paid(loaded: config.LoadedSettings, model: str) -> bool:
    """Whether a model is a service on another machine, so that its calls may cost money."""
    service = model.partition(":")[0]
    if service in (*OWN, LOCAL, GIVEN):
        return False
    configured = {name: msgspec.to_builtins(settings) for name, settings in loaded.settings.llm.providers.items()}
    return not is_local(load("provider.resolve")(service, configured, loaded.env).host)


async def try_models(
    loaded: config.LoadedSettings, models: ModelResolver, asked: TrialRequest, progress: ReportProgress | None, notice: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Try the models; a value for each. `notice` is told what is about to happen. Raises `LLMError` where not one of them could be reached."""
    tasks, names = chosen(asked.tasks), await full_names(models, asked.models)
    runs = [(task, run) for task in tasks for run in range(1, asked.runs + 1)]
    for text in announcement(names, len(runs), [name for name in names if paid(loaded, name)]):
        notice(text)
    seed = asked.seed or secrets.token_hex(4)
    done: list[ModelTrial] = []
    tell = progress or (lambda value: None)
    with trial_workspaces(asked.keep, names, [named(task, run) for task, run in runs]) as kept:
        for name in names:
            trial = Trial(models.provider(name), name, loaded, asked.timeout, kept)
            tried = ModelTrial(name, len(runs), seed)
            done.append(tried)
            tell([one.value() for one in done])
            for task, run in runs:
                tried.results.append(await trial.one(task, run, seed))
                lost = tried.lost()
                tell([one.value() for one in done])
                if lost:
                    break
    if not any(one.measured for one in done):
        raise unreachable(done)
    return [one.value() for one in done]


class ModelTrial:
    """A model and what came of its tasks so far."""

    def __init__(self, model: str, wanted: int, seed: str) -> None:
        self.model, self.wanted, self.seed = model, wanted, seed
        self.results: list[TaskResult] = []
        self.error: dict[str, str] | None = None

    @property
    def measured(self) -> bool:
        """Whether the model ever answered."""
        return any(result.reached for result in self.results)

    def lost(self) -> bool:
        """Whether there is no sense in continuing: no reply to the first task, none to two in a row, or an error that stays."""
        last = self.results[-1]
        silent = not any(result.reached for result in self.results[-2:])
        if silent or (last.error is not None and last.error["kind"] in FINAL):
            self.error = last.error
        return self.error is not None

    def value(self) -> dict[str, Any]:
        """The model's value: sums and every result. `usd` is null where a price is not known, `error` where the model could be tried to the end."""
        usage = [result.usage for result in self.results if result.calls]
        return {
            "model": self.model,
            "passes": sum(result.passed for result in self.results),
            "tasks": self.wanted,
            "calls": sum(result.calls for result in self.results),
            "usage": msgspec.to_builtins(sum(usage[1:], usage[0]) if usage else Usage()),
            "duration_ms": sum(result.duration_ms for result in self.results),
            "error": self.error,
            "seed": self.seed,
            "results": [result.value() for result in self.results],
        }


def unreachable(done: Sequence[ModelTrial]) -> LLMError:
    """The error where no model could be tried, with every reason."""
    found = [(one.model, one.error) for one in done if one.error is not None]
    kind = getattr(errors, found[0][1]["kind"], LLMError) if found else LLMError
    text = "; ".join(f"{model} could not be tried: {error['text']}" for model, error in found)
    return (kind if isinstance(kind, type) and issubclass(kind, LLMError) else LLMError)(text, hint=found[0][1]["hint"] if found else "")
