"""Equal web addresses get no wider answer: a spelling of an address that is refused is refused too, whatever reads it."""

import ipaddress

from hypothesis import given, settings
from hypothesis import strategies as st

from neuralclaw.safety.addresses import refusal
from neuralclaw.types.urls import parse

INSIDE = ("10.0.0.1", "127.0.0.1", "169.254.169.254", "192.168.1.1", "172.16.0.9", "100.64.0.1", "0.0.0.0")
IPV4 = st.one_of(st.sampled_from(INSIDE).map(ipaddress.IPv4Address), st.ip_addresses(v=4))
BASES = ("{}", "0x{:x}", "0X{:X}", "0{:o}", "000{:o}")


def numbers(address: ipaddress.IPv4Address, parts: int, bases: list[str]) -> str:
    """The address in so many parts, each in a base."""
    octets = list(address.packed)
    last = int.from_bytes(bytes(octets[parts - 1 :]), "big")
    return ".".join(base.format(number) for base, number in zip(bases, [*octets[: parts - 1], last], strict=False))


NUMBERS = st.builds(numbers, IPV4, st.integers(1, 4), st.lists(st.sampled_from(BASES), min_size=4, max_size=4))
FULL_WIDTH = str.maketrans("0123456789.", "０１２３４５６７８９。")


def spellings(address: ipaddress.IPv4Address, bases: list[str], parts: int) -> list[str]:
    """Hosts that some reader takes for the address."""
    text = str(address)
    mapped = ipaddress.IPv6Address(f"::ffff:{address}")
    digits = numbers(address, parts, bases)
    return [
        text, f"{text}.", digits, f"{digits}.", text.translate(FULL_WIDTH), digits.replace("0x", "0X"),
        f"[{mapped}]", f"[{mapped.exploded}]", f"[::ffff:{text}]", f"[64:ff9b::{text}]", f"[2002:{address.packed[:2].hex()}:{address.packed[2:].hex()}::]",
        f"user@{text}", f"a.test@{text}", f"{text}\\@a.test", f"{text}%2f@a.test", f"\t{text}", f"{text}\n", f"{text[:2]}\t{text[2:]}",
    ]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(IPV4, st.lists(st.sampled_from(BASES), min_size=4, max_size=4), st.integers(1, 4), st.sampled_from(["", ":80", ":8080"]))
def test_no_spelling_of_an_address_that_is_refused_is_connected_to(address: ipaddress.IPv4Address, bases: list[str], parts: int, port: str) -> None:
    refused = refusal(str(address)) is not None
    for host in spellings(address, bases, parts):
        url = parse(f"http://{host}{port}/")
        wider = url.problem is None and (url.literal is None or refusal(url.literal) is None)
        assert not (refused and wider), (address, host, url)
        assert url.problem is not None or url.literal is not None, "no spelling of an address is looked up as a name"


@settings(max_examples=150, deadline=None)
@given(st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z](\.[a-z][a-z0-9]{1,5}){1,2}", fullmatch=True), st.booleans(), st.booleans())
def test_a_name_means_the_same_host_in_every_spelling(name: str, upper: bool, dot: bool) -> None:
    plain = parse(f"http://{name}/")
    spelled = f"{name.upper() if upper else name}{'.' if dot else ''}"
    other = parse(f"HTTP://{spelled}:80/")
    assert (other.host, other.own, other.problem) == (plain.host, plain.own, plain.problem)
    wide = "".join(chr(ord(letter) + 0xFEE0) if letter.isascii() and letter.isalnum() else letter for letter in name)
    assert parse(f"http://{wide}/").host in ("", plain.host)
