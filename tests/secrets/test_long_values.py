"""One long secret, such as a kubeconfig in Base64, costs a little more than its own size, and is found wherever it stands."""

import base64
import random
import tracemalloc

from neuralclaw.secrets import Redactor

RANDOM = random.Random(8)
LONG = base64.b64encode(RANDOM.randbytes(9_000)).decode()
FRAMES = [*range(70), 1_000]


def test_a_long_secret_takes_no_memory_of_the_square_of_its_length() -> None:
    tracemalloc.start()
    try:
        redactor = Redactor([("KUBECONFIG", LONG)])
        assert redactor.redact("The quick brown fox jumps. " * 1_000)
        assert redactor.redact_ends("The quick brown fox jumps. " * 1_000, begins=True, ends=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 600 * len(LONG)


def test_a_long_secret_is_found_at_every_place_of_a_text_and_in_a_stream() -> None:
    redactor = Redactor([("KUBECONFIG", LONG)])
    for before in FRAMES:
        frame = "x " * before
        assert redactor.redact(f"{frame}{LONG} y") == f"{frame}[REDACTED:KUBECONFIG] y"
    stream = redactor.stream()
    assert "".join([*(stream.feed(LONG[at : at + 500]) for at in range(0, len(LONG), 500)), stream.flush()]) == "[REDACTED:KUBECONFIG]"


def test_what_is_left_of_a_long_secret_that_was_cut_anywhere_is_taken_out() -> None:
    redactor = Redactor([("KUBECONFIG", LONG)])
    for cut in (20, 600, 5_000, len(LONG) - 20):
        assert redactor.redact_ends(f"{LONG[cut:]} end.", begins=True, ends=True) == "[REDACTED:KUBECONFIG] end."
        assert redactor.redact_ends(f"It is {LONG[:cut]}", begins=True, ends=True) == "It is [REDACTED:KUBECONFIG]"
