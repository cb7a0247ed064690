"""`web_fetch` and `http_check`: what stands at a web address, and whether it answers. Everything that comes back is external."""

from typing import Annotated, Any

import anyio

from ..errors import ToolError, ToolTimeoutError
from ..ports import Secrets, Web
from ..tool import FunctionTool, tool
from ..types.cut_texts import cut_text
from ..types.grants import Grant
from ..types.labels import Labels, external
from ..types.risk import Effect, Power, Risk
from ..types.tools import ToolResult, Touch
from ..types.web_responses import WebResponse
from .file_formats import FileFormats
from .secret_values import NO_SECRETS, header_values
from .web_content import kind_of, status_words, text_of

SECONDS = 30.0
"""For a fetch in all: looking the host up, connecting, redirects, the body, and taking the text out of it."""
MAX_BYTES = 5_000_000
"""Of a body, unpacked."""
MAX_CHARS = 50_000
"""Of the text that is given back."""
_OF_AN_ERROR = 2_000
HEADERS = {
    "User-Agent": "Mozilla/5.0 (compatible; NeuralClaw/1.0)",
    "Accept": "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.9,application/json;q=0.9,*/*;q=0.5",
}
_LATE = 5.0
"""The tool's own limit comes first, so that its message says what took so long."""


def web_fetch(web: Web, formats: FileFormats, secrets: Secrets = NO_SECRETS) -> FunctionTool:
    """The tool over that client; `formats` takes the text out of documents, `secrets` has what headers name."""

    @tool(
        risk=Risk.LOW,
        effect=Effect.PURE,
        powers=(Power.NETWORK,),
        touches=(Touch("url", "url"), Touch("headers", "secrets")),
        timeout=SECONDS + _LATE,
        category="web",
        source="external",
    )
    async def web_fetch(
        url: Annotated[str, "complete address, with https:// or http://"],
        grant: Grant,
        headers: Annotated[dict[str, str] | None, 'stored secrets by name: {"Authorization": "Bearer secret:NAME"}'] = None,
    ) -> ToolResult:
        """Get the text of a web page (as Markdown), of a document (.pdf, .docx), or of any text at a public web address.

        At most 5 MB and 50,000 characters. Scripts are not run and nothing is sent but the address and `headers`.
        """
        with anyio.move_on_after(SECONDS - grant.lookup_seconds) as scope:
            private = header_values(secrets, grant, headers)
            response = await web.fetch(grant, url, headers=HEADERS, max_bytes=MAX_BYTES, seconds=SECONDS, private=private)
            return await _result(response, grant, formats)
        assert scope.cancelled_caught
        raise ToolTimeoutError(f"{cut_text(url, 200)} was not fetched and read within {SECONDS:g} s")

    return web_fetch


def http_check(web: Web) -> FunctionTool:
    """The tool over that client."""

    @tool(
        risk=Risk.LOW,
        effect=Effect.PURE,
        powers=(Power.NETWORK,),
        touches=(Touch("url", "url"),),
        timeout=SECONDS + _LATE,
        category="web",
        source="external",
    )
    async def http_check(url: Annotated[str, "complete address, with https:// or http://"], grant: Grant) -> ToolResult:
        """See whether a public web address answers: its status and how many milliseconds that took, redirects included."""
        found = await web.fetch(grant, url, headers=HEADERS, max_bytes=0, seconds=SECONDS)
        ms = round(found.seconds * 1000)
        text = f"{found.url} answers with status {status_words(found.status)} in {ms:,} ms"
        if found.redirects:
            text += f", behind {len(found.redirects)} redirect{'s' if len(found.redirects) > 1 else ''} from {found.redirects[0]}"
        return ToolResult(content=text, metadata={**_about(found), "ms": ms}, labels=labels_of_response(found, grant))

    return http_check


async def _result(response: WebResponse, grant: Grant, formats: FileFormats) -> ToolResult:
    """The text of an answer; an error status is a failure, with the beginning of what the server said."""
    about, labels = _about(response), labels_of_response(response, grant)
    failed = f"{response.url} answers with status {status_words(response.status)}" if response.status >= 400 or response.status < 200 else ""
    try:
        found = await text_of(response, formats)
    except ToolError as error:
        if not failed:
            error.metadata = {**about, **error.metadata}
            raise
        return ToolResult(ok=False, error=failed, metadata=about, labels=labels)
    about |= {"title": found.title, **found.about}
    text = found.text
    if found.title and not any(line.startswith("# ") for line in text[:1000].splitlines()):
        text = f"# {found.title}\n\n{text}"
    if failed:
        said = f"\n{cut_text(text, _OF_AN_ERROR)}" if text.strip() else ""
        return ToolResult(ok=False, error=failed, content=f"ERROR: {failed}{said}", metadata=about, labels=labels)
    notes = [f"[{response.redirects[0]} redirects to {response.url}]"] if response.redirects else []
    if len(text) > MAX_CHARS:
        notes.append(f"[these are the first {MAX_CHARS:,} of {len(text):,} characters]")
        text = cut_text(text, MAX_CHARS)
    return ToolResult(content=text, metadata=about, labels=labels, note="\n".join(notes))


def _about(response: WebResponse) -> dict[str, Any]:
    about: dict[str, Any] = {"url": response.url, "status": response.status, "content_type": kind_of(response)[0], "size": len(response.body)}
    if response.redirects:
        about["redirects"] = list(response.redirects)
    return about


def labels_of_response(response: WebResponse, grant: Grant) -> Labels:
    """The answer is the word of the host that gave it; what lies inside, where the owner opened it, is not public."""
    from urllib.parse import urlsplit  # costs start-up time

    inside = grant.verdict is not None and any(rule.id == "url.released" for rule in grant.verdict.rules)
    return external(f"web/{urlsplit(response.url).hostname or ''}") | {"private" if inside else "public"}
