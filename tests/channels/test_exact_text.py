"""What a person is asked to agree to: every character that cannot be seen is a visible escape, over all of Unicode."""

import sys
import unicodedata

import pytest

from neuralclaw.channels.cards import question_card
from neuralclaw.channels.control_characters import exact
from neuralclaw.channels.question_prompts import about, heading
from neuralclaw.types.events import ApprovalRequested
from neuralclaw.types.questions import Covers, Shown

pytestmark = pytest.mark.full

HIDDEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}
IGNORABLE = [
    *(0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x16FE4, 0x1D159),
    *range(0x180B, 0x1810),
    *range(0xFE00, 0xFE10),
    *range(0xE0000, 0xE1000),
]
"""What has another category, and is drawn as nothing: Unicode's Default_Ignorable_Code_Point, and blanks."""


def test_every_invisible_character_of_unicode_is_an_escape_and_every_other_stays() -> None:
    ignorable = frozenset(map(chr, IGNORABLE))
    wrong = []
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        hidden = (unicodedata.category(letter) in HIDDEN and letter not in " \n") or letter in ignorable
        shown = exact(f"a{letter}b")
        if (shown == f"a{letter}b") is hidden or (hidden and not (shown.isascii() and shown.isprintable())):
            wrong.append(hex(code))
    assert wrong == []


def test_two_texts_that_differ_in_an_invisible_character_are_shown_differently() -> None:
    shown = {exact(f"rm a{chr(code)}b") for code in (*IGNORABLE, 0x20, 0x9, 0xA0, 0xAD, 0x200B, 0x200D, 0x202E, 0x2028, 0x3000, 0xD800, 0xFEFF, 0xFFFE)}
    assert len(shown) == len(IGNORABLE) + 12


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("e\u0301", "e\u0301"),
        ("\u0301e", "\\u0301e"),
        ("a \u0301e", "a \\u0301e"),
        ("a\n\u0301e", "a\n\\u0301e"),
        ("a\u200b\u0301", "a\\u200b\\u0301"),
        ("e\u0301\u0323", "e\u0301\u0323"),
        ("नमस्ते 你好 안녕 שלום 😀", "नमस्ते 你好 안녕 שלום 😀"),
        ("\u2764\ufe0f", "\u2764\\ufe0f"),
        ("a\r\nb", "a\\x0d\nb"),
    ],
)
def test_a_combining_mark_stays_on_what_it_combines_with_and_text_in_any_script_stays(text: str, shown: str) -> None:
    assert exact(text) == shown


def test_every_part_of_a_question_is_shown_exactly() -> None:
    odd = "x\u3164\u2800\ufe0f\U000e0041\u202ey"
    question = ApprovalRequested(
        approval_id=f"q{odd}",
        action=Shown(tool=f"t{odd}", show=f"run {odd}", diff=f"+{odd}", cwd=f"/w/{odd}", variables={f"V{odd}": odd}),
        summary=f"Run {odd}",
        reasons=(f"because {odd}",),
        sources=(f"external:web/{odd}",),
        choices=("once", "no"),
        covers=Covers(session=odd, always=odd),
        expires="2026-01-01T00:00:00Z",
    )
    whole = "\n".join([question_card(question, width=400, colour=False), heading(question), *about(question)])
    assert [letter for letter in odd[1:-1] if letter in whole] == []
