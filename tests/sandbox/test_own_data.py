"""A workspace that holds the agent's own data, as a home does: in every sandbox that stays hidden, and nothing of it can be changed."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuralclaw.ports import Sandbox
from neuralclaw.sandbox.container.container_options import ContainerOptions
from neuralclaw.sandbox.container.mounted import USER
from neuralclaw.sandbox.container.sandbox import ContainerSandbox

from . import engine
from .conformance.results import SANDBOXES
from .grants import command_grant
from .processes import PATH, sandbox

pytestmark = [pytest.mark.anyio, pytest.mark.full]

DATA, STATE = ".local/share/neuralclaw", ".local/state/neuralclaw"


@pytest.fixture
def person(tmp_path: Path) -> Path:
    home = tmp_path.resolve() / "person"
    for place in (DATA, STATE):
        (home / place).mkdir(parents=True)
        (home / place / "kept").write_text("secret")
    (home / "notes.txt").write_text("notes")
    if os.geteuid() == 0:
        for path in (home, *home.rglob("*")):
            os.chown(path, USER, USER)
    return home


@pytest.fixture(params=SANDBOXES)
def box(request: pytest.FixtureRequest, person: Path, tmp_path: Path) -> Iterator[Sandbox]:
    hidden = tuple(str(person / place) for place in (DATA, STATE))
    if request.param in engine.ENGINES:
        options = ContainerOptions(image=engine.IMAGE, data_home=str(tmp_path))
        made = ContainerSandbox(options, env={**os.environ, **engine.daemon(request.param).env}, hidden=hidden, home=str(person))
        yield made
        made.close()
    else:
        yield sandbox(request.param, hidden=hidden, home=str(person))


def standing(person: Path) -> dict[str, tuple[int, str]]:
    found = (path for place in (DATA, STATE) for path in (person / place, *(person / place).rglob("*")))
    return {str(path): (path.stat().st_mode, path.read_text() if path.is_file() else "") for path in found}


@pytest.mark.parametrize("place", [DATA, STATE])
@pytest.mark.parametrize(
    "attempt",
    [
        "cat {place}/kept",
        "echo evil > {place}/kept",
        "echo evil > {place}/new",
        "rm -rf {place}",
        "mv {place} moved; cat moved/kept; mkdir -p {place}; echo evil > {place}/kept",
        "mv .local moved; cat $(find moved -name kept); mkdir -p {place}; echo evil > {place}/kept",
        "ln {place}/kept other; cat other; echo evil > other",
        "ln -s {place} link; cat link/kept; echo evil > link/new",
        "chmod 777 {place} {place}/kept",
        "cd {place} && cat kept && echo evil > kept",
    ],
)
async def test_it_stays_hidden_and_as_it_is(box: Sandbox, person: Path, place: str, attempt: str) -> None:
    before = standing(person)
    script = f"({attempt.format(place=place)}) 2>&1; echo here > made; cat notes.txt"
    done = await box.exec(command_grant(person), ["sh", "-c", script], cwd=str(person), env={"PATH": PATH, "HOME": str(person)}, timeout=20, max_bytes=10_000)
    assert b"secret" not in done.stdout
    assert b"notes" in done.stdout
    assert standing(person) == before
