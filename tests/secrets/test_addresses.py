"""What is secret in an address: in errors, `doctor`, the log and the record it is not shown."""

from pathlib import Path

import pytest

from neuralclaw.types.shown_addresses import address_secrets, shown_address, without_address

from ..cli.program import Claw

pytestmark = [pytest.mark.anyio, pytest.mark.full]

SECRET = "".join(("Zq7", "Xw4Kp9LmT2v", "B8nRs5"))


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.parametrize(("address", "secret"), [("?key={}", SECRET), ("?{}", "pw12x"), ("#{}", SECRET)])
async def test_a_key_in_the_address_of_a_service_is_nowhere_to_be_read(home: Path, tmp_path: Path, address: str, secret: str) -> None:
    claw = Claw(home, tmp_path)
    url = f"http://127.0.0.1:1/v1{address.format(secret)}"
    (home / "config.yaml").write_text(f"llm:\n  default_model: mine:m\n  providers:\n    mine:\n      base_url: '{url}'\n      api_key: aaaabbbbCCCC1234zz\n")
    said = ""
    for words in (("run", "hi"), ("doctor",), ("doctor", "--json"), ("models", "show"), ("config", "show")):
        ran = await claw(*words)
        said += ran.out + ran.err
    assert "127.0.0.1:1/v1" in said
    assert secret not in said
    kept = [path for path in home.rglob("*") if path.is_file() and path.name != "config.yaml"]
    assert [str(path) for path in kept if secret.encode() in path.read_bytes()] == []


@pytest.mark.parametrize(
    ("address", "shown", "secrets"),
    [
        ("https://host/v1", "https://host/v1", []),
        ("https://me:pa%2Bss@host:1/v1?key=a%20b#c1x", "https://[set]@host:1/v1?[set]#[set]", ["pa%2Bss", "pa+ss", "c1x", "a%20b", "a b"]),
        ("https://host?KEY", "https://host?[set]", ["KEY"]),
        ("https://host/x?api-version=2024-10-21-preview&n=12", "https://host/x?[set]", []),
        ("~/anchors.git", "~/anchors.git", []),
    ],
)
def test_an_address_is_shown_without_what_is_secret_in_it(address: str, shown: str, secrets: list[str]) -> None:
    assert shown_address(address) == shown
    assert address_secrets(address) == secrets


def test_what_others_say_of_an_address_is_told_without_what_is_secret_in_it() -> None:
    address = f"https://host/x.git?token={SECRET}&a=b"
    assert without_address(f"unable to access '{address}/': {SECRET} b", address) == "unable to access 'https://host/x.git?[set]/': [set] b"
