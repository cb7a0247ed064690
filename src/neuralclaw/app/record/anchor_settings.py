"""The section `audit` of the settings: where the head of the record is anchored besides the file in the state directory."""

import os
from typing import Annotated

import msgspec


class GitAnchor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A branch of a git repository elsewhere: each mark is a commit on it."""

    remote: str
    """The address of the repository, as `git push` takes it."""
    branch: str = ""
    """The branch; empty: `neuralclaw-anchor-` and the beginning of the home's id. The program alone writes it."""
    every_minutes: Annotated[float, msgspec.Meta(ge=1)] = 10.0
    """At least so many minutes lie between two marks."""

    def __post_init__(self) -> None:
        """Raises `ValueError` for what git would not take, and for a password or a token that others could read."""
        if not self.remote or self.remote != self.remote.strip() or self.remote.startswith("-") or not self.remote.isprintable():
            raise ValueError("remote: expected the address of a git repository")
        _, dots, rest = self.remote.partition("://")
        if dots and ":" in rest.partition("/")[0].rpartition("@")[0]:
            raise ValueError("remote: expected an address without a password; keep it in a credential helper of git")
        if dots and ("?" in rest or "#" in rest):
            raise ValueError("remote: expected an address without a query; keep a token in a credential helper of git")
        if "::" in self.remote:
            raise ValueError("remote: expected an address; remote helpers (NAME::ADDRESS) are not used")
        if not dots and ":" not in self.remote and not (os.path.isabs(self.remote) or self.remote.startswith("~/")):  # noqa: PTH117
            raise ValueError("remote: expected an address, or a path that is absolute or begins with ~/")
        if self.branch and (not _is_branch(self.branch)):
            raise ValueError("branch: this is not the name of a branch")


class MessageAnchor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message to the owner through a channel, with a mark in words."""

    channel: str
    """The name of the channel, as `neuralclaw doctor` lists it."""
    address: str
    """The owner's address there: the number of a chat, for instance."""
    every_hours: Annotated[float, msgspec.Meta(ge=1)] = 24.0
    """At least so many hours lie between two messages."""

    def __post_init__(self) -> None:
        """Raises `ValueError` where one is empty."""
        for name in ("channel", "address"):
            if not getattr(self, name).strip():
                raise ValueError(f"{name}: expected a text that is not empty")


class AnchorSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Further places of the anchor. The file in the state directory is always kept."""

    git: GitAnchor | None = None
    message: MessageAnchor | None = None


class AuditSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The section `audit`."""

    anchor: AnchorSettings = AnchorSettings()


def _is_branch(name: str) -> bool:
    """Whether git takes it as the name of a branch; stricter than git is."""
    parts = name.split("/")
    good = all(part and not part.startswith((".", "-")) and not part.endswith((".lock", ".")) and ".." not in part for part in parts)
    return good and all(c.isascii() and (c.isalnum() or c in "._-/") for c in name)
