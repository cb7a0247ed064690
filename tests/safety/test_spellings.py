"""Another spelling of a command line never gets a wider answer than the plain one, also where its program is known in part only."""

from pathlib import Path

import pytest

from neuralclaw.types.risk import Decision

from .asking import fill
from .fuzz_run import LineJudge

pytestmark = pytest.mark.anyio
WIDTH = {Decision.FORBID: 0, Decision.ASK: 1, Decision.ALLOW: 2}
PLAIN = ("cat /etc/shadow", "cat /home/other/notes", "touch /home/other/notes", "sudo ls", "rm -rf /", "cp a.txt /etc/cron.d/job", "pip install x")
REDIRECTED = ("cat < /etc/shadow", "echo x > /dev/sda", "echo x > /home/other/notes", "echo x >> .git/hooks/pre-commit")


def spellings(line: str) -> list[str]:
    """The same line with its first word, or another one, written otherwise."""
    program, *rest = line.split()
    words = " ".join(rest)
    return [
        f"{{{','.join((program, *rest))}}}",
        f"true; {{{','.join((program, *rest))}}}",
        f"if {{true,}}; then {{{','.join((program, *rest))}}}; fi",
        f"{{,{program}}} {words}",
        f"{program[0]}${{none}}{program[1:]} {words}",
        f'{program[0]}"${{none}}"{program[1:]} {words}',
        f"{program[0]}$@{program[1:]} {words}",
        f"${{none:-{program}}} {words}",
        f'${{none:-"{program}"}} {words}',
        f"bash -c '{program[0]}${{none}}{program[1:]} {words}'",
        f"eval '{program[0]}${{none}}{program[1:]} {words}'",
        f"{program} {words[:-1]}${{none}}{words[-1:]}",
        f'{program} {" ".join(rest[:-1])} ${{none:-"{rest[-1]}"}}',
    ]


async def widest(judge: LineJudge, plain: str, spelled: list[str]) -> list[str]:
    """The spellings that get more than the plain line."""
    limit = WIDTH[(await judge.judge(plain)).decision]
    return [text for text in spelled if WIDTH[(await judge.judge(text)).decision] > limit]


@pytest.mark.invariant("gate.spelling")
@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize("plain", PLAIN)
async def test_a_line_written_otherwise_gets_no_wider_answer(plain: str, confined: bool, tmp_path: Path) -> None:
    fill(tmp_path)
    assert await widest(LineJudge(tmp_path, undo=confined, confined=confined), plain, spellings(plain)) == []


@pytest.mark.invariant("gate.spelling")
@pytest.mark.parametrize("plain", REDIRECTED)
async def test_a_redirection_to_a_place_known_in_part_gets_no_wider_answer(plain: str, tmp_path: Path) -> None:
    fill(tmp_path)
    head, _, target = plain.rpartition(" ")
    spelled = [f"{head} {target[:2]}${{none}}{target[2:]}", f'{head} ${{none:-"{target}"}}', f"{head} {target}$none"]
    assert await widest(LineJudge(tmp_path, undo=True), plain, spelled) == []


@pytest.mark.parametrize(
    "text",
    [
        "</etc/shadow",
        'echo "$(</etc/shadow)"',
        "$x /etc/shadow",
        "c?t /etc/shadow",
        "/bin/c?t /etc/shadow",
        "${x:-cat} /etc/shadow",
        'cat /etc/shadow "',
        "{ cat /etc/shadow",
    ],
)
async def test_what_is_not_understood_does_not_touch_a_place_of_secrets(text: str, tmp_path: Path) -> None:
    assert (await LineJudge(tmp_path, undo=True).judge(text)).decision is Decision.FORBID


@pytest.mark.parametrize("text", ["{ ls; }", "{ ls -l; cat README.md; } | wc -l", "{ls,-l}", """echo '{"a":1}' | jq ."""])
async def test_braces_of_groups_lists_and_texts_are_read_as_such(text: str, tmp_path: Path) -> None:
    assert (await LineJudge(tmp_path, undo=True).judge(text)).decision is Decision.ALLOW
