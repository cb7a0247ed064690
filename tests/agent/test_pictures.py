"""Pictures in a person's message: checked, recorded, sent to a model that sees, named to one that does not."""

from base64 import b64decode, b64encode
from pathlib import Path

import anyio
import pytest

from neuralclaw.app.pictures import MAX_BYTES, mentioned
from neuralclaw.errors import UsageError
from neuralclaw.testing import EventCapture, FunctionProvider, ScriptedProvider
from neuralclaw.types.entries import blob_digest
from neuralclaw.types.messages import Image, ModelInfo, Price, Request, UserMessage

from .kit import agent, events

pytestmark = pytest.mark.anyio

DOT = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")


async def test_a_picture_reaches_the_model_in_this_turn_and_the_next(home: Path) -> None:
    dot = home.parent / "dot.png"
    dot.write_bytes(DOT)
    provider = ScriptedProvider("a dot", "still a dot", info=ModelInfo(images=True, price=Price(0, 0)))
    async with agent(home, provider=provider) as a:
        seen = await events(a, "What is this?", session="s", images=[dot])
    async with agent(home, provider=provider) as a:
        await events(a, "And now?", session="s")
    for request in provider.requests:
        first = request.messages[0]
        assert isinstance(first, UserMessage)
        assert first.images == (Image("image/png", DOT, "dot.png"),)
    assert seen.one("inbound").to_dict()["images"] == [{"media_type": "image/png", "name": "dot.png", "bytes": len(DOT), "digest": blob_digest(DOT)}]
    assert b64encode(DOT).decode() not in str([event.to_dict() for event in seen.events])


async def test_a_picture_can_be_sent_during_a_turn(home: Path) -> None:
    sent = anyio.Event()

    async def model(request: Request) -> str:
        await sent.wait()
        return "seen"

    provider = FunctionProvider(model, info=ModelInfo(images=True, price=Price(0, 0)))
    async with agent(home, provider=provider) as a, a.turn("begin", session="s") as stream:
        await a.steer("look", session="s", images=[DOT])
        sent.set()
        await EventCapture().drain(stream)
    assert provider.requests[-1].messages[-1] == UserMessage("look", "steering", (Image("image/png", DOT, "picture"),))


async def test_the_person_is_told_that_a_model_takes_no_pictures(home: Path) -> None:
    async with agent(home, "blind") as a:
        seen = await events(a, "What is this?", images=[DOT])
    assert "does not accept images" in seen.one("status").text


@pytest.mark.parametrize(
    ("name", "data", "why"), [("a.png", b"GIF no", "not a PNG"), ("b.png", DOT + b"x" * MAX_BYTES, "too large"), ("c.png", None, "cannot be read")]
)
async def test_what_is_no_picture_is_refused_before_anything_is_recorded(home: Path, name: str, data: bytes | None, why: str) -> None:
    if data is not None:
        (home.parent / name).write_bytes(data)
    async with agent(home, "never") as a:
        with pytest.raises(UsageError, match=why):
            await events(a, "look", session="s", images=[home.parent / name])
        assert await a.do("sessions.list") == []


def test_a_picture_named_with_an_at_sign_is_found(tmp_path: Path) -> None:
    (tmp_path / "my dot.png").write_bytes(DOT)
    (tmp_path / "dot.png").write_bytes(DOT)
    (tmp_path / "notes.md").write_text("@dot.png")
    found = mentioned("Compare @dot.png, @'my dot.png' and @notes.md; ask joe@dot.png, @ and @gone.png.", str(tmp_path))
    assert [image.name for image in found] == ["dot.png", "my dot.png"]
