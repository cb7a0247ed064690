"""`neuralclaw init --fetch-model URL`: one GGUF file, once, because the person asked for it."""

import hashlib
import struct
from collections.abc import Iterator

import pytest
import yaml

from .program import Claw
from .services import Services, _Handler

pytestmark = pytest.mark.anyio

MODEL = struct.pack("<4sIQQ", b"GGUF", 3, 0, 0) + bytes(range(256)) * 4000
"""A whole file without a single tensor: as much as can be known without loading it."""


@pytest.fixture
def services() -> Iterator[Services]:
    with Services().running() as running:
        running.files["/m/tiny.gguf"] = lambda handler: handler.body(MODEL)
        yield running


def left(claw: Claw) -> list[str]:
    folder = claw.home / "models"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


async def test_a_model_is_fetched_once_and_named_in_the_settings(claw: Claw, services: Services) -> None:
    services.files["/other/tiny.gguf"] = lambda handler: handler.redirect(f"{services.url}/m/tiny.gguf")
    ran = await claw("init", "--fetch-model", f"{services.url}/other/tiny.gguf", "--no-check", "--json")
    path = claw.home / "models" / "tiny.gguf"
    assert ran.json["fetched"] == {"path": str(path), "size": len(MODEL), "sha256": hashlib.sha256(MODEL).hexdigest(), "already": False}
    assert path.read_bytes() == MODEL
    assert yaml.safe_load((claw.home / "config.yaml").read_text())["llm"] == {"default_provider": "local", "default_model": str(path)}
    services.asked.clear()
    again = await claw("init", "--fetch-model", f"{services.url}/other/tiny.gguf", "--no-check")
    assert again.code == 0, again
    assert hashlib.sha256(MODEL).hexdigest() in again.err
    assert services.asked == []
    assert left(claw) == ["tiny.gguf"]


async def test_what_is_no_model_too_large_cut_off_or_not_there_leaves_nothing_behind(claw: Claw, services: Services) -> None:
    def enormous(handler: _Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(10**15))
        handler.end_headers()
        handler.wfile.write(MODEL)

    def cut(handler: _Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(MODEL)))
        handler.end_headers()
        handler.wfile.write(MODEL[:5000])

    services.files |= {
        "/m/page.gguf": lambda handler: handler.body(b"<html>no model</html>"),
        "/m/empty.gguf": lambda handler: handler.body(b""),
        "/m/large.gguf": enormous,
        "/m/cut.gguf": cut,
        "/m/broken.gguf": lambda handler: handler.body(b"GGUF" + bytes(100)),
        "/m/round.gguf": lambda handler: handler.redirect("/m/round.gguf"),
        "/m/away.gguf": lambda handler: handler.redirect("file:///etc/passwd"),
        "/m/inside.gguf": lambda handler: handler.redirect(f"http://localhost:{services.port}/secret.gguf"),
        "/m/metadata.gguf": lambda handler: handler.redirect("http://169.254.169.254/x.gguf"),
    }
    said = {
        "page": "not a GGUF file",
        "empty": "0 bytes",
        "large": "GB",
        "cut": "nothing was kept",
        "broken": "not a model that can be used",
        "round": "redirects",
        "away": "redirects from http to file",
        "inside": "localhost is a name of this machine",
        "metadata": "169.254.169.254",
        "gone": "404",
    }
    for name, words in said.items():
        ran = await claw("init", "--fetch-model", f"{services.url}/m/{name}.gguf", "--no-check")
        assert (ran.code, ran.out) == (1, ""), ran
        assert words in ran.err, ran
    for address in ("ftp://h/x.gguf", f"{services.url}/m/model.zip", f"{services.url}/m/..%2Fx.gguf", "tiny.gguf"):
        ran = await claw("init", "--fetch-model", address, "--no-check")
        assert ran.code == 78, ran
    assert left(claw) == []
    assert "/secret.gguf" not in services.asked
    assert not (claw.home / "config.yaml").exists()
