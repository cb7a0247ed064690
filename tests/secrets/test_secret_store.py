"""The secret store: what it keeps, what it refuses, and what is left when something goes wrong."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from neuralclaw.errors import ConfigError, UsageError
from neuralclaw.secrets.secret_store import SecretStore
from neuralclaw.secrets.store_key import KeySources

pytestmark = pytest.mark.full

VALUE = "".join(("qT7", "-vv81_", "kkZp03xYw"))


class KeptInMemory:
    """A keyring that keeps keys in memory."""

    def __init__(self) -> None:
        self.keys: dict[str, bytes] = {}

    def get(self, store: str) -> bytes | None:
        return self.keys.get(store)

    def put(self, store: str, key: bytes) -> None:
        self.keys[store] = key


def store(home: Path, sources: KeySources) -> SecretStore:
    return SecretStore(str(home), lambda keyring: sources if keyring else sources._replace(keyring=None), lambda: "2026-01-02T03:04:05Z")


def sources_of(kind: str, state: Path) -> KeySources:
    keyring = KeptInMemory() if kind == "keyring" else None
    return KeySources("open sesame" if kind == "passphrase" else "", str(state), keyring)


@pytest.mark.parametrize("kind", ["keyring", "passphrase", "file"])
def test_values_come_back_and_the_file_shows_names_alone(home: Path, tmp_path: Path, kind: str) -> None:
    sources = sources_of(kind, tmp_path / "state")
    kept = store(home, sources)
    assert (kept.exists(), kept.secrets(), kept.key_place()) == (False, [], "")
    kept.put("A_TOKEN", VALUE)
    kept.put("B", "línea\r\n\udcff")
    kept.put("A_TOKEN", VALUE + "2")
    assert [(one.name, one.kind, one.set, one.value) for one in store(home, sources).secrets()] == [
        ("A_TOKEN", "text", "2026-01-02T03:04:05Z", VALUE + "2"),
        ("B", "text", "2026-01-02T03:04:05Z", "línea\r\n\udcff"),
    ]
    text = (home / "secrets.json").read_text()
    assert "A_TOKEN" in text
    assert VALUE not in text
    assert (home / "secrets.json").stat().st_mode & 0o777 == 0o600
    files = list((tmp_path / "state").glob("*"))
    assert [file.stat().st_mode & 0o777 for file in files] == ([0o600] if kind == "file" else [])
    kept.remove("B")
    assert [one.name for one in kept.secrets()] == ["A_TOKEN"]


def test_a_store_is_opened_by_the_key_it_was_made_with_and_by_no_better_one(home: Path, tmp_path: Path) -> None:
    plain = sources_of("file", tmp_path / "state")
    store(home, plain).put("A", VALUE)
    later = plain._replace(passphrase="now there is one", keyring=KeptInMemory())
    store(home, later).put("B", VALUE)
    assert [one.name for one in store(home, plain).secrets()] == ["A", "B"]


@pytest.mark.parametrize(
    ("kind", "harm", "told"),
    [
        ("passphrase", "other", "NEURALCLAW_PASSPHRASE holds another passphrase than the secret store was made with"),
        ("passphrase", "gone", "is encrypted with a passphrase and NEURALCLAW_PASSPHRASE is not set"),
        ("file", "other", "holds another key than the secret store was made with"),
        ("file", "gone", "is gone, and without it"),
        ("file", "damaged", "is damaged"),
        ("keyring", "other", "the keyring of the system holds another key"),
        ("keyring", "gone", "is in the keyring of the system, which has no key for it"),
        ("keyring", "absent", "is in the keyring of the system, which cannot be used here"),
    ],
)
def test_without_its_key_a_store_is_one_clear_error_and_stays_as_it_is(home: Path, tmp_path: Path, kind: str, harm: str, told: str) -> None:
    sources = sources_of(kind, tmp_path / "state")
    store(home, sources).put("A", VALUE)
    before = (home / "secrets.json").read_bytes()
    if kind == "passphrase":
        sources = sources._replace(passphrase="wrong" if harm == "other" else "")
    elif kind == "file":
        (file,) = (tmp_path / "state").iterdir()
        file.unlink() if harm == "gone" else file.write_text("00" * 32 if harm == "other" else "no key")
    elif harm == "absent":
        sources = sources._replace(keyring=None)
    else:
        assert isinstance(sources.keyring, KeptInMemory)
        sources.keyring.keys = dict.fromkeys(sources.keyring.keys, bytes(32)) if harm == "other" else {}
    kept = store(home, sources)
    for act in (kept.secrets, lambda: kept.put("B", "anything"), lambda: kept.remove("A")):
        with pytest.raises(ConfigError) as raised:
            act()
        assert told in raised.value.text
        assert "was left as it is" in raised.value.text
        assert raised.value.hint
    assert (home / "secrets.json").read_bytes() == before


def test_any_change_of_the_file_is_found(home: Path, tmp_path: Path) -> None:
    sources = sources_of("file", tmp_path / "state")
    kept = store(home, sources)
    kept.put("A", VALUE)
    kept.put("B", VALUE * 2)
    file = home / "secrets.json"
    whole = file.read_bytes()
    tree = msgspec.json.decode(whole)

    def changed(**values: object) -> bytes:
        return msgspec.json.encode({**tree, **values})

    a, b = tree["secrets"]["A"], tree["secrets"]["B"]
    harms = [
        changed(secrets={"A": a}),
        changed(secrets={"A": b, "B": a}),
        changed(secrets={"A": a, "C": b}),
        changed(secrets={"A": {**a, "set": "2027-01-02T03:04:05Z"}, "B": b}),
        changed(secrets={"A": {**a, "kind": "openai"}, "B": b}),
        changed(secrets={"A": {**a, "nonce": b["nonce"]}, "B": b}),
        changed(secrets={"A": {**a, "sealed": b["sealed"]}, "B": b}),
        changed(id="0" * 16),
        changed(seal=tree["seal"][::-1]),
        whole[: len(whole) // 2],
        b"",
        b"[]",
    ]
    for harm in harms:
        file.write_bytes(harm)
        with pytest.raises(ConfigError) as raised:
            kept.secrets()
        assert "was left as it is" in raised.value.text, harm
        with pytest.raises(ConfigError):
            kept.put("D", VALUE)
        assert file.read_bytes() == harm
    file.write_bytes(changed(format=2))
    with pytest.raises(ConfigError, match="newer version"):
        kept.secrets()
    file.write_bytes(whole)
    assert len(kept.secrets()) == 2


@pytest.mark.parametrize("wrong", [{"n": 2**40}, {"n": -4, "r": -1}, {"p": 0}])
def test_a_store_whose_key_cannot_be_made_from_its_numbers_is_damaged(home: Path, tmp_path: Path, wrong: dict[str, int]) -> None:
    sources = sources_of("passphrase", tmp_path)
    store(home, sources).put("A", VALUE)
    tree = msgspec.json.decode((home / "secrets.json").read_bytes())
    tree["key"]["scrypt"] |= wrong
    (home / "secrets.json").write_bytes(msgspec.json.encode(tree))
    with pytest.raises(ConfigError, match="the secret store is damaged"):
        store(home, sources).secrets()


@pytest.mark.parametrize("name", ["", "a b", "1A", "A=B", "A\n", "../x", "x" * 129, "NEURALCLAW_PASSPHRASE", "NEURALCLAW_HOME", "é"])
def test_what_is_no_name_is_refused(home: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="nothing was stored"):
        store(home, sources_of("file", tmp_path)).put(name, VALUE)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(("value", "why"), [("", "is empty"), (" \t ", "is empty"), ("a\0b", "zero byte"), ("x" * 65_537, "more than 65536 bytes")])
def test_what_is_no_value_is_refused_and_not_shown(home: Path, tmp_path: Path, value: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as raised:
        store(home, sources_of("file", tmp_path)).put("A", value)
    assert "xxxx" not in raised.value.text


def test_writers_at_the_same_time_lose_nothing(home: Path, tmp_path: Path) -> None:
    sources = sources_of("file", tmp_path / "state")

    def write(writer: int) -> None:
        for each in range(10):
            store(home, sources).put(f"S_{writer}_{each}", f"{VALUE}{writer}{each}")

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert len(store(home, sources).secrets()) == 40


WRITER = """
import sys
from neuralclaw.secrets.secret_store import SecretStore
from neuralclaw.secrets.store_key import KeySources
store = SecretStore(sys.argv[1], lambda keyring: KeySources("", sys.argv[2], None), lambda: "2026-01-02T03:04:05Z")
for each in range(100_000):
    store.put("N", f"value number {each}")
    print(each, flush=True)
"""


def test_a_writer_that_is_killed_leaves_the_old_or_the_new(home: Path, tmp_path: Path) -> None:
    sources = sources_of("file", tmp_path / "state")
    for seen in (1, 3, 6):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(home), str(tmp_path / "state")], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            last = [int(writer.stdout.readline()) for _ in range(seen)][-1]
            os.kill(writer.pid, signal.SIGKILL)
            last = max([last, *map(int, writer.stdout.read().split())])
        (one,) = store(home, sources).secrets()
        assert int(one.value.rpartition(" ")[2]) in (last, last + 1)
    store(home, sources).put("N", "at the end")
    assert [path.name for path in sorted(home.iterdir())] == [".secrets.lock", "secrets.json"]
