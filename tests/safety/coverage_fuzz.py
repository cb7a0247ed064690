"""Fuzzes the kernel by coverage with atheris: `python -m tests.safety.coverage_fuzz TARGET -max_total_time=60 [-seed=N]`.

A target ends with an error at the first input for which the gate fails, or answers an equivalent input more widely. The options are libFuzzer's; it prints
the seed. Atheris exists for Linux on x86-64.
"""

import logging
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["neuralclaw.safety", "neuralclaw.types.urls", "neuralclaw.config.policyfile"]):
    from neuralclaw.app.settings_loading import failed_examples
    from neuralclaw.config.policyfile import read
    from neuralclaw.safety.paths import absolute, normal, secret
    from neuralclaw.types.risk import Decision, Risk
    from neuralclaw.types.urls import parse
    from neuralclaw.types.verdicts import Verdict

    from .asking import READING, WORKING
    from .fuzz_run import is_crash
    from .parts import FETCH, READ, action, gate, judge
    from .rewrites import COMMANDS
    from .test_rule_examples import HOLDING

SCALE = (Decision.ALLOW, Decision.ASK, Decision.FORBID)


class GateFault(Exception):
    """An input for which the gate fails, or says more than it may."""


def result(coroutine: Coroutine[Any, Any, Verdict]) -> Verdict:
    """What a coroutine returns that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        verdict: Verdict = done.value
        return verdict
    raise GateFault("the gate waits for something")


def sound(verdict: Verdict, given: str) -> Verdict:
    if is_crash(verdict):
        raise GateFault(f"{given!r}: {verdict.reasons}")
    return verdict


def no_wider(verdict: Verdict, plain: Verdict, given: str) -> None:
    if SCALE.index(verdict.decision) < SCALE.index(plain.decision) or (verdict.decision is Decision.ALLOW and verdict.risk is Risk.LOW < plain.risk):
        raise GateFault(f"{given!r} is {verdict.decision}, risk {verdict.risk}; without what means nothing it is {plain.decision}, risk {plain.risk}")


def command(data: bytes) -> None:
    """A command line, and the same one with blanks around it."""
    text = data.decode("utf-8", "surrogateescape").replace("\0", "")
    plain = sound(result(judge(text or "x")), text)
    if plain.understood and text.strip() and not text.rstrip().endswith("\\"):
        no_wider(sound(result(judge(f" {text}\n")), text), plain, text)


def path(data: bytes) -> None:
    """A path of a file tool, and the same one with another slash."""
    text = data.decode("utf-8", "surrogateescape").replace("\0", "")
    whole = normal(absolute(text, "/home/ann/project"))
    if normal(whole) != whole or not whole.startswith("/"):
        raise GateFault(f"{text!r} becomes {whole!r}, and that {normal(whole)!r}")
    if secret(whole) != secret(normal(whole)):
        raise GateFault(f"{text!r}: a place of keys in one spelling alone")
    plain = sound(result(gate().judge(action(READ, path=text))), text)
    if "/" in text and ":" not in text and not text.startswith("~"):
        no_wider(sound(result(gate().judge(action(READ, path=text.replace("/", "//", 1)))), text), plain, text)


def url(data: bytes) -> None:
    """An address, read twice, and judged."""
    text = data.decode("utf-8", "surrogateescape")
    found = parse(text)
    if parse(text) != found:
        raise GateFault(f"{text!r} is read in two ways")
    sound(result(gate().judge(action(FETCH, url=f"http://{text.replace(chr(0), '')}"))), text)


def rules(data: bytes) -> None:
    """A file of rules: its errors are sentences."""
    FILE.write_bytes(data)
    for error in read(str(FILE), failed_examples, "/home/ann")[1]:
        if not error.strip() or "Traceback" in error:
            raise GateFault(f"{data!r}: {error!r}")


TARGETS: dict[str, Callable[[bytes], None]] = {target.__name__: target for target in (command, path, url, rules)}
SEEDS = {
    "command": [*COMMANDS, *READING[::5], *WORKING[::5]],
    "path": ["a/../b", "~/x", "~root/.ssh/id_rsa", "/etc/shadow", "/proc/self/environ", "file:///etc/passwd", "./a//b/", "*.py", ".git/hooks/x", "a\nb"],
    "url": ["a.example/x?y=1#z", "[::1]:8080/", "127.1", "0x7f.1", "user:pw@b.example:443", "b\u00fccher.example", "2130706433", "a..b"],
    "rules": [HOLDING, *HOLDING.strip().splitlines(), "- {id: a, decision: ask, tool: [x]}", "rules: []", "safety: {rules: [{id: x}]}"],
}
FILE = Path(tempfile.gettempdir()) / "rules.yaml"


def main() -> None:
    global FILE
    name, *options = sys.argv[1:]
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as place:
        FILE = Path(place) / "rules.yaml"
        corpus = Path(place) / "corpus"
        corpus.mkdir()
        for number, text in enumerate(SEEDS[name]):
            (corpus / str(number)).write_text(text)
        atheris.Setup([sys.argv[0], "-len_control=0", "-max_len=400", *options, str(corpus)], TARGETS[name])
        atheris.Fuzz()


if __name__ == "__main__":
    main()
