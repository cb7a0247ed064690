"""A turn: build the request, stream the reply, run the tool calls, repeat. Started again, it goes on from the last finished step."""

import asyncio
import logging
import math

import anyio
import msgspec

from ..errors import NeuralClawError, StoreError
from ..types.entries import blob_digest
from ..types.events import (
    Debug,
    Durable,
    ErrorEvent,
    ErrorInfo,
    Message,
    Nudge,
    Passing,
    RetryEvent,
    Status,
    StatusEvent,
    TextDelta,
    TurnFinished,
)
from ..types.messages import Failure, Finished, ModelReply, Notice, ReasoningPart, Request, Retrying, TextPart, ToolCall, Usage
from ..types.records import OutboxItem
from ..types.risk import Decision
from ..types.signals import Parked
from . import circuit_breakers, results
from .context import images_of, with_pictures
from .prompt import GO_ON, promises_work
from .redaction import SafeDeltas
from .run import Run
from .toolcalls import run_calls

log = logging.getLogger(__name__)

STATUS_ORDER: tuple[Status, ...] = ("cancelled", "timed_out", "limit", "needs_approval", "denied", "failed", "done")
"""When several happened, the first of these is the turn's status (INTERFACE.md, exit codes)."""


async def run_turn(run: Run) -> None:
    """Run the turn until it ends or parks; the journal has its `turn.finished` then.

    Raises `StoreError` when it could not be recorded. A cancellation that a `cancel` entry stands behind ends the turn and is passed on; any other
    leaves the turn unfinished for whoever goes on with it.
    """
    try:
        with run.time.scope:
            await go_on(run)
            return
        await run.journal.sync()
        if run.state.finished is None:
            await stop_late(run)
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await run.journal.sync()
            if run.state.cancelled_by is not None:
                await stop_cancelled(run)
        raise


async def go_on(run: Run) -> None:
    """One step after the other, each chosen from the state alone."""
    state = run.state
    while state.finished is None:
        if state.cancelled_by is not None:
            await stop_cancelled(run)
        elif state.limit is not None:
            await finish(run, "timed_out" if state.limit.kind == "time" else "limit", state.limit.text)
        elif state.open:
            try:
                await run_calls(run)
            except Parked as parked:
                await finish(run, "needs_approval", "", waiting=(parked.question.approval_id,))
                return
        elif state.error is not None:
            kept = state.messages[-1].text if state.messages and state.messages[-1].stop == "error" else ""
            await finish(run, "failed", kept, error=ErrorInfo(state.error.kind, state.error.text))
        elif (limit := circuit_breakers.fired(state, run.options.limits)) is not None:
            await run.journal.append(limit)
        elif (answer := state.answer) is None:
            await think(run)
        elif not state.nudged and promises_work(answer.text) and run.definitions and run.provider.info(run.model).language:
            await run.journal.append(Nudge(text=GO_ON))
        else:
            await finish(run, "done", answer.text)


async def think(run: Run) -> None:
    """One model call, streamed: its parts are passing events, the finished reply is an entry."""
    blind(run)
    environment = run.redaction.redact(await run.environment(run.options.workspace)) if run.environment is not None else ""
    run.heard.seen, run.heard.environment, run.heard.model = run.state.last_entry, environment, ""
    reply = await stream(run, await build_request(run, environment))
    if reply.failure is not None:
        if reply.failure.detail:
            run.show(Debug(text=run.redaction.redact(reply.failure.detail)))
        error = ErrorEvent(kind=reply.failure.kind, text=reply.failure.text, hint=reply.failure.hint or next_step(run, reply.failure))
        if reply.failure.answered:
            await record_reply(run, reply, error)
            return
        run.heard.forget()
        await run.journal.append(error)
        return
    await record_reply(run, msgspec.structs.replace(reply, tool_calls=await unique_ids(run, reply.tool_calls)))


def next_step(run: Run, failure: Failure) -> str:
    """What a person can do after the last attempt, where the failure may pass; else ""."""
    return f'try again later: neuralclaw run --resume {run.session} "go on"; or use another model: --model P:M' if failure.retryable else ""


async def record_reply(run: Run, reply: ModelReply, *after: Durable) -> None:
    """Write a reply with the environment that its request held, and what follows from it in the same step."""
    environment = run.heard.environment.encode()
    message = Message(
        text=reply.text,
        tool_calls=reply.tool_calls,
        stop=reply.stop,
        model=reply.by or run.heard.model or run.options.model,
        served=served(run, reply),
        usage=reply.usage,
        reasoning=reply.reasoning,
        state=reply.state,
        seen=run.heard.seen,
        ran_ms=run.time.ms,
        environment=blob_digest(environment) if environment else "",
    )
    run.heard.forget()
    await run.journal.append(message, *after, blobs=[environment] if environment else [])


def served(run: Run, reply: ModelReply) -> str:
    """The service's own name of the model that replied, "" where it is the name that was asked."""
    return "" if reply.model in (run.model, (reply.by or run.options.model).partition(":")[2]) else reply.model


def full_name(run: Run, model: str) -> str:
    """`P:M` for what a provider calls a model: a chain says `P:M`, a provider alone the name within it."""
    service = run.options.model.partition(":")[0]
    return run.options.model if model in ("", run.model) else model if ":" in model else f"{service}:{model}"


def blind(run: Run) -> None:
    """Say once, at the turn's first call, that the model cannot see the pictures that came with the task."""
    started = run.state.started
    if started is not None and started.images and not run.state.messages and not run.provider.info(run.model).images:
        run.show(StatusEvent(text=f"{run.options.model} takes no pictures: it is told their names only"))


