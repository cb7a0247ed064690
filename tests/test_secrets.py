"""Redaction: every spelling, key shapes, and streams cut anywhere."""

import base64
import json
import re
from functools import partial
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from neuralclaw.agent.redaction import SafeDeltas, redacted_output, safe_beginning, safe_ends
from neuralclaw.secrets import Redactor
from neuralclaw.secrets.spellings import spellings
from neuralclaw.types.cut_texts import cut_text, cutting_by
from neuralclaw.types.events import Passing, ReasoningDelta, TextDelta

pytestmark = pytest.mark.full

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
    words = ("Here ", "is the ", "whole", " answer: ", "42.\n")
    assert [stream.feed(word) for word in words] == ["Here ", "is the ", "whole", " answer: ", "42.\n"]
    assert stream.flush() == ""


def test_only_the_possible_beginning_is_held_back_until_it_is_none() -> None:
    stream = REDACTOR.stream()
    assert [stream.feed(piece) for piece in ("the q", "T7-", "vv81 is no use")] == ["the ", "", "qT7-vv81 is no use"]
    assert stream.flush() == ""


def test_a_few_characters_that_another_text_interrupts_are_shown_and_no_more() -> None:
    stream = REDACTOR.stream()
    shown = [stream.feed(f"it is {PLAIN[:4]}"), stream.settle(), stream.feed(PLAIN[4:] + " done"), stream.flush()]
    assert "".join(shown) == f"it is {PLAIN[:4]}[REDACTED:OPENAI_API_KEY] done"


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_a_secret_that_another_text_interrupts_again_and_again_is_not_shown(size: int) -> None:
    shown: list[Passing] = []
    deltas = SafeDeltas(REDACTOR, shown.append)
    text = f"it is {PLAIN} and"
    for at in range(0, len(text), size):
        deltas.text(text[at : at + size])
        deltas.reasoning(text[at : at + size])
    deltas.end()
    for kind in (TextDelta, ReasoningDelta):
        told = "".join(one.text for one in shown if isinstance(one, kind))
        assert told.endswith("[REDACTED:OPENAI_API_KEY] and")
        assert PLAIN[:5] not in told


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.parametrize("size", range(8, len(PLAIN)))
def test_what_is_left_of_a_secret_that_a_program_printed_in_part_is_found_at_the_ends(size: int) -> None:
    first, last, shown = PLAIN[:size], PLAIN[-size:], "[REDACTED:OPENAI_API_KEY]"
    for cut, found in (
        (f"it is {first}", f"it is {shown}"),
        (f"{last} it was", f"{shown} it was"),
        (PLAIN[2:12], shown),
        (f"{last} … {first}", f"{shown} … {shown}"),
    ):
        assert REDACTOR.redact_ends(cut, begins=True, ends=True) == found
        assert REDACTOR.redact(cut) is cut


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.parametrize("before", ["it is ", "https://me:", "password="])
@pytest.mark.parametrize("secret", [PLAIN, FOUND["github"], FOUND["private-key"]])
def test_a_text_loses_at_the_cut_what_may_be_the_beginning_of_a_secret(before: str, secret: str) -> None:
    text = f"{before}{secret}@host and more"
    with cutting_by(partial(safe_beginning, REDACTOR), partial(safe_ends, REDACTOR)):
        shown = [cut_text(text, limit) for limit in range(len(text) + 1)]
    assert [one for one in shown[:-1] if secret[:5] in one] == []
    assert shown[3] == f"{text[:3]}…"
    assert shown[-3].endswith(" and mo…")
    assert shown[-1] == text


@pytest.mark.parametrize("kind", [kind for kind in FOUND if kind not in ("private-key", "aws", "gitlab")])
def test_a_key_that_nobody_configured_is_found_where_it_was_cut(kind: str) -> None:
    key = FOUND[kind]
    assert redacted_output(f"{key[:12]} it is {key[:-1]}", Redactor()) == f"{key[:12]} it is [REDACTED:{kind}]"


