"""Secrets that nobody configured, made when the test runs: found by the form of the key or by the place, in text, in JSON, in URLs, in colour, in pieces."""

import base64
import html
import json
import random
import string
from collections.abc import Callable
from urllib.parse import quote

import pytest

from neuralclaw.secrets import Redactor
from neuralclaw.secrets.cut_values import LEAST
from tests.growth import assert_linear

RANDOM = random.Random(36)
ALNUM, HEX = string.ascii_letters + string.digits, string.digits + "abcdef"


def some(letters: str, size: int) -> str:
    return "".join(RANDOM.choices(letters, k=size - 3)) + "a7Z"[: 3 if letters == ALNUM else 0].ljust(3, "7")


def joined(*parts: str) -> str:
    return "".join(parts)


PLACES: dict[str, tuple[str, str, str]] = {
    "telegram": ("", joined("123456789", ":A", "A", some(ALNUM, 33)), ""),
    "azure": ("", joined("Ab3", "8Q", "~", some(ALNUM, 34)), ""),
    "elevenlabs": ("", joined("sk", "_", some(HEX, 48)), ""),
    "honeycomb": ("", joined("hca", "ik_", some(ALNUM, 58)), ""),
    "plaid": ("", joined("access-", "production-", "0a1b2c3d-4e5f-6a7b-8c9d-0e1f2a3b4c5d"), ""),
    "postgres": ("postgres://app:", some(ALNUM, 14), "@db.example.com:5432/app"),
    "redis": ("redis://:", some(ALNUM, 20), "@cache:6379/0"),
    "variable": ("TWILIO_AUTH_TOKEN=", some(HEX, 32), ""),
    "ngrok": ("NGROK_AUTHTOKEN=", some(ALNUM, 40), ""),
    "kubeconfig": ("    client-key-data: ", base64.b64encode(RANDOM.randbytes(300)).decode().rstrip("="), ""),
    "header": ("X-Vault-Token: ", joined("s.", some(ALNUM, 24)), ""),
    "scheme": ("Authorization: SSWS ", some(ALNUM, 42), ""),
    "query": ("GET /v1?lang=en&api_key=", some(ALNUM, 32), "&x=1 HTTP/1.1"),
    "fragment": ("https://a.example.com/#access_token=", some(ALNUM, 40), "&state=1"),
    "signature": ("https://x.example.net/c?sv=2022&sig=", quote(base64.b64encode(RANDOM.randbytes(32)), safe=""), ""),
    "cookie": ("Cookie: theme=dark; sessionid=", some(ALNUM, 32), "; lang=en"),
    "JSON": ('{"client_secret": "', some(ALNUM, 32), '"}'),
    "YAML": ("  password: ", some(ALNUM, 16), ""),
    "curl": ("curl -u admin:", some(ALNUM, 14), " https://x.example.com"),
    "netrc": ("machine api.example.com login me password ", some(ALNUM, 16), ""),
}
FRAMES: dict[str, Callable[[str], str]] = {
    "alone": str,
    "line": lambda text: f"it is\r\n{text}\r\nhere",
    "JSON": lambda text: json.dumps({"k": f"line\n{text}"}),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"k": text})),
    "Python": lambda text: repr({"k": f"\t{text}"}),
    "HTML": lambda text: f'<input value="{html.escape(text)}">',
    "colour": lambda text: f"\x1b[1;33m{text}\x1b[0m",
    "Markdown": lambda text: f"- `{text}`",
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("place", PLACES)
def test_a_secret_that_nobody_configured_is_taken_out_of_texts_and_streams(place: str, frame: str) -> None:
    before, secret, after = PLACES[place]
    text = FRAMES[frame](before + secret + after)
    shown = Redactor().redact(text)
    assert secret[-8:] not in shown
    for size in (1, 2, 3, 7):
        stream = Redactor().stream()
        assert "".join([*(stream.feed(text[at : at + size]) for at in range(0, len(text), size)), stream.flush()]) == shown