async def stream(run: Run, request: Request) -> ModelReply:
    """The finished reply. The guard around providers: one that raises instead of failing by value ends its own turn and no other."""
    reply = ModelReply(stop="error", failure=Failure("LLMUnavailableError", "the model's stream ended without a reply"))
    deltas = SafeDeltas(run.redaction, lambda delta: hear(run, delta))
    try:
        async with run.provider.stream(request) as events:
            async for event in events:
                match event:
                    case TextPart(text):
                        deltas.text(text)
                    case ReasoningPart(text):
                        deltas.reasoning(text)
                    case Retrying(attempt, wait_ms, reason, model, discard):
                        if discard:
                            deltas.discard()
                            run.heard.forget()
                        asked = run.heard.model = full_name(run, model)
                        await run.journal.append(RetryEvent(attempt=attempt, wait_ms=wait_ms, reason=reason, model=asked, discard=discard))
                    case Notice(text, model):
                        run.heard.model = model or run.heard.model
                        run.show(StatusEvent(text=text))
                    case Finished(finished):
                        deltas.end()
                        reply = finished
    except StoreError:
        raise
    except NeuralClawError as error:
        return ModelReply(stop="error", failure=Failure(error.kind, error.text, error.hint))
    except anyio.get_cancelled_exc_class():
        if cancelled():
            raise
        return ModelReply(stop="error", failure=Failure("LLMError", "the provider failed: it was cancelled from within"))
    except Exception as error:
        log.error("the provider of %s failed", run.options.model, exc_info=True)
        return ModelReply(stop="error", failure=Failure("LLMError", f"the provider failed: {type(error).__name__}: {error}"))
    return reply


def cancelled() -> bool:
    """Whether what runs here is being cancelled by somebody, and not only something that it waited for."""
    task = asyncio.current_task()
    return anyio.current_effective_deadline() == -math.inf or (task is not None and task.cancelling() > 0)


def hear(run: Run, delta: Passing) -> None:
    """Show a piece of the reply, and remember the text: a reply that is cut off keeps it."""
    if isinstance(delta, TextDelta):
        run.heard.pieces.append(delta.text)
    run.show(delta)


async def build_request(run: Run, environment: str) -> Request:
    """What the model is asked: instructions, tools, the history within its window of turns, and behind it the environment of this moment."""
    breakers = run.options.limits
    conversation = run.journal.conversation
    messages = conversation.messages(max_messages=breakers.max_messages)
    if breakers.max_messages and conversation.length > len(messages):
        run.show(StatusEvent(text=f"at most the newest {breakers.max_messages} messages are sent to the model (agent.max_conversation_messages)"))
    digests = [image.digest for message in messages for image in images_of(message) if not image.data]
    if digests and run.provider.info(run.model).images:
        messages = with_pictures(messages, await run.journal.pictures(digests))
    return Request(
        model=run.model,
        messages=messages,
        system=run.system,
        tools=run.definitions,
        temperature=run.temperature,
        top_p=run.top_p,
        max_tokens=run.max_tokens,
        timeout=run.model_timeout,
        environment=environment,
    )


async def unique_ids(run: Run, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The calls under ids that no other call of the session has: the provider's where that is free."""
    if not calls:
        return calls
    taken = await run.store.known_calls(run.session, [c.id for c in calls])
    out = []
    for place, call in enumerate(calls, 1):
        if not call.id or call.id in taken:
            call = msgspec.structs.replace(call, id=f"{call.id or 'call'}-{run.state.number}.{len(run.state.messages) + 1}.{place}")
        taken.add(call.id)
        out.append(call)
    return tuple(out)


async def stop_cancelled(run: Run) -> None:
    """Close what is open, keep what the model had said, and end the turn as cancelled, unless it has ended."""
    if run.state.finished is None:
        if run.heard.text:
            await record_reply(run, cut_off(run))
        await results.not_run(run, run.state.open, "cancelled")
        await finish(run, "cancelled", f"Cancelled. So far: {run.state.done_so_far()}.")


async def stop_late(run: Run) -> None:
    """The same for a turn whose time is up."""
    await results.not_run(run, run.state.open, "the turn's time was up")
    limit = circuit_breakers.out_of_time(run.state, run.options.limits)
    if run.heard.text:
        await record_reply(run, cut_off(run), limit)
    else:
        await run.journal.append(limit)
    await finish(run, "timed_out", run.state.limit_text)


def cut_off(run: Run) -> ModelReply:
    """The reply as far as it came. What it cost is not known, unless the model is free."""
    price = run.provider.info(run.model).price
    free = price is not None and not price.input and not price.output
    return ModelReply(text=run.heard.text, stop="cancelled", usage=Usage(usd=0.0 if free else None))


async def finish(run: Run, status: Status, text: str, *, waiting: tuple[str, ...] = (), error: ErrorInfo | None = None) -> None:
    """End this run of the turn. A refusal on the way decides the status before a plain end does, where it counts."""
    refused = run.state.refused
    counted = refused if run.options.refusals == "count" else ()
    happened: set[Status] = {status}
    if any(r.decision is Decision.ASK for r in counted):
        happened.add("needs_approval")
    if any(r.decision is Decision.FORBID for r in counted):
        happened.add("denied")
    body = TurnFinished(
        status=next(s for s in STATUS_ORDER if s in happened),
        text=text,
        model=run.state.model,
        models=run.state.models,
        usage=run.state.usage,
        duration_ms=run.time.ms,
        refused=refused,
        waiting=waiting,
        error=error,
    )
    rows = [OutboxItem(run.outbox, text)] if run.outbox and not waiting else []
    await run.journal.append(body, rows=rows)
