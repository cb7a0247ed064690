"""A turn: build the request, stream the reply, run the tool calls, repeat. Started again, it goes on from the last finished step."""

import logging
from functools import partial
from itertools import takewhile

import anyio
import msgspec

from ..errors import BudgetError, LLMContextLengthError, NeuralClawError, StoreError
from ..foreign_code import run_foreign
from ..types.content import MAX_NESTING, nested_too_deeply
from ..types.cut_texts import cutting_by
from ..types.entries import blob_digest
from ..types.events import Debug, Durable, ErrorEvent, ErrorInfo, Message, Nudge, Passing, RetryEvent, StatusEvent, TextDelta, TurnStatus
from ..types.labels import AGENT, Labels, join
from ..types.messages import AssistantMessage, Failure, Finished, ModelReply, Notice, ReasoningPart, Request, Retrying, TextPart, ToolCall, Usage
from ..types.records import SettledReservation
from ..types.signals import Parked
from . import call_hooks, circuit_breakers, history_limits
from .claim_evidence import find_unbacked
from .compaction import Summarizer, compacted
from .context import images_of, with_pictures
from .equipment import AnswerForm
from .history_limits import HistoryCut
from .model_failures import provider_error
from .prompt import GO_ON, promises_work
from .redaction import SafeDeltas, safe_beginning, safe_ends
from .sources import read_sources
from .token_estimates import BYTES_PER_TOKEN, message_tokens
from .toolcalls import run_calls
from .turn import Turn
from .turn_end import answer, answer_value, end_cancelled, end_late, ending, finish, stop_late_calls, time_limit

log = logging.getLogger(__name__)

AGAIN = "The answer does not fit: {}. Answer again with the JSON object alone."


async def run_turn(turn: Turn) -> None:
    """Run the turn until it ends or parks; the journal has its `turn.finished` then.

    Raises `StoreError` when it could not be recorded. A cancellation that a `cancel` entry stands behind ends the turn and is passed on; any other
    leaves the turn unfinished for whoever goes on with it.
    """
    try:
        redaction = turn.equipment.redaction
        with cutting_by(partial(safe_beginning, redaction), partial(safe_ends, redaction)), turn.record.time.limited():
            await go_on(turn)
            return
        await turn.record.journal.sync()
        if turn.record.state.finished is None:
            await stop_late(turn)
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await turn.record.journal.sync()
            if turn.record.state.cancelled_by is not None:
                await stop_cancelled(turn)
        raise


async def go_on(turn: Turn) -> None:
    """One step after the other, each chosen from the state alone."""
    state = turn.record.state
    while state.finished is None:
        if state.cancelled_by is not None:
            await stop_cancelled(turn)
        elif state.limit is not None:
            status: TurnStatus = "timed_out" if state.limit.kind == "time" else "limit"
            await finish(turn.record, status, await shown_end(turn, status, state.limit.text))
        elif state.open:
            try:
                await run_calls(turn)
            except Parked as parked:
                await finish(turn.record, "needs_approval", "", waiting=(parked.question.approval_id,))
                return
        elif state.error is not None:
            kept = state.messages[-1].text if state.messages and state.messages[-1].stop == "error" else ""
            kept = await shown_end(turn, "failed", kept)
            await finish(turn.record, "failed", kept, error=ErrorInfo(state.error.kind, state.error.text))
        elif (limit := circuit_breakers.fired(state, turn.record.options.limits)) is not None:
            await turn.record.journal.append(limit)
        elif not state.messages and (blocked := await call_hooks.before_turn(turn)) is not None:
            await finish(turn.record, "denied", f"The hook {blocked.hook} blocks the turn: {blocked.reason}")
        elif (reply := state.answer) is None:
            await think(turn)
        elif turn.equipment.form is not None:
            await take_value(turn, turn.equipment.form, reply.text)
        elif not state.nudged and promises_work(reply.text) and turn.equipment.definitions and turn.equipment.model.info.language:
            await turn.record.journal.append(Nudge(text=GO_ON))
        else:
            unbacked = find_unbacked(reply.text, state.calls) if turn.equipment.model.info.language else ()
            if (blocked := await call_hooks.after_turn(turn, ending(turn.record, "done", reply.text).status, reply.text)) is not None:
                await finish(turn.record, "denied", f"The hook {blocked.hook} keeps the answer back: {blocked.reason}")
            else:
                await answer(turn.record, reply.text, unbacked=unbacked)


