"""`read_as`: a value out of content that the acting model does not read itself. Nothing that the content says comes back but that value."""

from collections.abc import Callable
from typing import Annotated, Any, Protocol

import anyio
import msgspec

from ...errors import NeuralClawError, PermissionDeniedError, SecurityError, ToolError, ToolTimeoutError
from ...ports import Files, Web
from ...tool import FunctionTool, tool
from ...types.cut_texts import cut_text
from ...types.grants import Grant
from ...types.labels import AGENT, Labels, external_sources, join, labels_of_value, value_sources
from ...types.messages import Usage
from ...types.risk import Effect, Risk
from ...types.tools import ToolContext, ToolResult, Touch
from .. import file_formats
from ..file_formats import FileFormats
from ..files import MAX_BYTES as MAX_FILE
from ..text import read_text
from ..web_content import status_words, text_of
from ..web_tools import HEADERS, MAX_BYTES, SECONDS, labels_of_response
from .value_schema import ValueShape, checked_shape

MAX_QUESTION = 500
LONGEST_WAY = 120
Offset = Annotated[int, msgspec.Meta(ge=0)]
Nth = Annotated[int, msgspec.Meta(ge=1)]


class ReadContent(msgspec.Struct, frozen=True):
    """What is to be read: where it is from, in words, the text, and its labels."""

    source: str
    text: str
    labels: Labels


class ReadingTask(msgspec.Struct, frozen=True, kw_only=True):
    """What a reading session is asked, for this call. `schema` is that of the call, `shape` the same, checked."""

    call: ToolContext
    question: str
    schema: dict[str, Any]
    shape: ValueShape
    content: ReadContent
    offset: int = 0


class ReadingOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a reading session gave. `value` None: the content does not say. `code` and `why`: why there is no value, "" where it ended well.

    `labels` are those of the content. `first`, `last`, `total`: which characters of it were read, 0 where that is not known any more.
    """

    child: str
    value: Any = None
    usage: Usage = Usage(usd=0.0)
    labels: Labels = AGENT
    answers: int = 0
    first: int = 0
    last: int = 0
    total: int = 0
    code: str = ""
    why: str = ""


class ReadingSessions(Protocol):
    """Reads in sessions of their own."""

    async def begun(self, session: str, call_id: str) -> ReadingOutcome | None:
        """The outcome of the session that this call began before the program stopped, which goes on; None where it had begun none."""
        ...

    async def recorded(self, session: str, call_id: str) -> ReadContent | None:
        """The whole result of an earlier call, None where there is none."""
        ...

    async def message(self, session: str, nth: int) -> ReadContent | None:
        """The person's message, the newest is 1; None where there are fewer."""
        ...

    async def read(self, task: ReadingTask) -> ReadingOutcome: ...


class ContentSources(msgspec.Struct, frozen=True):
    """What the tool takes content from, by reference. `made` gives what reads it, when it is first needed."""

    made: Callable[[], ReadingSessions]
    files: Files
    web: Web
    formats: FileFormats


def read_as(sources: ContentSources) -> FunctionTool:
    """The tool `read_as`."""

    @tool(risk=Risk.LOW, effect=Effect.PURE, touches=(Touch("path", "read"), Touch("url", "url")), timeout=None, category="reading")
    async def read_as(
        grant: Grant,
        ctx: ToolContext,
        schema: dict[str, Any],
        question: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_QUESTION)],
        path: str | None = None,
        url: str | None = None,
        call_id: str | None = None,
        message: Nth | None = None,
        offset: Offset = 0,
    ) -> ToolResult:
        """Get values from content of others without reading it: it is read apart, without tools, and only a value that fits the JSON Schema comes back
        (strings: enum, format or maxLength). Give path, url, call_id or message (1: the newest).
        """
        shape = checked_shape(schema)
        given = [name for name, value in (("path", path), ("url", url), ("call_id", call_id), ("message", message)) if value is not None]
        if len(given) != 1:
            raise _failure("source", f"give exactly one of path, url, call_id and message, not {' and '.join(given) or 'none'}; nothing was read")
        sessions = sources.made()
        outcome = await sessions.begun(ctx.session, ctx.call_id)
        if outcome is None:
            content = await _content(sources, sessions, grant, ctx.session)
            if offset and offset >= len(content.text):
                raise _failure("source", f"it has {len(content.text):,} characters; offset {offset:,} is beyond its end; nothing was read")
            outcome = await sessions.read(ReadingTask(call=ctx, question=question, schema=schema, shape=shape, content=content, offset=offset))
        return _result(outcome, shape)

    read_as.spec = msgspec.structs.replace(read_as.spec, input_schema=_brief(read_as.spec.input_schema), gives_values=True)
    return read_as


