"""Keys that show what they are: each format is found alone and in text, and what only looks a little like one stays.

The samples are made when the tests run, so that no scanner takes this file for a leak.
"""

import base64
import hashlib
import random
import re
import string
import uuid

import pytest

from neuralclaw.secrets import Redactor
from neuralclaw.secrets.formats import _SPACED_PARTS, FORMATS, HEAD, LONG_WORD, PREFIXES, SHAPES, kind_of
from neuralclaw.secrets.key_formats import Format

pytestmark = pytest.mark.full

RANDOM = random.Random(11)
ALNUM = string.ascii_letters + string.digits


def some(atom: str, count: int) -> str:
    """So many characters that the step takes, a digit among them where it takes one."""
    there = [letter for letter in ALNUM if re.fullmatch(atom, letter)] or [letter for letter in map(chr, range(32, 127)) if re.fullmatch(atom, letter)]
    made = RANDOM.choices(there, k=count)
    if "7" in there and count:
        made[count // 2] = "7"
    return "".join(made)


def sample(form: Format, prefix: str) -> str:
    """A key of the format."""
    if form.kind == "private-key":
        body = base64.b64encode(RANDOM.randbytes(300)).decode()
        return f"{prefix}RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----" if prefix == "-----BEGIN " else f"{prefix}4\n{body[:120]}-"
    if form.kind == "credential":
        return f"{prefix} = {'aB3x' * 6}"
    if form.kind == "password":
        between = {"://": "user:", "curl -u ": "me:", "--user ": "me:", "login ": "me password "}.get(prefix, "=")
        return f"{prefix}{between}a1B2c3D4e5{'@host' if prefix == '://' else ''}"
    lead = "".join(" = "[: step[1] + 2] if step[1] else "" for step in form.lead)
    return prefix + lead + "".join(some(atom, least if least > 1 or most == 1 else most) for atom, least, most in form.steps)


@pytest.mark.parametrize(("prefix", "shape"), PREFIXES, ids=[f"{shape.kind}:{prefix.strip()}" for prefix, shape in PREFIXES])
def test_a_key_of_each_format_is_found_in_a_line_and_in_a_large_text(prefix: str, shape: object) -> None:
    form = shape.form  # type: ignore[attr-defined]
    key = sample(form, prefix)
    before = "id 123456789" if form.behind.startswith("(?<=") else "is "
    for around in ("", "word and path/to/file.py\n" * 1000):
        text = f"{around}it {before}{key}\nand more{around}"
        shown = Redactor().redact(text)
        kept = prefix if form.keep else ""
        assert key.rstrip("-") not in shown
        assert f"{before}{kept}" in shown
        assert shown.startswith(f"{around}it ")
        assert shown.endswith(f"{'-' if key.endswith('0-') else ''}\nand more{around}") or prefix == "Private-Lines: "
        assert shown.count("[REDACTED:") == 1
        stream = Redactor().stream()
        assert "".join([*(stream.feed(text[at : at + 97]) for at in range(0, len(text), 97)), stream.flush()]) == shown


def test_every_prefix_can_be_found_by_the_quick_look() -> None:
    assert [prefix for prefix, shape in PREFIXES if " " in prefix and shape.kind != "password" and not any(part in prefix for part in _SPACED_PARTS)] == []
    for shape in SHAPES:
        form = shape.form
        assert (
            form.run >= LONG_WORD
            or " " in form.prefixes[0]
            or bool(form.lead)
            or min(map(len, form.prefixes)) + sum(step[1] for step in form.steps) >= LONG_WORD
        ), form.kind
        assert min(map(len, form.prefixes)) >= HEAD


@pytest.mark.parametrize("text", [
    "PGP PRIVATE KEY BLOCK", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PRIVATE KEY",
])  # fmt: skip
def test_private_keys_of_all_kinds_are_found_with_their_headers_also_when_they_are_cut(text: str) -> None:
    body = "\n".join(base64.b64encode(RANDOM.randbytes(48)).decode() for _ in range(20))
    headers = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\n"
    for lines in (body, headers + body):
        key = f"-----BEGIN {text}-----\n{lines}\n-----END {text}-----"
        assert Redactor().redact(f"a\n{key}\nb") == "a\n[REDACTED:private-key]\nb"
        assert Redactor().redact(key.replace("\n", "\\n")) == "[REDACTED:private-key]"
        assert Redactor().redact(f"{key[: len(key) // 2]}*") == "[REDACTED:private-key]*"
        quoted = Redactor().redact("> " + key.replace("\n", "\n> "))
        assert quoted == "> [REDACTED:private-key]"


def ordinary() -> list[str]:
    data = RANDOM.randbytes(3000)
    return [
        hashlib.sha1(data).hexdigest(),
        hashlib.sha256(data).hexdigest(),
        f"sha256:{hashlib.sha256(data).hexdigest()}",
        f"SHA256:{base64.b64encode(hashlib.sha256(b'a').digest()).decode().rstrip('=')}",
        str(uuid.UUID(bytes=data[:16])),
        f"data:image/png;base64,{base64.b64encode(data).decode()}",
        base64.urlsafe_b64encode(bytes(600)).decode(),
        "The line -----BEGIN PRIVATE KEY----- begins a key. It ends with -----END PRIVATE KEY-----.",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUabcdefghijklmnop\n-----END CERTIFICATE-----",
        "task-management-for-everyone-1 sk-circle-fade-dot-container secret_santa_list api-key key-value npm_config_cache hf_hub_download",
        "https://example.com/path?query=value#sk-1 pattern path/patch/patient.html github_pat_ ghp_ xoxb- AKIA AIza eyJ glpat- 12:AA",
        "def test_client_secret_is_redacted_when_configured_in_the_environment_of_a_service(self) -> None:",
        "Bearer tokens are described in RFC 6750; Basic authentication in RFC 7617. aws_secret_access_key = $AWS_SECRET_ACCESS_KEY",
        "AccountKey=<your-account-key> GOCSPX- SG.user.name pat.example.org sl.SetValue y0_offset r8_t fc-cache SK-II oy2",
        "integrity sha512-" + base64.b64encode(hashlib.sha512(b"b").digest()).decode(),
    ]


@pytest.mark.parametrize("text", ordinary())
def test_hashes_identifiers_images_and_prose_stay(text: str) -> None:
    assert Redactor().redact(text) is text
    large = f"{text}\n" * (1 + 20_000 // len(text))
    assert Redactor().redact(large) is large


def test_the_kind_of_a_value_is_the_format_that_all_of_it_has() -> None:
    assert kind_of("gh" + "p_" + "a1" * 18) == "github"
    assert kind_of("gh" + "p_" + "a1" * 18 + " and more") == "text"
    assert kind_of("correct horse") == "text"
    assert len({form.kind for form in FORMATS}) > 70
