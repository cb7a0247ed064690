"""One address, one meaning: what is judged is what every other reader of the canonical form understands."""

import ipaddress
from urllib.parse import urlsplit

from hypothesis import example, given, settings
from hypothesis import strategies as st
from yarl import URL

from neuralclaw.types.urls import PORTS, parse

SIGNS = st.text(alphabet=st.sampled_from("hHtTpPsS:/\\@#?%.[]0127xXaeé１。ß\u00ad\u202e -_&=;|<>\"'`{}^~!$*+,()"), max_size=40)
ADDRESSES = st.builds(
    lambda scheme, user, host, port, rest: f"{scheme}{user}{host}{port}{rest}",
    st.sampled_from(["http://", "https://", "HTTP://", "http:/", "ftp://", "//"]),
    st.sampled_from(["", "", "", "u@", "u:p@", "@", "a.test#@", "a.test\\@"]),
    st.one_of(st.sampled_from(["a.test", "A.test.", "[::1]", "127.0.0.1", "[2606:4700::1111]", "münchen.test", "１２７.0.0.1", "0x7f.1", "a_b.test"]), SIGNS),
    st.sampled_from(["", "", ":", ":80", ":443", ":8080", ":0", ":99999", ":8O", "::1"]),
    st.one_of(st.sampled_from(["", "/", "/a?b#c", "?q", "#f", "/ä/../b"]), SIGNS.map(lambda text: f"/{text}")),
)


@settings(max_examples=400, deadline=None)
@given(st.one_of(ADDRESSES, SIGNS, st.text(max_size=60)))
@example("http://a.test/\ud800")
@example("http://a\ud800.test/")
@example("http://[::1]@b.test/")
@example("http://a.test:80:80/")
def test_every_text_has_a_verdict_and_a_good_one_means_the_same_to_every_reader(text: str) -> None:
    url = parse(text)
    if url.problem is not None:
        return
    canonical = url.canonical
    assert canonical.isascii()
    assert parse(canonical) == parse(parse(canonical).canonical)
    again, split, wire = parse(canonical), urlsplit(canonical), URL(canonical, encoded=True)
    port = url.port or PORTS[url.scheme]
    assert (again.host, again.port or PORTS[again.scheme], again.literal, again.problem) == (url.host, port, url.literal, None)
    assert (split.scheme, split.hostname, split.port or PORTS[split.scheme], split.username) == (url.scheme, url.host, port, None)
    assert (wire.scheme, wire.raw_host, wire.port, wire.user) == (url.scheme, url.host, port, None)
    assert wire.raw_path_qs == url.target
    if url.literal is not None:
        assert str(ipaddress.ip_address(url.host)) == url.host
