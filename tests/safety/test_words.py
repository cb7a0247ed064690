"""Words are resolved as a real bash resolves them: what the gate judges is what the program gets."""

import os
import subprocess
from pathlib import Path
from random import Random

import pytest

from neuralclaw.safety import shell

from .parts import POLICY

PIECES = (
    'r m - / \'a_b\' \'x\' "y_z" "\\$q" \\_ \\m \\\\ $\'\\x41\' $\'a\\nb\' {a,b} {1..3} {x } a=b ${u} $HOME "$HOME" ${v} $v "$v" $(echo_hi) "$(echo_a_b)"'
    ' `echo_q` $((1+2)) *zz #c é % @ , = ! \'\' "" \\% $ $\' $"t" [ ] ^ : + --x= 1 2'
).split()


def lines(seed: int, count: int) -> list[str]:
    """Random command lines made of awkward pieces."""
    random = Random(seed)
    pieces = [p.replace("_", " ").replace("\\%", "\\\n") for p in PIECES]
    return [" ".join("".join(random.choice(pieces) for _ in range(random.randint(1, 4))) for _ in range(random.randint(1, 3))) for _ in range(count)]


def resolved(line: str, directory: Path) -> str | None:
    """The line's words as the analysis gives them, or None where it says that it does not understand."""
    try:
        found = shell.analyse(line, cwd=str(directory), workspace=str(directory), policy=POLICY, env={})
    except ValueError:
        return None
    if not found.understood or found.broken:
        return None
    argv = next(c.argv for c in found.commands if c.argv[:1] == ("/usr/bin/cat",))
    return "".join(f"<{word}>" for word in argv[2:]) if len(argv) > 2 else "<>"


@pytest.mark.parametrize("seed", range(4))
def test_what_the_analysis_understands_is_what_bash_does(seed: int, tmp_path: Path) -> None:
    environment = {"HOME": "/home/ann", "PATH": os.defpath, "LC_ALL": "C.UTF-8"}
    compared = 0
    for words in lines(seed, 120):
        line = "v='p q'; /usr/bin/printf '<%s>' " + words
        mine = resolved(line.replace("/usr/bin/printf", "/usr/bin/cat"), tmp_path)
        if mine is None or "$$" in words or "$!" in words:
            continue
        real = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
        if real.returncode == 0:
            compared += 1
            assert mine == real.stdout, words
    assert compared > 40
