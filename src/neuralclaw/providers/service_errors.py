"""What went wrong at a model service, in the words of many services, as one of our failures."""

import re
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import msgspec

from ..errors import (
    LLMAuthError,
    LLMContextLengthError,
    LLMError,
    LLMModelError,
    LLMRateLimitError,
    LLMTimeoutError,
    LLMUnavailableError,
)
from ..types.content import mend
from ..types.cut_texts import cut_text
from ..types.messages import Failure
from .model_service import ModelEndpoint, is_local
from .models import successor
from .reply_assembly import json_text

MAX_WORDS = 300
"""Characters of a service's own message that a failure carries."""

_MATCHED = 8000
_LONGEST_WAIT = 31 * 86_400.0

_CONTEXT = re.compile(
    r"context_length|context[ _]?(?:length|size|window)|maximum (?:context|prompt|model) length|maximum model length"
    r"|too (?:long|large) for model|prompt is too long|input token count|input tokens exceed|request too large|reduce the (?:length|prompt)"
    r"|tokens? \+ .{0,20}max_new_tokens|string_above_max_length|exceed context limit|input length exceeds|prompt is longer than",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"model_(?:not_found|not_available|decommissioned|deprecated)|model\b.{0,120}?\b(?:not (?:found|exist|available|supported)|does not exist|no longer"
    r"|decommissioned|deprecated|unknown)"
    r"|(?:invalid|unknown|no such|not a valid|access|no) model\b|no endpoints found|unable to access model",
    re.IGNORECASE | re.DOTALL,
)
_KEY = re.compile(
    r"invalid_api_key|authentication_error|invalid x-api-key|(?:incorrect|invalid|missing) api[ _]key|api key (?:not valid|expired|not found)", re.IGNORECASE
)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing_hard_limit|billing_error|credit balance|usage limit", re.IGNORECASE)
_NO_TOOLS = re.compile(
    r"(?:does not|doesn't|do not) support (?:tools?\b|function)|no endpoints found that support tool"
    r"|tools?(?: use| calling| calls)?\W{0,2} (?:is|are) not supported"
    r"|function calling is not (?:enabled|supported)|tool choice requires --enable-auto-tool-choice|tools param requires --jinja",
    re.IGNORECASE,
)
_NO_IMAGES = re.compile(
    r"(?:does not|doesn't|do not) support (?:image|vision|multimodal)|no endpoints found that support image|image input is not (?:supported|enabled)"
    r"|images? (?:is|are) not supported|image_url is only supported by|not a multimodal model|missing data required for image",
    re.IGNORECASE,
)
_TYPES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The types that Anthropic's error objects have and the status each stands for, where the object comes in a stream."""
_REQUEST = re.compile(r"^(?:invalid_prompt|invalid_(?:base64_)?image|image_|empty_image|unsupported_image|failed_to_download_image)|_policy(?:_violation)?$")
_REFUSED = re.compile(
    r"unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|extra (?:inputs|fields)|not permitted|not allowed|does not support", re.IGNORECASE
)


class Complaint(msgspec.Struct, frozen=True):
    """A service's error object in one form: `status` is 0 where it was in a stream; `text` joins codes and message for matching."""

    status: int
    message: str = ""
    code: str = ""
    type: str = ""
    param: str = ""

    @property
    def text(self) -> str:
        return f"{self.code} {self.type} {self.message}"


