"""The key of a secret store: in the keyring of the operating system, made from a passphrase, or in a file of its own.

A store remembers where its key comes from and is opened from there alone; only a new store chooses. Nothing heavy is imported here: `keyring` and
its backends are loaded when a store needs them.
"""

import errno
import hashlib
import hmac
import os
import secrets
from typing import Literal, NamedTuple, Protocol

import msgspec

from ..errors import ConfigError

Source = Literal["keyring", "passphrase", "file"]
SIZE = 32
"""Bytes of a key."""
VARIABLE = "NEURALCLAW_PASSPHRASE"
SERVICE = "neuralclaw secrets"
"""Under which name the keyring has keys; the account is the id of the store."""
SCRYPT_N, SCRYPT_R, SCRYPT_P = 2**15, 8, 1
"""Costs 32 MB and about 80 ms."""
MOST_MEMORY = 2**28
"""Bytes: a store that asks for more was tampered with."""


class Scrypt(msgspec.Struct, frozen=True):
    """How a key is made from a passphrase (RFC 7914)."""

    salt: bytes
    n: int = SCRYPT_N
    r: int = SCRYPT_R
    p: int = SCRYPT_P

    def key(self, passphrase: str) -> bytes:
        """Raises `ValueError` for parameters outside the bounds."""
        if min(self.n, self.r, self.p) < 1 or 128 * self.n * self.r * self.p > MOST_MEMORY:
            raise ValueError("scrypt parameters out of bounds")
        data = passphrase.encode("utf-8", "surrogateescape")
        return hashlib.scrypt(data, salt=self.salt, n=self.n, r=self.r, p=self.p, maxmem=2 * MOST_MEMORY, dklen=SIZE)


class KeyPlace(msgspec.Struct, frozen=True, rename={"source": "from"}):
    """Where the key of a store comes from, and what tells whether it is the right one."""

    source: Source
    check: bytes
    scrypt: Scrypt | None = None


class Keyring(Protocol):
    """What is used of the keyring of the operating system. Both raise `ConfigError` where it cannot be used."""

    def get(self, store: str) -> bytes | None: ...
    def put(self, store: str, key: bytes) -> None: ...


class KeySources(NamedTuple):
    """Where keys may come from: the passphrase ("" for none), the directory of key files ("" where none is known), the keyring where one is usable."""

    passphrase: str = ""
    folder: str = ""
    keyring: Keyring | None = None

    def key_file(self, store: str) -> str:
        """The key file of that store."""
        return os.path.join(self.folder, f"secrets-{store}.key")  # noqa: PTH118  # on the path of a start: pathlib costs

    def new(self, store: str) -> tuple[KeyPlace, bytes]:
        """A key for a new store: in the keyring, else made from the passphrase, else in a key file. Raises `ConfigError`."""
        if self.keyring is not None:
            key = secrets.token_bytes(SIZE)
            self.keyring.put(store, key)
            return KeyPlace("keyring", check_of(key)), key
        if self.passphrase:
            scrypt = Scrypt(secrets.token_bytes(16))
            key = scrypt.key(self.passphrase)
            return KeyPlace("passphrase", check_of(key), scrypt), key
        key = secrets.token_bytes(SIZE)
        self._write(store, key)
        return KeyPlace("file", check_of(key)), key

    def _write(self, store: str, key: bytes) -> None:
        if not self.folder:
            raise ConfigError(
                "no directory for a key file is known: neither HOME nor XDG_STATE_HOME is set; nothing was stored", hint=f"set {VARIABLE} to a passphrase"
            )
        path = self.key_file(store)
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)  # noqa: PTH103
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb") as file:  # noqa: PTH123
                file.write(key.hex().encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ConfigError(f"the key file {path} cannot be written: {error.strerror}; nothing was stored", hint=f"set {VARIABLE} to a passphrase") from error

    def key(self, place: KeyPlace, store: str, file: str) -> bytes:
        """The key of the store in `file`. Raises `ConfigError` where it is not there or another one."""
        key, what = self._found(place, store, file)
        if len(key) != SIZE or not hmac.compare_digest(check_of(key), place.check):
            raise ConfigError(f"{what}: {file} cannot be read; it was left as it is", hint=_MENDS[place.source].format(path=self.key_file(store)))
        return key

    def _found(self, place: KeyPlace, store: str, file: str) -> tuple[bytes, str]:
        """The key, and what is wrong where it is another one."""
        mend = _MENDS[place.source].format(path=self.key_file(store))
        if place.source == "passphrase":
            if not self.passphrase or place.scrypt is None:
                raise ConfigError(f"{file} is encrypted with a passphrase and {VARIABLE} is not set; the file was left as it is", hint=mend)
            try:
                return place.scrypt.key(self.passphrase), f"{VARIABLE} holds another passphrase than the secret store was made with"
            except ValueError:
                return b"", "the secret store is damaged"
        if place.source == "keyring":
            found = self.keyring.get(store) if self.keyring is not None else None
            if found is None:
                why = "has no key for it" if self.keyring is not None else "cannot be used here"
                raise ConfigError(f"the key of {file} is in the keyring of the system, which {why}; the file was left as it is", hint=mend)
            return found, "the keyring of the system holds another key than the secret store was made with"
        path = self.key_file(store)
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)) as text:  # noqa: PTH123
                return bytes.fromhex(text.read(4 * SIZE).strip()), f"the key file {path} holds another key than the secret store was made with"
        except ValueError:
            return b"", f"the key file {path} is damaged"
        except OSError as error:
            why = "is gone" if error.errno == errno.ENOENT else f"cannot be read: {error.strerror}"
            raise ConfigError(f"the key file {path} {why}, and without it {file} cannot be read; it was left as it is", hint=mend) from error


