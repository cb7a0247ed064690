"""`manifest.json` of a backup: what it holds, with the digest of every file, and how the record in it was verified."""

import os
from hashlib import sha256

import msgspec

from ...errors import StoreError

FILE = "manifest.json"
HOME = "home"
"""The directory of a backup with the files; it is a home, so that `--home` reads it."""
FORMAT = "neuralclaw.backup"
VERSION = 1
_DIGEST = '"digest": "{}"'


class SavedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file, or a link where `link` says what it leads to. `path`: below the home, with `/`; `mode`: its permission bits; `sha256`: hex, "" of a link."""

    path: str
    size: int = 0
    mode: int = 0o600
    sha256: str = ""
    link: str = ""


class SavedFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A directory below the home, with its permission bits."""

    path: str
    mode: int


class RecordState(msgspec.Struct, frozen=True, kw_only=True):
    """The record as it was verified: `ok`, how many records, the hash of the last one (hex), and `why` it is not whole."""

    ok: bool
    records: int
    head: str
    why: str = ""


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """A backup. `created`: RFC 3339, UTC; `home`: the one that was copied; `program`: the version that made it; `digest`: SHA-256 (hex) of
    the file as it is with "" in place of this."""

    format: str
    version: int
    created: str
    program: str
    home: str
    record: RecordState
    folders: tuple[SavedFolder, ...]
    files: tuple[SavedFile, ...]
    digest: str = ""


class _Heading(msgspec.Struct):
    format: str = ""
    version: int = 0


def encoded(manifest: BackupManifest) -> bytes:
    """The manifest as it stands in its file, with its digest."""
    text = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(manifest, digest="")), indent=1) + b"\n"
    return text.replace(_DIGEST.format("").encode(), _DIGEST.format(sha256(text).hexdigest()).encode())


def _is_whole(data: bytes, digest: str) -> bool:
    """Whether the bytes of a manifest are those that were written."""
    return sha256(data.replace(_DIGEST.format(digest).encode(), _DIGEST.format("").encode())).hexdigest() == digest


def read_manifest(backup: str) -> BackupManifest:
    """The manifest of a backup. Raises `StoreError` for what is none, for one of a newer version, and for one that names files outside the home."""
    path = os.path.join(backup, FILE)  # noqa: PTH118
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read()
    except OSError as error:
        raise StoreError(f"{backup} is no backup: {path}: {error.strerror}; nothing was changed", hint=_made(backup)) from error
    try:
        heading = msgspec.json.decode(data, type=_Heading)
        if heading.format == FORMAT and heading.version > VERSION:
            text = f"the backup {backup} was made by a newer version of the program (format {heading.version}); nothing was changed"
            raise StoreError(text, hint="install the newer version", newer=True)
        manifest = msgspec.json.decode(data, type=BackupManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"{path} is damaged ({error}); nothing was changed", hint="restore another backup") from error
    if not _is_whole(data, manifest.digest):
        raise StoreError(f"{path} is damaged: it is not as it was written; nothing was changed", hint="restore another backup")
    if manifest.format != FORMAT or any(map(_leaves, _paths(manifest))):
        raise StoreError(f"{path} is not the manifest of a backup; nothing was changed", hint="restore another backup")
    return manifest


def _paths(manifest: BackupManifest) -> list[str]:
    return [file.path for file in manifest.files] + [folder.path for folder in manifest.folders]


def _leaves(path: str) -> bool:
    """Whether a path is not one below the home in its plainest spelling."""
    return not path or path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path


def _made(backup: str) -> str:
    """What to do next where a directory is no backup: the newest of those that lie in it."""
    newest = newest_backup(backup)
    return f"the newest backup in it: neuralclaw restore {newest}" if newest else "neuralclaw backup prints where it writes one"


def newest_backup(place: str) -> str:
    """The newest backup in a directory; "" where there is none."""
    try:
        made = sorted(name for name in os.listdir(place) if os.path.isfile(os.path.join(place, name, FILE)))  # noqa: PTH113, PTH118, PTH208
    except OSError:
        made = []
    return os.path.join(place, made[-1]) if made else ""  # noqa: PTH118
