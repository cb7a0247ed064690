"""Redaction: every spelling, key shapes, and streams cut anywhere."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neuralclaw.secrets import Redactor
from neuralclaw.secrets.spellings import spellings

KEY = "live/9f+Q7 wZ\"2k&Lm'é"
PLAIN = "qT7-vv81_kkZp03xYw"
REDACTOR = Redactor([("OPENAI_API_KEY", PLAIN), ("mcp.servers.x.env.PASS", KEY)])


def middle(data: bytes) -> list[str]:
    """The value in Base64 inside something longer, at each of the three places."""
    return [base64.b64encode(before + data + b"::tail").decode() for before in (b"", b"a", b"ab")]


@pytest.mark.parametrize(
    "spelled",
    [
        KEY,
        json.dumps(KEY)[1:-1],
        json.dumps(KEY, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(KEY, ensure_ascii=False), ensure_ascii=False)[3:-3],
        quote(KEY),
        quote(KEY, safe=""),
        quote(KEY, safe="").lower().replace("live%2f9f%2bq7%20wz", "live%2f9f%2bQ7%20wZ").replace("k%26lm", "k%26Lm"),
        quote_plus(KEY),
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode(),
        base64.b64encode(KEY.encode()).decode().rstrip("="),
        KEY[:7] + "\n" + KEY[7:],
        KEY[:3] + "\r\n      " + KEY[3:9] + "\n" + KEY[9:],
    ],
)
def test_each_spelling_of_a_value_is_replaced_and_the_rest_stays(spelled: str) -> None:
    assert REDACTOR.redact(f"before {spelled} after") == "before [REDACTED:mcp.servers.x.env.PASS] after"


@pytest.mark.parametrize("text", middle(KEY.encode()) + middle(PLAIN.encode()))
def test_a_value_inside_longer_base64_is_found_at_each_of_the_three_places(text: str) -> None:
    assert "[REDACTED:" in REDACTOR.redact(text)
    left = REDACTOR.redact(text)
    before, _, after = left.partition("[REDACTED:")
    assert len(before) <= 4
    assert len(after.rpartition("]")[2]) <= 12


FOUND = {
    "openai": "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8x",
    "anthropic": "sk-ant-api03-AbcdefghijklmnopqrstuvwxyzABCD",
    "github": "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB",
    "gitlab": "glpat-ABCDEFGHIJKLMNOPQRST",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "google": "AIzaSyA-1234567890abcdefghijklmnopqrstu",
    "slack": "xoxb-123456789012-abcdefghijkl",
    "groq": "gsk_ABCDEFGHIJKLMNOPQRSTUVWX",
    "nvidia": "nvapi-ABCDEFGHIJKLMNOPQRSTUVWX",
    "huggingface": "hf_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefgh",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "private-key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7b\nqs+/==\n-----END RSA PRIVATE KEY-----",
}


@pytest.mark.parametrize("kind", FOUND)
def test_a_key_that_nobody_configured_is_known_by_its_shape(kind: str) -> None:
    assert Redactor().redact(f"it is {FOUND[kind]}, keep it") == f"it is [REDACTED:{kind}], keep it"


def test_a_bearer_token_is_replaced_and_its_header_stays_readable() -> None:
    assert Redactor().redact("Authorization: Bearer abc.def-0123456789012345") == "Authorization: Bearer [REDACTED:bearer]"


@pytest.mark.parametrize(
    "text",
    [
        "task-management-for-everyone-1",
        "sk-circle-fade-dot-container",
        "eyJust a word",
        "the skeleton's sk- prefix",
        "xoxb-",
        "-----BEGIN CERTIFICATE-----\nAA",
    ],
)
def test_ordinary_words_that_look_a_little_like_keys_stay(text: str) -> None:
    assert Redactor().redact(text) is text


@pytest.mark.parametrize("value", ["", "short", "00000000000", "not-needed", "changeme", "   ab   "])
def test_values_that_would_shred_text_are_left_out(value: str) -> None:
    text = f"a text with {value} in it, shortly: 00000000000"
    assert Redactor([("X_API_KEY", value)]).redact(text) is text


def test_the_longer_of_two_values_is_taken_and_one_value_has_one_name() -> None:
    redactor = Redactor([("A", "abcdefgh1"), ("B", "abcdefgh1-and-more"), ("C", "abcdefgh1")])
    assert redactor.redact("abcdefgh1-and-more|abcdefgh1-and") == "[REDACTED:B]|[REDACTED:A]-and"


def test_what_is_redacted_stays_as_it_is_when_it_is_redacted_again() -> None:
    once = REDACTOR.redact(f"{KEY} {PLAIN} {FOUND['openai']} Bearer {PLAIN}{PLAIN}")
    assert REDACTOR.redact(once) is once


def test_text_that_can_begin_no_secret_is_shown_at_once() -> None:
    stream = REDACTOR.stream()
    assert [stream.feed(word) for word in ("Here ", "is the ", "whole", " answer: ", "42.\n")] == ["Here ", "is the ", "whole", " answer: ", "42.\n"]


def test_only_the_possible_beginning_is_held_back_until_it_is_none() -> None:
    stream = REDACTOR.stream()
    assert [stream.feed(piece) for piece in ("the q", "T7-", "vv81 is no key")] == ["the ", "", "qT7-vv81 is no key"]
    assert stream.flush() == ""


def test_what_another_text_interrupts_is_shown_and_still_gives_no_whole_secret() -> None:
    stream = REDACTOR.stream()
    shown = [stream.feed(f"it is {PLAIN[:6]}"), stream.settle(), stream.feed(PLAIN[6:] + " done"), stream.flush()]
    assert "".join(shown) == f"it is {PLAIN[:6]}[REDACTED:OPENAI_API_KEY] done"


SECRETS = [
    ("A", PLAIN),
    ("B", "abcdeabcdeabcdf"),
    ("C", "abcdeabcdeabcdfabcde"),
    ("D", "line one\nline two"),
    ("E", "abc.def/ghi+jkl=="),
    ("F", KEY),
]
MANY = Redactor(SECRETS)
ATOMS = [
    *(spelling for _, value in SECRETS for spelling in sorted(spellings(value))),
    *FOUND.values(),
    *("a", "abcde", "abcdeabc", "c", "\n", "\r\n  ", " ", "-", "sk-", "Bearer ", "eyJ", "x", "9", "-----BEGIN ", "PRIVATE KEY-----", "AKIA", "é", "\\", '"'),
]


def fragments() -> st.SearchStrategy[str]:
    """Spellings, whole or in part, between all kinds of other text."""
    part = st.builds(lambda text, begin, size: text[begin : begin + size], st.sampled_from(ATOMS), st.integers(0, 6), st.integers(1, 60))
    return st.lists(st.one_of(st.sampled_from(ATOMS), part, st.text(max_size=4)), max_size=12).map("".join)


@pytest.mark.invariant("secrets.nowhere")
@given(fragments(), st.lists(st.integers(0, 400), max_size=30))
@example("Bearer abcdefghij0123456789abcd efg", [33])
def test_a_stream_cut_anywhere_gives_what_the_whole_text_gives(text: str, cuts: list[int]) -> None:
    stream, shown, at = MANY.stream(), [], 0
    for cut in [*sorted(cut for cut in cuts if cut < len(text)), len(text)]:
        shown.append(stream.feed(text[at:cut]))
        at = cut
    shown.append(stream.flush())
    whole = MANY.redact(text)
    assert "".join(shown) == whole
    assert [spelling for _, value in SECRETS for spelling in spellings(value) if spelling in whole] == []


@given(fragments())
def test_a_stream_of_single_characters_gives_what_the_whole_text_gives(text: str) -> None:
    stream = MANY.stream()
    shown = "".join([*(stream.feed(letter) for letter in text), stream.flush()])
    assert shown == MANY.redact(text)


@given(st.text(alphabet=st.characters(exclude_characters="[]:"), min_size=8, max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_whatever_the_value_is_no_text_keeps_it(value: str, before: str, after: str) -> None:
    redacted = Redactor([("K", value)]).redact(before + value + after)
    if "[REDACTED:K]" in Redactor([("K", value)]).redact(value):
        assert value.strip() not in redacted
