"""The secret store of a data directory with the keys of this machine."""

from collections.abc import Mapping
from datetime import UTC, datetime

from ...config import state_directory
from ...secrets.secret_store import SecretStore
from ...secrets.store_key import VARIABLE, KeySources, system_keyring


def secret_store(folder: str, env: Mapping[str, str]) -> SecretStore:
    """The store, whose passphrase and key file are found by the variables `env`. Nothing is read yet."""

    def sources(keyring: bool) -> KeySources:
        return KeySources(env.get(VARIABLE, ""), state_directory(env), system_keyring() if keyring else None)

    return SecretStore(folder, sources, lambda: datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"))
