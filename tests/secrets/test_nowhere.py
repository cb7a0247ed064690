"""260 secrets of many kinds, made when the test runs: in no spelling does one survive in a text, a stream, or a record."""

import base64
import html
import json
import random
import shlex
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from neuralclaw import Agent, tool
from neuralclaw.secrets import Redactor
from neuralclaw.secrets.scrubbing import scrub
from neuralclaw.testing import Reply, ScriptedProvider

pytestmark = pytest.mark.full

RANDOM = random.Random(32)
ALNUM = string.ascii_letters + string.digits
CLASSES = (ALNUM, ALNUM + "-_", ALNUM + "+/=", "0123456789abcdef", ALNUM + string.punctuation, ALNUM + "äöüßéñ漢字", ALNUM + " ")
COUNT = 260


def made(number: int) -> str:
    """A secret: a token, a password, a phrase, an address with a password, a key of several lines, JSON."""
    letters = CLASSES[number % len(CLASSES)]
    size = RANDOM.choice((12, 16, 20, 24, 32, 40, 64, 100))
    text = "".join(RANDOM.choices(letters, k=size))
    kind = number % 13
    if kind == 7:
        return " ".join("".join(RANDOM.choices(string.ascii_lowercase, k=6)) for _ in range(5))
    if kind == 9:
        return "\n".join(base64.b64encode(RANDOM.randbytes(36)).decode() for _ in range(4))
    if kind == 11:
        return json.dumps({"id": number, "private": text})
    return RANDOM.choice(ALNUM) + text.strip() + RANDOM.choice(ALNUM)


SECRETS = [made(number) for number in range(COUNT)]
REDACTOR = Redactor((f"S{number}", value) for number, value in enumerate(SECRETS))


def apart(text: str, size: int, between: str) -> str:
    return between.join(text[at : at + size] for at in range(0, len(text), size))


SPELLED: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "base64": lambda v: base64.b64encode(v.encode()).decode(),
    "base64 without padding": lambda v: base64.b64encode(v.encode()).decode().rstrip("="),
    "base64url": lambda v: base64.urlsafe_b64encode(v.encode()).decode(),
    "base64 in lines": lambda v: base64.encodebytes(v.encode() * 1).decode(),
    "base64 of UTF-16": lambda v: base64.b64encode(v.encode("utf-16-le")).decode(),
    "base32": lambda v: base64.b32encode(v.encode()).decode(),
    "hex": lambda v: v.encode().hex(),
    "HEX": lambda v: v.encode().hex().upper(),
    "hex with colons": lambda v: v.encode().hex(":"),
    "hex with spaces": lambda v: v.encode().hex(" ", 2),
    "\\x": lambda v: "".join(f"\\x{b:02x}" for b in v.encode()),
    "0x": lambda v: ", ".join(f"0x{b:02X}" for b in v.encode()),
    "octal": lambda v: "".join(f"\\{b:03o}" for b in v.encode()),
    "decimals": lambda v: str([ord(one) for one in v]),
    "\\u": lambda v: "".join(f"\\u{ord(one):04x}" for one in v),
    "URL": lambda v: quote(v),
    "URL, all of it": lambda v: quote(v, safe=""),
    "form": quote_plus,
    "URL, every byte": lambda v: "".join(f"%{b:02x}" for b in v.encode()),
    "JSON": lambda v: json.dumps(v)[1:-1],
    "JSON in Unicode": lambda v: json.dumps(v, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda v: json.dumps(json.dumps(v, ensure_ascii=False), ensure_ascii=False)[3:-3],
    "Python": lambda v: repr(v)[1:-1],
    "Python in ASCII": lambda v: ascii(v)[1:-1],
    "shell": lambda v: shlex.quote(v),
    "HTML": lambda v: html.escape(v),
    "HTML, every character": lambda v: "".join(f"&#{ord(one)};" for one in v),
    "HTML, in hex": lambda v: "".join(f"&#x{ord(one):x};" for one in v),
    "lines": lambda v: apart(v, 7, "\n    "),
    "Windows lines": lambda v: apart(v, 11, "\r\n"),
    "quoted lines": lambda v: apart(v, 10, "\n> "),
    "concatenated": lambda v: apart(v, 9, '" +\n        "'),
    "spaces": lambda v: apart(v, 4, " "),
    "hyphens": lambda v: apart(v, 5, "-"),
    "every character apart": lambda v: " ".join(v),
    "UTF-16": lambda v: v.encode("utf-16-le").decode("latin-1"),
}  # fmt: skip