_AFRESH = "to begin an empty store, move the store file away"
_MENDS = {
    "passphrase": f"set {VARIABLE} to the passphrase of this store; {_AFRESH}",
    "keyring": f"unlock the keyring in a session of your own; {_AFRESH}",
    "file": f"put {{path}} back; {_AFRESH}",
}


def derived(key: bytes, purpose: bytes) -> bytes:
    """A key for one purpose (HMAC-SHA256 as HKDF expands it, RFC 5869)."""
    return hmac.new(key, purpose + b"\x01", hashlib.sha256).digest()


def check_of(key: bytes) -> bytes:
    """What tells the key from another one, and does not tell the key."""
    return derived(key, b"neuralclaw secrets check")[:16]


class SystemKeyring:
    """The keyring of the operating system, by the package `keyring`. `service`: under which name it has the keys; the accounts are ids of what they are of."""

    def __init__(self, service: str = SERVICE) -> None:
        self._service = service

    def get(self, store: str) -> bytes | None:
        import keyring

        try:
            found = keyring.get_password(self._service, store)
        except Exception as error:  # a backend of a third party raises errors of its own, of D-Bus for example
            raise _unusable(error) from error
        try:
            return None if found is None else bytes.fromhex(found)
        except ValueError:
            return b""

    def put(self, store: str, key: bytes) -> None:
        import keyring

        try:
            keyring.set_password(self._service, store, key.hex())
        except Exception as error:  # as in `get`
            raise _unusable(error) from error


def _unusable(error: Exception) -> ConfigError:
    return ConfigError(f"the keyring of the system cannot be used: {type(error).__name__}; nothing was changed", hint="unlock it in a session of your own")


def system_keyring(service: str = SERVICE) -> Keyring | None:
    """The keyring of this system where one is usable: a backend that keeps what it is given, and encrypts it. It may take some 100 ms."""
    try:
        import keyring
    except ImportError:
        return None
    try:
        backend = keyring.get_keyring()
        usable = backend.priority >= 1 and not type(backend).__module__.startswith(("keyring.backends.fail", "keyring.backends.null", "keyrings.alt"))
    except Exception:
        # A backend of a third party that cannot even be asked is none that keys are trusted to.
        return None
    return SystemKeyring(service) if usable else None