async def shown_end(turn: Turn, status: TurnStatus, text: str) -> str:
    """The text that a turn ends with that gave no answer; where a hook keeps it back, that is said in its place."""
    blocked = await call_hooks.after_turn(turn, status, text)
    return text if blocked is None else f"The hook {blocked.hook} keeps the text back: {blocked.reason}"


async def take_value(turn: Turn, form: AnswerForm, text: str) -> None:
    """End the turn with the value of this answer; with one that does not fit ask again, as often as the turn may ask the model."""
    record = turn.record
    started = record.state.started
    value, problem = form.read(text, started.text if started is not None else "")
    if not problem:
        await answer_value(record, value)
    elif len(record.state.messages) < record.options.limits.iterations:
        await record.journal.append(Nudge(text=AGAIN.format(problem)))
    else:
        tried = f"none of {len(record.state.messages)} answers fits the schema; of the last one: {problem}"
        await finish(record, "failed", "", error=ErrorInfo("UnfitAnswer", tried))


async def think(turn: Turn) -> None:
    """One model call, streamed: its parts are passing events, the finished reply is an entry."""
    warn_of_pictures(turn)
    tell_of_cache(turn)
    await shorten_history(turn)
    told = await read_sources(turn.equipment.before_last, turn.equipment.redaction)
    for name, why in told.failed:
        turn.show(StatusEvent(text=f"{name} could not be read and was left out of the request: {why}"))
    turn.partial.begin(turn.record.state.last_entry, told.text, told.labels)
    reply = await stream(turn, await build_request(turn, told.text))
    if reply.failure is not None:
        if reply.failure.detail:
            turn.show(Debug(text=turn.equipment.redaction.redact(reply.failure.detail)))
        failure = reply.failure
        if failure.kind == BudgetError.__name__:
            turn.partial.clear()
            await turn.record.journal.append(circuit_breakers.over_budget(turn.record.state, failure.text, failure.hint))
            return
        if failure.kind == LLMContextLengthError.__name__ and (cut := halved_history(turn)) is not None:
            turn.partial.clear()
            await compact(turn, cut)
            return
        error = ErrorEvent(kind=failure.kind, text=failure.text, hint=failure.hint or next_step(turn, failure), failed_calls=failure.failed_calls)
        if reply.failure.answered:
            await record_reply(turn, reply, error)
            return
        turn.partial.clear()
        await turn.record.journal.append(error, labels=labels_of_call(turn))
        return
    await record_reply(turn, msgspec.structs.replace(reply, tool_calls=await unique_ids(turn, reply.tool_calls)))


HISTORY_CUTS = 3
"""Limits of the history at most that one model call has to wait for: one for messages, one for results, and one for what is left."""


async def shorten_history(turn: Turn) -> None:
    """Bring the history within its limits before it is sent. A provider that needs none of it (`context` 0) gets it as it is."""
    info, conversation = turn.equipment.model.info, turn.record.journal.conversation
    for _ in range(HISTORY_CUTS if info.context else 0):
        cut = history_limits.due(conversation.lines(), turn.record.state.number, turn.record.options.limits, info.context, request_tokens(turn))
        if cut is None:
            return
        await compact(turn, cut)


def request_tokens(turn: Turn) -> int:
    """About how many tokens the next request has: those of the last one and its reply as the service counted them, and of what is new since."""
    conversation = turn.record.journal.conversation
    messages = conversation.messages()
    if conversation.prompt_tokens:
        new = takewhile(lambda message: not isinstance(message, AssistantMessage), reversed(messages))
        return conversation.prompt_tokens + sum(map(message_tokens, new))
    fixed = len(turn.equipment.system) + len(msgspec.json.encode(turn.equipment.definitions))
    return fixed // BYTES_PER_TOKEN + sum(map(message_tokens, messages))


def halved_history(turn: Turn) -> HistoryCut | None:
    """What leaves a request that the model refused as too long; None where nothing can."""
    return history_limits.halved(turn.record.journal.conversation.lines(), turn.record.state.number, "window")