def complaint(status: int, body: bytes) -> Complaint:
    """Read an error body: OpenAI's form, Google's list of it, FastAPI's `detail`, a bare string, or no JSON at all."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        text = body.decode("utf-8", "replace").strip()
        return Complaint(status, "" if text.startswith("<") else _text(text))
    return complaint_of(status, value)


def complaint_of(status: int, value: Any) -> Complaint:
    """The same from decoded JSON."""
    value = _innermost(value)
    if not isinstance(value, dict):
        return Complaint(status, _text(value))
    message = next((value[name] for name in ("message", "msg", "detail", "error") if value.get(name)), "")
    code = value.get("code")
    if status == 0 and isinstance(code, int) and 400 <= code <= 599:
        status = code
    if status == 0:
        status = _TYPES.get(_text(value.get("type")), 0)
    upstream = value.get("metadata")  # OpenRouter keeps the words of the service behind it here
    if isinstance(upstream, dict) and isinstance(upstream.get("raw"), str):
        message = f"{_text(message)}: {upstream['raw']}"
    place = value.get("loc")  # FastAPI: the path to the field
    param = value.get("param") or (place[-1] if isinstance(place, list) and place else "")
    return Complaint(status, _text(message), _text(code), _text(value.get("type")), _text(param))


def _innermost(value: Any) -> Any:
    """The object with the message: Google sends a list of objects with `error`, FastAPI an object with a list as `detail`."""
    for _ in range(3):
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, dict) and isinstance(inner := value.get("error") or value.get("detail"), dict | list):
            value = inner
    return value


def _text(value: Any) -> str:
    """At most `_MATCHED` characters: a complaint of megabytes would hold everything up while words are looked for in it."""
    text = value if isinstance(value, str) else json_text(value) if value else ""
    return mend(text[:_MATCHED])


def refused_parameter(found: Complaint, without: frozenset[str], optional: Sequence[str]) -> str | None:
    """The parameter among `optional` that a 400 or 422 complains of: it can be left out, if it was not (`without`)."""
    if found.status not in (400, 422) or _CONTEXT.search(found.text) or _lacking(found) or not _REFUSED.search(found.text):
        return None
    names = (name for name in optional if name not in without)
    return next((name for name in names if found.param == name or re.search(rf"\b{name}\b", found.message)), None)


def _lacking(found: Complaint) -> Literal["", "tools", "images"]:
    """What the model cannot do, where that is the complaint."""
    if found.status not in (0, 400, 404, 405, 422, 500, 501):
        return ""
    return "tools" if _NO_TOOLS.search(found.text) else "images" if _NO_IMAGES.search(found.text) else ""


def failure(found: Complaint, service: ModelEndpoint, model: str, headers: Mapping[str, str] | None = None) -> Failure:
    """The failure that a complaint means."""
    words = _words(found.message, service)
    said = f": {words}" if words else ""
    status = f" ({found.status})" if found.status else ""
    wait = retry_after(headers or {})
    if lacks := _lacking(found):
        return _cannot(lacks, service, model, status + said)
    if found.status in (0, 400, 402, 403, 429) and _QUOTA.search(found.text):
        return _make(LLMRateLimitError, f"{service.name} says that the quota is used up{status}{said}", "check plan and billing with the service", retry=False)
    if found.status in (0, 400, 413, 422, 429, 500) and (found.status == 413 or _CONTEXT.search(found.text)):
        hint = "start a new session, or use a model with a larger window"
        if service.api == "ollama":
            hint = f"give it a larger window with llm.providers.{service.name}.models.{model}.context, or start a new session"
        return _make(LLMContextLengthError, f"the request is too long for {model} at {service.name}{status}{said}", hint)
    if found.status == 401 or (found.status in (0, 400, 403) and _KEY.search(found.text)):
        return refused_key(service, status + said)
    if found.status in (0, 400, 403, 404, 410, 422) and (_MODEL.search(found.text) or (found.status == 404 and model and model in found.message)):
        return _unknown(service, model, status + said)
    if found.status == 403:
        return refused_key(service, status + said)
    if found.status == 429 or (found.status == 0 and "rate_limit" in found.text):
        return _make(LLMRateLimitError, f"{service.name} limits the rate of requests{status}{said}", after=wait)
    if found.status == 408:
        return _make(LLMTimeoutError, f"{service.name} gave up waiting{status}{said}", after=wait)
    if found.status == 0 and _REQUEST.search(found.code):
        return _make(LLMError, f"{service.name} refuses the request{said}")
    if found.status == 0 or found.status >= 500:
        return _make(LLMUnavailableError, f"{service.name} cannot answer now{status}{said}", after=wait)
    version = "without /v1" if service.api in ("messages", "ollama") else "with /v1 where the service wants it"
    hint = f"check that {service.address} is the base URL, {version}" if found.status in (404, 405) or found.status < 400 else ""
    return _make(LLMError, f"{service.name} refuses the request{status}{said}", hint)


def _cannot(lacks: Literal["tools", "images"], service: ModelEndpoint, model: str, said: str) -> Failure:
    """The model lacks something: the same request without it may work."""
    what, hint = {
        "tools": ("call tools", f"set llm.providers.{service.name}.models.{model}.tools to false, or use another model"),
        "images": ("see pictures", "use another model"),
    }[lacks]
    return msgspec.structs.replace(_make(LLMModelError, f"{model} at {service.name} cannot {what}{said}", hint), lacks=lacks)


def _unknown(service: ModelEndpoint, model: str, said: str) -> Failure:
    """The service does not have the model; one that it had is named with what it names as successor."""
    follows = successor(service.name, model)
    if service.own and follows is not None:
        return _make(LLMModelError, f"{service.name} has withdrawn {model}; its successor is {follows}{said}", f"--model {service.name}:{follows}")
    hint = f"get it with: ollama pull {model}" if service.api == "ollama" else "name another one with --model"
    if follows is not None:  # at another address nobody knows, but who asks there may mean the service's own
        hint = f"{service.name} itself has withdrawn it, its successor is {follows}: --model {service.name}:{follows}"
    return _make(LLMModelError, f"{service.name} does not know the model {model}{said}", hint)


def refused_key(service: ModelEndpoint, said: str) -> Failure:
    """401 and its relatives: the key is named by where it comes from, never shown."""
    name = service.key_name or f"llm.providers.{service.name}.api_key"
    what = f"{service.name} refuses the key in {name}" if service.api_key else f"{service.name} requires a key"
    return _make(LLMAuthError, what + said, f"put a valid key into {name}")


def no_connection(service: ModelEndpoint, reason: str) -> Failure:
    """Refused, unresolved or lost before the first byte."""
    words = _words(reason, service)
    why = words.partition(" failed: ")[2] or words
    text = f"no connection to {service.name} at {service.address}{f': {why}' if why else ''}"
    local = is_local(service.host)
    hint = "start it with: ollama serve" if service.api == "ollama" and local else "check that the service runs and the address is right"
    if service.hint and not local:
        hint += f". {service.hint}"
    return _make(LLMUnavailableError, text, hint)


def timed_out(service: ModelEndpoint, seconds: float) -> Failure:
    return _make(LLMTimeoutError, f"{service.name} sent nothing for {seconds:g} s")


def broken(service: ModelEndpoint, what: str, detail: str = "") -> Failure:
    """A stream that is no answer; `what` the service did, for a person. `detail`: what was wrong with the bytes, for the log."""
    failed = _make(LLMUnavailableError, f"{service.name} {what}")
    return msgspec.structs.replace(failed, detail=_words(detail, service))


def unreadable(service: ModelEndpoint, detail: str) -> Failure:
    """A stream that is malformed, or none at all."""
    return broken(service, "sent an answer that cannot be read", detail)


def withheld(service: ModelEndpoint, finish: str) -> Failure:
    """The service stopped the answer itself; `finish` is its word, with more words behind it where it says why."""
    if finish == "content_filter":
        return _make(LLMError, f"{service.name} withheld the answer (content filter)", "put the request in other words, or use another model")
    word, _, why = finish.partition(": ")
    if word == "refusal":
        because = f": {_words(why, service)}" if why else ""
        return _make(LLMError, f"{service.name} refuses to answer{because}", "put the request in other words, or use another model")
    return _make(LLMUnavailableError, f"{service.name} broke off the answer ({finish})")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a service asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date (seen from its own `Date`, where there is one)."""
    lower = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(lower[name]) / unit
        except (KeyError, ValueError):
            continue
        return min(seconds, _LONGEST_WAIT) if 0 <= seconds < float("inf") else None
    try:
        until = parsedate_to_datetime(lower["retry-after"]).timestamp()
    except (KeyError, ValueError, OverflowError):
        return None
    try:
        since = parsedate_to_datetime(lower["date"]).timestamp()
    except (KeyError, ValueError, OverflowError):
        since = time.time()
    return min(max(0.0, until - since), _LONGEST_WAIT)


def _make(kind: type[LLMError], text: str, hint: str = "", *, after: float | None = None, retry: bool | None = None) -> Failure:
    return Failure(kind.__name__, text, hint, kind.retryable if retry is None else retry, after)


def _words(message: str, service: ModelEndpoint) -> str:
    """A service's message on one line, without the key, at most `MAX_WORDS` characters."""
    text = service.redact(message)
    if len(message) >= _MATCHED and service.api_key:  # the key may have been cut in two
        text = text[: -len(service.api_key)]
    line = " ".join(text.split())
    return line if len(line) <= MAX_WORDS else cut_text(line, MAX_WORDS - 1)