def _brief(schema: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name and type: what else a call must keep to is told where it does not."""
    kinds = {"schema": "object", "message": "integer", "offset": "integer"}
    return {**schema, "properties": {name: {"type": kinds.get(name, "string")} for name in schema["properties"]}}


async def _content(sources: ContentSources, sessions: ReadingSessions, grant: Grant, session: str) -> ReadContent:
    """What the one reference of the call names."""
    given = grant.arguments
    if given.get("url") is not None:
        return await _page(sources, grant, given["url"])
    if given.get("path") is not None:
        return await _file(sources, grant, given["path"])
    if (call_id := given.get("call_id")) is not None:
        return _found(await sessions.recorded(session, call_id), f"there is no result of a call {cut_text(call_id, 80)!r} in this session")
    nth = given.get("message") or 1
    return _found(await sessions.message(session, nth), f"there are fewer than {nth} messages in this session")


def _failure(code: str, text: str, *, hint: str = "", kind: type[ToolError] = ToolError) -> ToolError:
    return kind(text, hint=hint, metadata={"code": code})


def _found(content: ReadContent | None, missing: str) -> ReadContent:
    if content is None:
        raise _failure("source", f"{missing}; nothing was read")
    return content


def _result(outcome: ReadingOutcome, shape: ValueShape) -> ToolResult:
    """The value with its labels: of content from outside those of a value, and where words of the content may stand in it those of the content."""
    about: dict[str, Any] = {"session": outcome.child, "answers": outcome.answers}
    if outcome.total:
        about |= {"from": outcome.first, "to": outcome.last, "total": outcome.total}
    if outcome.code:
        text = f"{outcome.why} ({outcome.code})"
        return ToolResult(ok=False, error=text, metadata={**about, "code": outcome.code}, child=outcome.child, usage=outcome.usage, labels=AGENT | {"private"})
    content = msgspec.json.encode({"value": outcome.value}).decode()
    labels = join(outcome.labels if shape.has_free_text else labels_of_value(outcome.labels), AGENT)
    if not labels & {"public", "private", "secret"}:
        labels |= {"private"}
    sources = (*external_sources(outcome.labels), *value_sources(outcome.labels))
    return ToolResult(
        content=content,
        metadata={**about, "value": outcome.value},
        note=_note(outcome),
        labels=labels,
        child=outcome.child,
        usage=outcome.usage,
        values_from=tuple(dict.fromkeys(sources)),
    )


def _note(outcome: ReadingOutcome) -> str:
    """What the acting model is told beside the value: that the content does not say, and what of it was not read."""
    said = ["the content does not say"] if outcome.value is None else []
    if outcome.total and (outcome.first or outcome.last < outcome.total):
        said.append(f"characters {outcome.first:,} to {outcome.last:,} of {outcome.total:,} were read")
        if outcome.last < outcome.total:
            said.append(f"for what is behind them call again with offset={outcome.last}")
    return f"[{'; '.join(said)}]" if said else ""


async def _page(sources: ContentSources, grant: Grant, url: str) -> ReadContent:
    """The text of a page. What a server says about its failure is not repeated: it is the server's word."""
    shown = cut_text(url, LONGEST_WAY)
    response, found = None, None
    try:
        with anyio.move_on_after(SECONDS - grant.lookup_seconds):
            response = await sources.web.fetch(grant, url, headers=HEADERS, max_bytes=MAX_BYTES, seconds=SECONDS)
            found = await text_of(response, sources.formats)
    except SecurityError:
        raise PermissionDeniedError(f"{shown} may not be fetched, or leads to an address that may not be; nothing was read") from None
    except ToolTimeoutError:
        raise _late(shown) from None
    except NeuralClawError:
        what = "could not be fetched" if response is None else "is neither text nor a page nor a document that can be read"
        raise _failure("source", f"{shown} {what}; nothing was read") from None
    if response is None or found is None:
        raise _late(shown)
    if not 200 <= response.status < 400:
        raise _failure("source", f"{shown} answers with status {status_words(response.status)}; nothing was read")
    text = f"# {found.title}\n\n{found.text}" if found.title else found.text
    return ReadContent(f"web address {shown}", text, labels_of_response(response, grant))


def _late(shown: str) -> ToolError:
    return _failure("source", f"{shown} was not fetched within {SECONDS:g} s; nothing was read", kind=ToolTimeoutError)


async def _file(sources: ContentSources, grant: Grant, path: str) -> ReadContent:
    """The text of a file or document."""
    most = file_formats.MAX_BYTES if sources.formats.named(path) else MAX_FILE
    data = await sources.files.read(grant, path, max_bytes=most + 1)
    shown = cut_text(path, LONGEST_WAY)
    if len(data) > most:
        raise _failure("source", f"{shown} is larger than the {most:,} bytes that are read; nothing was read")
    try:
        kind = sources.formats.of(data, path)
        text = (await sources.formats.read(data, kind, path)).text if kind else read_text(data, path).text
    except ToolError:
        raise _failure("source", f"{shown} is neither text nor a document that can be read; nothing was read") from None
    return ReadContent(f"file {shown}", text, join(grant.labels, {"private"}))