async def compact(turn: Turn, cut: HistoryCut) -> None:
    """Make a cut of the history, and record it with its cost."""
    journal, equipment, inbox = turn.record.journal, turn.equipment, turn.record.state.inbox
    if cut.reason != "tool_results":
        turn.show(StatusEvent(text="older messages are being summarised"))
    by = Summarizer(model=equipment.model, name=turn.record.options.model, foreign=equipment.foreign_provider)
    body, reservations = await compacted(journal.conversation, cut, by, turn.record.state.number, inbox.oldest.entry if inbox else 0)
    await journal.append(body, labels=labels_of_call(turn), rows=[SettledReservation(one) for one in reservations])


def next_step(turn: Turn, failure: Failure) -> str:
    """What a person can do after the last attempt, where the failure may pass; else ""."""
    return f'try again later: neuralclaw run --resume {turn.session} "go on"; or use another model: --model P:M' if failure.retryable else ""


async def record_reply(turn: Turn, reply: ModelReply, *after: Durable) -> None:
    """Write a reply with the environment that its request held, and what follows from it in the same step."""
    environment = turn.partial.environment.encode()
    message = Message(
        text=reply.text,
        tool_calls=reply.tool_calls,
        stop=reply.stop,
        model=reply.by or turn.partial.model or turn.record.options.model,
        served=served(turn, reply),
        usage=reply.usage,
        reasoning=reply.reasoning,
        state=reply.state,
        seen=turn.partial.seen,
        ran_ms=turn.record.time.ms,
        environment=blob_digest(environment) if environment else "",
    )
    turn.partial.clear()
    rows = [SettledReservation(one) for one in reply.reservations]
    await turn.record.journal.append(message, *after, labels=labels_of_call(turn), rows=rows, blobs=[environment] if environment else [])


def labels_of_call(turn: Turn) -> Labels:
    """The labels of what a model call leads to: of all that the session holds, and of what stood before its last message."""
    return join(turn.record.journal.labels, turn.partial.labels, AGENT)


def served(turn: Turn, reply: ModelReply) -> str:
    """The service's own name of the model that replied, "" where it is the name that was asked."""
    return "" if reply.model in (turn.equipment.model.name, (reply.by or turn.record.options.model).partition(":")[2]) else reply.model


def full_name(turn: Turn, model: str) -> str:
    """`P:M` for what a provider calls a model: a chain says `P:M`, a provider alone the name within it."""
    service = turn.record.options.model.partition(":")[0]
    return turn.record.options.model if model in ("", turn.equipment.model.name) else model if ":" in model else f"{service}:{model}"


def warn_of_pictures(turn: Turn) -> None:
    """Say once, at the turn's first call, that the model cannot see the pictures that came with the task."""
    started = turn.record.state.started
    if started is not None and started.images and not turn.record.state.messages and not turn.equipment.model.info.images:
        turn.show(StatusEvent(text=f"{turn.record.options.model} does not accept images; it gets their names only"))


CACHED_TOKENS = 1_024
"""Tokens of a prompt from which on services keep its beginning (OpenAI, Anthropic)."""
PREFIX = {"model": "the model is another one", "system": "the system prompt changed (AGENTS.md or settings)", "tools": "the tools changed"}


def tell_of_cache(turn: Turn) -> None:
    """Say once, at the turn's first call, why the service cannot use what it keeps of the session's last request."""
    conversation = turn.record.journal.conversation
    if not turn.record.state.messages and conversation.changed_prefix and conversation.prompt_tokens >= CACHED_TOKENS:
        why = " and ".join(PREFIX[name] for name in conversation.changed_prefix)
        turn.show(StatusEvent(text=f"nothing of this session's last request is in the model's cache: {why}"))


async def stream(turn: Turn, request: Request) -> ModelReply:
    """The finished reply. A provider that raises instead of failing by value ends its own turn and no other."""
    try:
        read = partial(streamed, turn, request)
        return await run_foreign("the provider", read, passes=(NeuralClawError,), failure=provider_error, apart=turn.equipment.foreign_provider)
    except StoreError:
        raise
    except NeuralClawError as error:
        return ModelReply(stop="error", failure=Failure(error.kind, error.text, error.hint))


