"""The secret store: one encrypted file in the home.

The file is JSON. Each value is encrypted by itself with AES-256-GCM; its name, kind and time are authenticated with it. An HMAC-SHA256 over all of the
file finds any other change. Names, kinds and times stand in it readable. Who writes holds a lock, and the file is replaced whole: after a crash there is
the old one or the new one.
"""

import fcntl
import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from ..errors import ConfigError, UsageError
from .formats import kind_of
from .store_key import KeyPlace, KeySources, derived

FILE = "secrets.json"
LOCK = ".secrets.lock"
FORMAT = 1
MOST = 65_536
"""Bytes of a value at most."""
LOCK_SECONDS = 5.0
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}\Z")
RESERVED = ("NEURALCLAW_PASSPHRASE", "NEURALCLAW_HOME", "HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
"""Variables that are needed to find and open the store."""


class SealedSecret(msgspec.Struct, frozen=True):
    """One secret in the file. `set`: when, RFC 3339; `kind`: the format of key that it has, or `text`."""

    kind: str
    set: str
    nonce: bytes
    sealed: bytes


class StoreFile(msgspec.Struct, frozen=True):
    """All of the file. `seal`: the HMAC of everything else."""

    format: int
    id: str
    key: KeyPlace
    secrets: dict[str, SealedSecret]
    seal: bytes = b""


class StoredSecret(NamedTuple):
    """A secret, opened."""

    name: str
    kind: str
    set: str
    value: str


class SecretStore:
    """The secret store of the home `folder`; it need not be there. `now`: the time, RFC 3339.

    Every method reads the file anew, and blocks: opening one with a passphrase takes some 100 ms. `sources` is asked when a key is needed: a new
    store, which may use the keyring, asks with true. All raise `ConfigError` where the file cannot be read or written, with everything as it was.
    """

    def __init__(self, folder: str, sources: Callable[[bool], KeySources], now: Callable[[], str]) -> None:
        self._folder, self._sources, self._now = folder, sources, now
        self.path = os.path.join(folder, FILE)  # noqa: PTH118

    def exists(self) -> bool:
        return os.path.lexists(self.path)

    def secrets(self) -> list[StoredSecret]:
        """All of them, by name."""
        file = self._read()
        return [] if file is None else self._opened(file, self._key(file))

    def put(self, name: str, value: str, *, keyring: bool = True) -> StoredSecret:
        """Keep the value under the name, in place of an earlier one; without `keyring` a new store does not use that of the system. Raises `UsageError` for a
        name or a value that cannot be kept."""
        check_name(name)
        data = value.encode("utf-8", "surrogateescape")
        if not data.strip() or len(data) > MOST or b"\0" in data:
            why = "is empty" if not data.strip() else f"has more than {MOST} bytes" if len(data) > MOST else "holds a zero byte"
            raise UsageError(f"the value for {name} {why}; nothing was stored")
        with self._locked():
            file = self._read()
            if file is None:
                store = secrets.token_hex(8)
                place, key = self._sources(keyring).new(store)
                file = StoreFile(FORMAT, store, place, {})
            else:
                key = self._key(file)
                self._opened(file, key)
            secret = StoredSecret(name, kind_of(value), self._now(), value)
            self._write(msgspec.structs.replace(file, secrets={**file.secrets, name: _sealed(file.id, secret, data, key)}), key)
        return secret

    def remove(self, name: str) -> None:
        """Raises `UsageError` where there is none of the name."""
        with self._locked():
            file = self._read()
            if file is None or name not in file.secrets:
                raise UsageError(f"there is no secret {name!r:.140}", hint="neuralclaw secrets list")
            key = self._key(file)
            self._opened(file, key)
            self._write(msgspec.structs.replace(file, secrets={each: one for each, one in file.secrets.items() if each != name}), key)

    def key_place(self) -> str:
        """Where the key is, in words; "" where there is no store."""
        file = self._read()
        if file is None:
            return ""
        if file.key.source == "file":
            return f"the key file {self._sources(False).key_file(file.id)}"
        return {"keyring": "the keyring of the system", "passphrase": "a passphrase"}[file.key.source]

    def _key(self, file: StoreFile) -> bytes:
        return self._sources(file.key.source == "keyring").key(file.key, file.id, self.path)

    def _read(self) -> StoreFile | None:
        try:
            with open(os.open(self.path, os.O_RDONLY | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
                data = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be read: {error.strerror}") from error
        try:
            made_by = msgspec.json.decode(data, type=_Format).format
            if made_by > FORMAT:
                raise ConfigError(f"{self.path} was written by a newer version of this program; it was left as it is", hint="update this one")
            return msgspec.json.decode(data, type=StoreFile)
        except msgspec.MsgspecError as error:
            raise self._damaged() from error

    def _damaged(self) -> ConfigError:
        return ConfigError(f"{self.path} is damaged; it was left as it is", hint="restore it from a backup, or move it away and set the secrets again")

    def _opened(self, file: StoreFile, key: bytes) -> list[StoredSecret]:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if not hmac.compare_digest(_seal(file, key), file.seal):
            raise self._damaged()
        cipher = AESGCM(derived(key, _VALUES))
        found = []
        for name, one in sorted(file.secrets.items()):
            try:
                value = cipher.decrypt(one.nonce, one.sealed, _bound(file.id, name, one.kind, one.set))
            except (InvalidTag, ValueError) as error:
                raise self._damaged() from error
            found.append(StoredSecret(name, one.kind, one.set, value.decode("utf-8", "surrogateescape")))
        return found

    def _write(self, file: StoreFile, key: bytes) -> None:
        """Replace the file whole."""
        data = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(file, seal=_seal(file, key))), indent=1)
        new = f"{self.path}.new"  # one name: what a crash left is overwritten under the lock
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb") as out:  # noqa: PTH123
                os.fchmod(out.fileno(), 0o600)
                out.write(data + b"\n")
                out.flush()
                os.fsync(out.fileno())
            os.replace(new, self.path)  # noqa: PTH105
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}; nothing was changed") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One process at a time, and one thread; the home is made where it is missing."""
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)  # noqa: PTH103
            lock = os.open(os.path.join(self._folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)  # noqa: PTH118
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}; nothing was changed") from error
        try:
            until = time.monotonic() + LOCK_SECONDS
            while not _taken(lock):
                if time.monotonic() > until:
                    raise ConfigError(f"another program writes {self.path} for more than {LOCK_SECONDS:g} s; nothing was changed")
                time.sleep(0.01)
            yield
        finally:
            os.close(lock)


