"""The anchor with a signature, whose key lies in the keyring of the operating system: who can write the state directory cannot make another."""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping

import msgspec

from ...errors import ConfigError, StoreError
from ...secrets.store_key import SIZE, Keyring, derived, system_keyring
from ...store.anchor import AnchorFile, AnchorMark, CheckMark, report_of
from ...types.records import AnchorReport
from .anchor_state import PlaceState, StateFile, changed, is_due
from .anchoring import may_have_keyring

SERVICE = "neuralclaw anchor"
"""Under which name the keyring has the keys; the account is the id of the home."""
EVERY, AGAIN = 600.0, 3600.0
"""Seconds between two signatures at least, and after a keyring that could not be used."""


class SignedAnchor:
    """The signed mark of one home. `keyring`: gives that of this system where one is usable; it may take some 100 ms."""

    name = "keyring"

    def __init__(self, file: AnchorFile, keyring: Callable[[], Keyring | None]) -> None:
        self._file, self._keyring = file, keyring
        self._state = StateFile(file, "signed")
        self.place = f"{self._state.path} (signed)"

    def due(self, record: int) -> bool:
        """Whether it is to be signed now. Raises `ValueError` and `OSError`."""
        return is_due(self._state.read(), record, EVERY, AGAIN)

    def write(self, mark: AnchorMark, check: CheckMark) -> None:
        """Sign this mark in place of the one before, where that is genuine and the record is as it says. Raises `StoreError`, `ValueError`, `OSError`."""
        state = self._state.read()
        try:
            keyring, key = self._key()
        except ConfigError as error:
            self._state.write(changed(state, error.text))
            raise StoreError(error.text) from error
        if keyring is None:
            # Where nothing was ever signed the keyring is simply not there: that is no failure to tell of.
            self._state.write(changed(state, "the keyring of the system cannot be used here"))
            if state.mark is not None:
                raise StoreError("the keyring of the system cannot be used here, so the signed anchor is not updated")
            return
        if state.mark is None and key is None:
            key = secrets.token_bytes(SIZE)
            try:
                keyring.put(self._file.id, key)
            except ConfigError as error:
                self._state.write(changed(state, error.text))
                raise StoreError(error.text) from error
        elif (why := self._wrong(state, key)) or (state.mark is not None and (bad := check(state.mark)) and (why := bad.why)):
            raise StoreError(f"the record is not as its signed anchor says ({why}); neuralclaw audit verify")
        assert key is not None, "a state that is good has one"
        self._state.write(changed(state, mark=mark, signature=signature_of(key, mark)))

    def report(self, check: CheckMark) -> AnchorReport | None:
        """See `AnchorPlace`."""
        try:
            state = self._state.read()
            keyring, key = self._key()
        except (OSError, ValueError) as error:
            return AnchorReport(place=self.place, record=0, ok=False, why=f"it cannot be read ({error})")
        except ConfigError as error:
            return AnchorReport(place=self.place, record=0, ok=False, why=f"it cannot be checked ({error.text})")
        record = state.mark.record if state.mark is not None else 0
        if keyring is None and state.mark is not None:
            return AnchorReport(place=self.place, record=record, ok=False, why="it cannot be checked (the keyring of the system cannot be used here)")
        if state.mark is None and key is None:
            return None
        if why := self._wrong(state, key):
            return AnchorReport(place=self.place, record=record, ok=False, why=why)
        assert state.mark is not None, "a state that is good has one"
        return report_of(self.place, state.mark, check(state.mark))

    def accept(self, mark: AnchorMark, check: CheckMark) -> None:
        """See `AnchorPlace`."""
        try:
            state = self._state.read()
        except ValueError:
            state = PlaceState(mark=mark)
        try:
            keyring, key = self._key()
            if keyring is None and state.mark is None:
                return
            if keyring is None:
                raise StoreError("the keyring of the system cannot be used here: the signed anchor stays as it was", hint="unlock it in a session of your own")
            if key is None:
                key = secrets.token_bytes(SIZE)
                keyring.put(self._file.id, key)
            self._state.write(changed(state, mark=mark, signature=signature_of(key, mark)))
        except (ConfigError, OSError) as error:
            raise StoreError(f"the signed anchor stays as it was: {error}", hint="unlock the keyring in a session of your own") from error

    def _key(self) -> tuple[Keyring | None, bytes | None]:
        keyring = self._keyring()
        return keyring, keyring.get(self._file.id) if keyring is not None else None

    def _wrong(self, state: PlaceState, key: bytes | None) -> str:
        """Why a mark is not genuine, "" where it is."""
        if key is None:
            return "is signed, and the keyring has no key of this home"
        if state.mark is None or not state.signature:
            return "has no signature, and the keyring has a key of this home"
        if state.mark.home != self._file.home or not hmac.compare_digest(signature_of(key, state.mark), state.signature):
            return "has a signature that is not genuine"
        return ""


def signature_of(key: bytes, mark: AnchorMark) -> str:
    """HMAC-SHA-256 (hex) of a mark."""
    return hmac.new(derived(key, b"neuralclaw anchor"), msgspec.json.encode(mark), hashlib.sha256).hexdigest()


def anchor_keyring(environ: Mapping[str, str]) -> Callable[[], Keyring | None]:
    """The keyring that signs, where this system may have one."""
    return lambda: system_keyring(SERVICE) if may_have_keyring(environ) else None
