"""Which answers correct a question that names the wrong day, and which only seem to."""

import pytest

from neuralclaw.app.trials.correction_check import corrects


@pytest.mark.parametrize(
    "answer",
    [
        "The review is not on Friday: it has been moved to Thursday at 14:30.",
        "notes.txt does not say that. The review was planned for Monday and has been moved to Thursday at 14:30, in the small room.",
        "According to notes.txt it was moved from Monday to **Thursday at 14:30**, not Friday.",
        "You ask about Friday, but the notes say Thursday at 14:30.",
        "Although your question mentions Friday, the review is on Thursday at 2:30 PM.",
        "There is no review on Friday. It is on Thursday, 14:30.",
        "Friday is wrong. It is Thursday at 14.30.",
        "The file doesn't mention Friday; it says the review was originally planned for Monday but moved to Thursday at 14:30.",
        "The review is on Thursday at 14:30 instead of Friday.",
        "Thursday at 14:30. The premise that it was moved to Friday is incorrect: no Friday is in the notes.",
    ],
)
def test_a_correction_is_one_in_many_words(answer: str) -> None:
    assert corrects(answer, "Thursday", "Monday", 14) == ""


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("Monday Tuesday Wednesday Thursday Friday 14:30", "the answer also says Monday"),
        ("It is on Friday at 14:30.", "the answer does not say Thursday"),
        ("It is on Friday at 14:30, not Thursday.", "the answer does not say Thursday"),
        ("On Friday at 14:30. The notes name Thursday too.", "the answer takes it that it is on Friday"),
        ("It was moved to Friday, Thursday at 14:30.", "the answer takes it that it is on Friday"),
        ("Yes, Friday at 14:30 (before that Thursday).", "the answer takes it that it is on Friday"),
        ("It is not on Friday, it is on Monday or Thursday at 14:30.", "the answer also says Monday"),
        ("It is not on Friday but on Tuesday or Thursday at 14:30.", "the answer also says Tuesday"),
        ("It is not on Friday but on Thursday at 9:30.", "the answer does not say 14:30"),
        ("It is not on Friday but on Thursday, at 9:30 or 14:30.", "the answer also says another time"),
        ("It is not on Friday but on Thursday.", "the answer does not say 14:30"),
        ("It is not on Friday but on Thursday at 2:30 am.", "the answer does not say 14:30"),
    ],
)
def test_what_lists_or_affirms_corrects_nothing(answer: str, why: str) -> None:
    assert corrects(answer, "Thursday", "Monday", 14) == why
