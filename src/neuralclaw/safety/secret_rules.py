"""Secrets that a call is given by reference: the person is asked every time, about this secret and where it goes."""

import re
from collections.abc import Iterable
from posixpath import basename

import msgspec

from ..types.actions import Action
from ..types.cut_texts import cut_text
from ..types.given_names import header_problem, variable_problem
from ..types.options import Policy
from ..types.risk import Risk, Sink
from ..types.secret_references import MARK, secret_reference
from ..types.urls import Url
from . import host_rules
from .command_line import CommandLine
from .findings import Findings

GIVEN = "secret.given"
UNKNOWN = "secret.unknown"
REFUSED = "secret.refused"
UNFIT = "secret.unfit"
SHOWN = 20
"""Names of secrets, and programs, that a reason names."""
LONGEST = 80
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
"""How a word begins that gives a variable its value and runs no program."""
FORM = "a reference is `secret:NAME`, or one word before it: `Bearer secret:NAME`"


class SecretUse(msgspec.Struct, frozen=True):
    """A value of a call that may be a reference. `at`: the variable or header that has it; `name`: the secret, "" where the text is no reference."""

    at: str
    text: str
    name: str = ""


def uses(values: object) -> tuple[SecretUse, ...]:
    """Those of an argument, an object of texts by name. Raises `TypeError` for what is none."""
    if values is None:
        return ()
    if not isinstance(values, dict) or not all(isinstance(one, str) for pair in values.items() for one in pair):
        raise TypeError("what secrets may be given to is no object of texts")
    found = ((at, text, secret_reference(text)) for at, text in values.items())
    return tuple(SecretUse(at, text, "" if one is None else one.name) for at, text, one in found)


def judge(findings: Findings, action: Action, policy: Policy, wanted: Iterable[SecretUse], line: CommandLine | None, urls: tuple[Url, ...]) -> None:
    """Variables of a command may be plain texts; headers of a request are there for secrets alone."""
    for use in wanted:
        problem = variable_problem(use.at) if line is not None else header_problem(use.at) if urls else ""
        if problem or "\0" in use.text:
            findings.forbid(UNFIT, problem or f"the value of {cut_text(use.at, LONGEST)} holds a zero byte")
        elif use.name and use.name in policy.secrets:
            _given(findings, action, policy, use, line, urls)
        elif use.name:
            findings.forbid(UNKNOWN, f"there is no secret {use.name} that can be given: {_known(policy)}", "a secret that is there, or none")
        elif line is None or any(f"{MARK}{name}" in use.text for name in policy.secrets):
            findings.forbid(UNFIT, f"{cut_text(use.at, LONGEST)!r} is given no secret: {FORM}", FORM)


def _given(findings: Findings, action: Action, policy: Policy, use: SecretUse, line: CommandLine | None, urls: tuple[Url, ...]) -> None:
    findings.raise_risk(Risk.HIGH)
    if use.name not in findings.secrets:
        findings.secrets.append(use.name)
    if line is not None:
        findings.ask(GIVEN, f"gives the secret {use.name} to {_programs(line)} as the variable {use.at}")
        return
    findings.sinks.add(Sink.NETWORK_SEND)
    for url in urls:
        if url.problem is None and url.scheme != "https" and host_rules.released_by(policy, action, url) is None:
            findings.forbid(REFUSED, f"the secret {use.name} would be sent to {url.place} where others can read it", "an https address")
        elif url.problem is None:
            findings.ask(GIVEN, f"sends the secret {use.name} to {url.place} in the header {use.at}")


def _programs(line: CommandLine) -> str:
    """Who gets the variables of a command line: each program in it."""
    names = list(dict.fromkeys(basename(one.argv[0]) for one in line.commands if one.argv and not _ASSIGNMENT.match(one.argv[0])))
    if not line.understood or not names or len(names) > SHOWN:
        return "whatever the command runs"
    return ", ".join(names)


def _known(policy: Policy) -> str:
    if not policy.secrets:
        return "none is stored"
    more = f" and {len(policy.secrets) - SHOWN} more" if len(policy.secrets) > SHOWN else ""
    return f"there {'is' if len(policy.secrets) == 1 else 'are'} {', '.join(policy.secrets[:SHOWN])}{more}"