async def streamed(turn: Turn, request: Request) -> ModelReply:
    """The finished reply; its parts are shown as they come. Raises what the provider raises, and `StoreError`."""
    reply = ModelReply(stop="error", failure=Failure("LLMUnavailableError", "the model's stream ended without a reply"))
    deltas = SafeDeltas(turn.equipment.redaction, lambda delta: hear(turn, delta))
    try:
        async with turn.equipment.model.provider.stream(request) as events:
            async for event in events:
                match event:
                    case TextPart(text):
                        deltas.text(text)
                    case ReasoningPart(text):
                        deltas.reasoning(text)
                    case Retrying(attempt, wait_ms, why, model, discard):
                        if discard:
                            deltas.discard()
                            turn.partial.clear()
                        asked = turn.partial.model = full_name(turn, model)
                        entry = RetryEvent(attempt=attempt, wait_ms=wait_ms, reason=why, model=asked, discard=discard)
                        await turn.record.journal.append(entry, labels=labels_of_call(turn))
                    case Notice(text, model):
                        turn.partial.model = model or turn.partial.model
                        turn.show(StatusEvent(text=text))
                    case Finished(finished):
                        deltas.end()
                        reply = shallow(finished)
    except anyio.get_cancelled_exc_class():
        deltas.break_off()
        raise
    return reply


def shallow(reply: ModelReply) -> ModelReply:
    """The reply without values that are nested deeper than an entry may be: such arguments become the error of their call."""
    calls = tuple(_shallow_call(call) for call in reply.tool_calls)
    state = None if reply.state is not None and any(map(nested_too_deeply, reply.state.items)) else reply.state
    return msgspec.structs.replace(reply, tool_calls=calls, state=state)


def _shallow_call(call: ToolCall) -> ToolCall:
    if not nested_too_deeply(call.arguments):
        return call
    why = f"the arguments are nested deeper than {MAX_NESTING} levels; send the call again with flatter ones"
    return msgspec.structs.replace(call, arguments={}, error=why)


def hear(turn: Turn, delta: Passing) -> None:
    """Show a piece of the reply, and remember the text: a reply that is cut off keeps it."""
    if isinstance(delta, TextDelta):
        turn.partial.pieces.append(delta.text)
    turn.show(delta)


async def build_request(turn: Turn, environment: str) -> Request:
    """What the model is asked: instructions, tools, the history within its window of turns, and behind it the environment of this moment."""
    model, messages = turn.equipment.model, turn.record.journal.conversation.messages()
    digests = [image.digest for message in messages for image in images_of(message) if not image.data]
    if digests and model.info.images:
        messages = with_pictures(messages, await turn.record.journal.pictures(digests))
    return Request(
        model=model.name,
        messages=messages,
        system=turn.equipment.system,
        tools=turn.equipment.definitions,
        temperature=model.temperature,
        top_p=model.top_p,
        max_tokens=model.max_tokens,
        timeout=model.timeout,
        environment=environment,
        answer_schema=turn.equipment.form.schema if turn.equipment.form is not None else None,
    )


async def unique_ids(turn: Turn, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The calls under ids that no other call of the session has: the provider's where that is free."""
    if not calls:
        return calls
    taken = {row["call_id"] for row in await turn.store.rows("calls", {"session": turn.session, "call_id": [c.id for c in calls]})}
    out = []
    for place, call in enumerate(calls, 1):
        if not call.id or call.id in taken:
            call = msgspec.structs.replace(call, id=f"{call.id or 'call'}-{turn.record.state.number}.{len(turn.record.state.messages) + 1}.{place}")
        taken.add(call.id)
        out.append(call)
    return tuple(out)


async def stop_cancelled(turn: Turn) -> None:
    """Keep what the model had said, and end the turn as cancelled, unless it has ended."""
    if turn.record.state.finished is None:
        if turn.partial.text:
            await record_reply(turn, cut_off(turn))
        await end_cancelled(turn.record)


async def stop_late(turn: Turn) -> None:
    """The same for a turn whose time is up."""
    if not turn.partial.text:
        await end_late(turn.record)
        return
    await stop_late_calls(turn.record)
    limit = time_limit(turn.record)
    await record_reply(turn, cut_off(turn), limit)
    await finish(turn.record, "timed_out", limit.text)


def cut_off(turn: Turn) -> ModelReply:
    """The reply as far as it came. What it cost is not known, unless the model is free."""
    price = turn.equipment.model.info.price
    free = price is not None and not price.input and not price.output
    return ModelReply(text=turn.partial.text, stop="cancelled", usage=Usage(usd=0.0 if free else None))