@pytest.mark.parametrize("text", ["see the task-management-for-everyone…", "re_something_of_mine…", "sk-…", "an eyJust a word…", "Bearer of news1…"])
def test_ordinary_words_before_a_cut_stay(text: str) -> None:
    assert Redactor().redact(text) is text
    assert Redactor().redact_ends(text[:-1], begins=True, ends=True) == text[:-1]


ORDINARY_PARTS = {
    "HOOK": ("https://discord.com/api/webhooks/123456789012345678/AbCdEf0123456789abcdefGHIJKLMNOPqrstuvwxYZ", "https://discord.com/api"),
    "MONGO": ("mongodb+srv://app:pw12345678@cluster0.mongodb.net/prod", "mongodb+srv://app"),
    "DB": ("https://db1.example.test:8443/AbCdEf0123456789abcdef", "https://db1.example.test:8443/"),
    "ADMINPW": ("administrator1", "administrator"),
    "KEY": ("sk-ant-api03-q7Rt2mK9xLp4Vb8n", "sk-ant-api03-"),
    "PEM": (FOUND["private-key"], "-----BEGIN RSA PRIVATE KEY-----"),
    "GCP": ('{"type": "service_account", "private_key_id": "0123456789abcdef", "universe_domain": "googleapis.com"}', '{"type": "service_account"'),
}


@pytest.mark.parametrize("kind", ORDINARY_PARTS)
def test_what_others_write_as_a_secret_begins_stays(kind: str) -> None:
    value, part = ORDINARY_PARTS[kind]
    redactor = Redactor([(kind, value)])
    for text in (f"see {part}", part, f"{part} is the place", f"{part}…", f"see {part} …"):
        assert redactor.redact(text) is text
        assert kind == "PEM" or redactor.redact_ends(text, begins=True, ends=True) is text  # what follows such a line may be the key


COLOURED = {
    "grep": lambda text: f"{text[:2]}\x1b[01;31m\x1b[K{text[2:9]}\x1b[m\x1b[K{text[9:]}",
    "a link": lambda text: f"\x1b]8;;http://a.test/\x07{text[:9]}\x1b]8;;\x1b\\{text[9:]}",
    "each letter": lambda text: "".join(f"\x1b[38;5;{number};48;5;231;1;4m{letter}\x1b[0m" for number, letter in enumerate(text)),
    "struck over": lambda text: "".join(f"{letter}\b{letter}" for letter in text),
    "underlined": lambda text: "".join(f"_\b{letter}" for letter in text),
    "bytes that are no text": lambda text: "\ufffd".join(text),
    "invisible": lambda text: "\u200b".join(text),
}


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.parametrize("how", COLOURED)
@pytest.mark.parametrize("secret", [PLAIN, FOUND["github"]])
def test_a_secret_behind_colours_and_what_nobody_sees_is_found_in_texts_and_streams(how: str, secret: str) -> None:
    text = f"a \x1b[1mkey\x1b[0m = {COLOURED[how](secret)}\x1b[0m, \x1b[32mkeep\x1b[0m it"
    found = REDACTOR.redact(text)
    assert re.sub(r"[^A-Za-z0-9]", "", found).count("REDACTED") == 1
    assert found.startswith("a \x1b[1mkey\x1b[0m = ")
    assert found.endswith(", \x1b[32mkeep\x1b[0m it")
    assert secret[9:15] not in re.sub(r"\x1b\[[0-9;]*m|[^A-Za-z0-9]", "", found)
    for size in (1, 2, 3, 5, 7, 11, 19, 29, 50) if how != "struck over" else (50,):
        stream = REDACTOR.stream()
        shown = "".join([*(stream.feed(text[at : at + size]) for at in range(0, len(text), size)), stream.flush()])
        assert shown == found


def test_a_coloured_key_is_decided_at_the_end_of_its_line() -> None:
    assert REDACTOR.stream().feed(f"\x1b[31mghp_\x1b[m{FOUND['github'][4:]}\n") == "\x1b[31m[REDACTED:github]\n"


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


@settings(deadline=None)
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