def left_of(text: str, spelled: str) -> str:
    """What is longest of the spelling that the text still has, up to 12 characters."""
    parts = (spelled[at : at + 12] for at in range(len(spelled) - 11))
    return next((part for part in parts if part in text and sum(map(str.isalnum, part)) > 6), "")


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.parametrize("name", SPELLED)
def test_no_spelling_of_a_secret_survives(name: str, record_property: Any) -> None:
    survived = []
    record_property("cases", sum(value.isascii() for value in SECRETS) if name == "UTF-16" else len(SECRETS))
    for value in SECRETS:
        if name == "UTF-16" and not value.isascii():
            continue
        spelled = SPELLED[name](value)
        shown = REDACTOR.redact(f"it is [{spelled}] here")
        if "[REDACTED:" not in shown or left_of(shown, spelled):
            survived.append((value, shown))
        if not (shown.startswith("it is [") and shown.endswith("] here")):
            survived.append((value, shown))
    assert survived == []


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.parametrize("before", ["user:", "user:x", "user:xy"])
def test_a_secret_inside_longer_base64_does_not_survive_at_any_of_the_three_places(before: str) -> None:
    for value in SECRETS:
        data = base64.b64encode(f"{before}{value}::end".encode()).decode()
        shown = REDACTOR.redact(data)
        assert "[REDACTED:" in shown
        assert sum(map(len, shown.split("[REDACTED:")[0:1])) <= 12


@pytest.mark.invariant("secrets.nowhere")
def test_a_stream_of_bytes_of_all_of_them_is_the_same_however_it_is_cut_and_every_other_byte_stays() -> None:
    spellings = [SPELLED["base64"], SPELLED["hex"], SPELLED["URL"], SPELLED["JSON"], SPELLED["lines"], str]
    noise = [RANDOM.randbytes(40).replace(b"[", b"") for _ in SECRETS]
    text = b"".join(b"<" + before + b"|" + RANDOM.choice(spellings)(value).encode() + b">\n" for before, value in zip(noise, SECRETS, strict=True))
    results = set()
    for size in (61, 4096, 10**6):
        at, out = 0, bytearray()

        def read(most: int, size: int = size) -> bytes:
            nonlocal at
            piece = text[at : at + min(most, size)]
            at += len(piece)
            return piece

        scrub(REDACTOR, read, out.extend)
        results.add(bytes(out))
    assert len(results) == 1
    (shown,) = results
    assert shown.count(b"[REDACTED:S") >= COUNT
    assert [before for before in noise if before not in shown] == []
    assert [value for value in SECRETS if value.encode() in shown] == []


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.anyio
async def test_tool_output_files_errors_logs_events_prompts_and_journal_keep_none_of_them(home: Path, tmp_path: Path) -> None:
    environ = {f"S{number}_TOKEN": value for number, value in enumerate(SECRETS)}
    lines = [RANDOM.choice(list(SPELLED.values()))(value) for value in SECRETS if value.isascii()]
    (tmp_path / "notes.txt").write_text("\n".join(SECRETS), newline="")

    @tool(risk="LOW")
    async def leak() -> str:
        "Prints what it knows."
        import logging

        for line in lines[::10]:
            logging.getLogger("neuralclaw.leak").warning("it is %s", line)
        return " | ".join(lines)

    @tool(risk="LOW")
    async def fail() -> str:
        "Fails with what it knows."
        raise RuntimeError(" | ".join(SECRETS))

    calls = [{"name": "leak", "arguments": {}}, {"name": "fail", "arguments": {}}, {"name": "read_file", "arguments": {"path": "notes.txt"}}]
    model = ScriptedProvider(Reply("", calls), Reply(" ; ".join(SECRETS[:40])))
    async with Agent.open(home=home, workspace=tmp_path, provider=model, tools=[leak, fail], settings={"logging.level": "DEBUG"}, environ=environ) as agent:
        async with agent.turn("say " + " ".join(SECRETS[40:80])) as stream:
            events = [json.dumps(event.to_dict(), ensure_ascii=False) async for event in stream]
    kept = {path.name: path.read_bytes().decode(errors="replace") for path in home.rglob("*") if path.is_file()}
    told = {**kept, "events": "\n".join(events), "requests": repr(model.requests)}
    assert [(place, value) for place, text in told.items() for value in (*SECRETS, *lines) if value in text] == []
