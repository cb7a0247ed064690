"""Whatever a server answers, a fetch ends in time, with an answer or one line that says why, and goes nowhere else."""

import time

import pytest

from neuralclaw.errors import NeuralClawError

from .hostile_answers import CASES
from .web_world import Stream, page, world

pytestmark = [pytest.mark.anyio, pytest.mark.full]
HOME = [["127.0.0.1"]]
SECONDS = 0.6


@pytest.mark.parametrize("name", CASES)
async def test_a_hostile_answer_ends_in_time_and_leads_nowhere(name: str) -> None:
    async with world(a=HOME, b=HOME).open() as here:
        trap, fine = await here.serve(page(b"trap")), await here.serve(page(b"fine"))
        ports = {"@TRAP@": trap.port, "@FINE@": fine.port}

        async def hostile(stream: Stream, request: bytes) -> None:
            await CASES[name](stream, ports)

        server = await here.serve(hostile)
        begun, said = time.monotonic(), ""
        try:
            found = await here.fetch(f"http://a.test:{server.port}/", seconds=SECONDS)
            assert len(found.body) <= 100_000
        except NeuralClawError as error:
            said = error.text
        assert time.monotonic() - begun < SECONDS + 20
        assert trap.connections == 0
        assert "\n" not in said
        assert len(said) < 600
        assert "yyyy" not in said


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 55
