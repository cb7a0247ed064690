"""`MODELS`: the capability that brings the commands about models."""

from collections.abc import Mapping
from typing import Any

from ... import config
from ...capability import Capability, Verb
from ...errors import ConfigError
from ...plugins import load
from ..capability_context import BuiltInContext
from ..trials.task import ReportProgress
from .model_text import columns_of_model, described_model, setup_hint
from .model_verbs import ModelVerbs

TASK_SECONDS = 120.0
"""How long a task of `models.try` may run where nothing is said."""


TASK_NAMES = tuple(
    "find read question log pages count absent premise edit several create rename data test calculation steps explain hidden no forbidden".split()
)
"""The tasks, for `--help`: known without loading them."""


async def list_models(context: BuiltInContext, service: str | None = None) -> list[dict[str, Any]]:
    """The models that can be used now: those that are set, and each ready service's default; or all that are known of one service."""
    verbs = ModelVerbs(context.models, context.loaded)
    found = await verbs.list(service)
    if verbs.notice:
        context.notice(verbs.notice)
    return found


async def show_model(context: BuiltInContext, model: str | None = None, *, usable: bool = False) -> dict[str, Any]:
    """What is known of the model that `P:M`, a service or a model alone, or nothing stands for. `usable`: `ConfigError` where its key is missing."""
    return await ModelVerbs(context.models, context.loaded).show(model, usable=usable)


async def try_models(
    context: BuiltInContext,
    models: list[str],
    *,
    tasks: tuple[str, ...] = (),
    timeout: float = TASK_SECONDS,
    runs: int = 1,
    keep: str | None = None,
    seed: str | None = None,
    progress: ReportProgress | None = None,
) -> list[dict[str, Any]]:
    """Try models (`P:M`) with the twenty tasks, each in a fresh workspace and home: passes, calls, usage, time and every result, for each model.

    `progress` is told the value so far. Real calls are made, and paid. Raises `ConfigError` for a model that cannot be asked, `LLMError` where none
    of them answers.
    """
    if context.loaded.settings.budget != config.BudgetSection():
        raise ConfigError("models try works in homes of its own, where no cap of budget holds; no model was asked", hint="take the caps out for the trial")
    wanted = load("models.trial_request")(models=models, tasks=tasks, timeout=timeout, runs=runs, keep=keep, seed=seed)
    done: list[dict[str, Any]] = await load("models.try")(context.loaded, context.models, wanted, progress, context.notice)
    return done


def _advice(rows: Any, arguments: Mapping[str, Any]) -> str:
    return setup_hint(rows) if arguments.get("service") is None else ""


MODELS = Capability(
    name="models",
    summary="which models there are, and what one achieves before you trust it",
    verbs=(
        Verb(
            name="models.list",
            summary="The models that can be used now, or all that are known of one service.",
            run=list_models,
            example="neuralclaw models list openai",
            help={"service": "every model of this service: what a server of your own lists, what is known of the others (else those that can be used now)"},
            display=columns_of_model,
            columns=("model", "context", "tools", "images", "price", "key"),
            empty="{service} has no models",
            hint=_advice,
            reads=True,
            needs="settings",
        ),
        Verb(
            name="models.show",
            summary="One model: window, tools, pictures, price, where that is known from, and whether its key is there.",
            run=show_model,
            example="neuralclaw models show openai:gpt-4o",
            help={"model": "a model, or a service alone (else the one that is used)", "usable": "refuse one whose key is missing: exit 78, naming it"},
            spelled={"model": "P:M"},
            display=described_model,
            reads=True,
            needs="settings",
        ),
        Verb(
            name="models.try",
            summary="Try models with 20 small real tasks, each checked by its effects. 0 when every model could be tried, whatever its score.",
            run=try_models,
            example="neuralclaw models try openai:gpt-4o ollama:qwen3",
            help={
                "models": "the models, for instance openai:gpt-4o anthropic:claude-sonnet-4-5",
                "tasks": f"only this task (may be given several times): {', '.join(TASK_NAMES)}",
                "timeout": "running time of a task at most",
                "runs": "do every task so often; names and numbers differ from run to run",
                "keep": "keep the workspaces, in DIR/MODEL/TASK",
                "seed": "what names and numbers are made from, as a trial before printed it (else new ones)",
            },
            spelled={"models": "P:M", "tasks": "--task NAME", "timeout": "SECONDS", "keep": "DIR"},
            render=lambda values: load("models.trial_text")(values),
            progress=lambda values: load("models.trial_line")(values),
            failures=lambda values: load("models.trial_failures")(values),
            needs="settings",
        ),
    ),
)