@pytest.mark.parametrize("text", [
    "api_key = os.environ['API_KEY_V2_PRODUCTION']", "token = get_token(user1, session2)", "password = password1", "PASSWORD = getpass.getpass()",
    "postgres://postgres:postgres@localhost:5432/test1", "https://user:password@example.com/", "http://localhost:8080/path@2x.png",
    "access_token: ${GITHUB_TOKEN_1}", "self.secret_key = SecretKeyFactory2Default(", '"integrity": "sha512-abcDEF123456789012345678901234567890"',
    "nextPageToken: CAoQAA12abcdefghijklm", "api_key=your_api_key_goes_here", "commit 0123456789abcdef0123456789abcdef01234567", "Authorization: Bearer $TOKEN",
    "password: str = field(default='')", "curl -u $USER:$PASS https://example.com", "the login page asks for a password and a user name",
])  # fmt: skip
def test_code_placeholders_hashes_and_references_stay(text: str) -> None:
    assert Redactor().redact(text) is text
    large = f"{text}\n" * (1 + 20_000 // len(text))
    assert Redactor().redact(large) is large


@pytest.mark.parametrize("unit", ["_TOKEN=aB12", "_TOKEN==aB12", "_TOKEN=%22%22%22%22%22%22aB12", "/API_KEY=aB12", "_TOKEN=aB12(", "Passphrase=aB1"])
def test_a_text_of_prefixes_alone_is_gone_through_once(unit: str) -> None:
    assert_linear(lambda length: Redactor().redact(unit * (length // len(unit))), 200_000)


def test_a_run_that_is_too_long_or_a_call_is_no_value_from_any_of_its_prefixes() -> None:
    value = "aB12cD34eF56gH78"
    assert Redactor().redact(f"_TOKEN={value}_TOKEN={value}(x)") == f"_TOKEN={value}_TOKEN={value}(x)"
    long = "aB12" * 1500
    assert Redactor().redact(f"_TOKEN={long}_TOKEN={value} end") == f"_TOKEN={long}_TOKEN=[REDACTED:credential] end"


@pytest.mark.parametrize("kind", ["configured", "by its form"])
def test_a_letter_that_the_next_piece_strikes_over_does_not_part_a_secret(kind: str) -> None:
    secret = joined("ghp", "_", some(ALNUM, 36))
    redactor = Redactor([("TOK", secret)] if kind == "configured" else [])
    for at in range(1, len(secret)):
        struck = f"key {secret[:at]}x\b{secret[at:]} end"
        stream = redactor.stream()
        cut = 4 + at + 1
        shown = stream.feed(struck[:cut]) + stream.feed(struck[cut:]) + stream.flush()
        little = f"{secret[:at]}x" if at + 1 < LEAST else ""  # may be shown at once
        assert shown.replace(f"key {little}[", "key [") == redactor.redact(struck)
        assert secret[20:] not in redactor.redact(struck)


@pytest.mark.parametrize("text", [
    "clientSecret: process.env.AUTH0_CLIENT_SECRET,", "secret_key=settings.S3_SECRET_KEY", "apiKey: import.meta.env.VITE_GA4_API_KEY",
    "accessToken = oauth2Client.credentials.accessToken", "api_key=self.config.Web3ApiKey", "API_KEY=/run/secrets/OpenAI_2024_key",
    "PRIVATE_KEY=/etc/ssl/Private/server1.Example.key", "id_token=request.GET.getToken2Value", "pip install sk-learn-classifier-model-v2-final-2024",
    "refresh_token=self.OAuth2Session.refresh_token", "MY_SECRET=projects/My-Project-1/secrets/dbPassword/versions/latest", "POSTGRES_PASSWORD: postgres1",
    'client.post("/login", {"username": "bob", "password": "Test1234!"})', "data:font/ttf;base64,AAEA/EAAA" + "A" * 90 + "8AAAB7",
])  # fmt: skip
def test_names_of_settings_files_and_packages_and_the_passwords_of_examples_stay(text: str) -> None:
    assert Redactor().redact(text) is text
    stream = Redactor().stream()
    assert "".join([*(stream.feed(letter) for letter in text), stream.flush()]) == text


def test_a_name_before_a_value_or_a_part_of_it_that_chance_made_spares_nothing() -> None:
    value = "prod_" + "aB3dE6gH9jK2mN5pQ8"
    assert Redactor().redact(f"API_KEY={value}") == "API_KEY=[REDACTED:credential]"
    for kind in (lambda: RANDOM.randbytes(32), lambda: RANDOM.randbytes(24)):
        tokens = [base64.urlsafe_b64encode(kind()).decode() for _ in range(500)]
        assert sum(Redactor().redact(f"API_TOKEN={token}") == f"API_TOKEN={token}" for token in tokens) <= 5