class _Format(msgspec.Struct):
    format: int


def check_name(name: str) -> None:
    """Raises `UsageError` for what is no name of a secret."""
    if not NAME.match(name):
        raise UsageError(
            f"{name!r:.140} is no name for a secret; nothing was stored", hint="a name has letters, digits, _ . and -, at most 128: OPENAI_API_KEY"
        )
    if name.upper().startswith("NEURALCLAW_") and name not in RESERVED:
        raise UsageError(f"{name} is a setting and no secret; nothing was stored", hint="neuralclaw config set, or a secret of another name: ${NAME} names it")
    if name in RESERVED:
        raise UsageError(f"{name} is needed to open the secret store and cannot be in it; nothing was stored", hint="set it in the environment")


_VALUES = b"neuralclaw secrets values"
_SEAL = b"neuralclaw secrets seal"


def _sealed(store: str, secret: StoredSecret, data: bytes, key: bytes) -> SealedSecret:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(12)
    bound = _bound(store, secret.name, secret.kind, secret.set)
    return SealedSecret(secret.kind, secret.set, nonce, AESGCM(derived(key, _VALUES)).encrypt(nonce, data, bound))


def _bound(store: str, name: str, kind: str, when: str) -> bytes:
    """What a value is bound to: it opens under this name in this store alone."""
    return msgspec.json.encode([store, name, kind, when])


def _seal(file: StoreFile, key: bytes) -> bytes:
    data = msgspec.json.encode(msgspec.structs.replace(file, seal=b""), order="deterministic")
    return hmac.new(derived(key, _SEAL), data, hashlib.sha256).digest()


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
