"""Which part of a place of the agent's own program is kept from every call, where the workspace lies in that place itself."""

from collections.abc import Iterable
from posixpath import basename

import msgspec

PACKAGES = ("neuralclaw", "site-packages", "dist-packages")
"""Directories that hold nothing but programs: all of them is kept."""
PARTS = ("bin", "lib", "lib64", "include", "share", "Scripts", "Lib", "conda-meta", "pyvenv.cfg")
"""What an environment of Python is made of; besides these the directory may hold a project, as after `python -m venv .` in one."""


def kept_in(place: str, workspace: str) -> tuple[str, ...]:
    """The paths that are kept of `place`: all of it, unless it is an environment in which the workspace lies. All are absolute and real."""
    root = place.rstrip("/")
    around = workspace == place or workspace.startswith(f"{root}/")
    return tuple(f"{root}/{part}" for part in PARTS) if around and basename(place) not in PACKAGES else (place,)


class ImportPlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """A directory, or file, from which the agent's own program imports code, absolute and real. `script`: since the script lies there that the person started,
    or it was started there; the next start may be another one."""

    path: str
    script: bool = False


def kept_imports(places: Iterable[ImportPlace], workspace: str) -> tuple[str, ...]:
    """Those that are kept: all but one in which the workspace lies, and a script's directory that is the workspace."""
    return tuple(one.path for one in places if not workspace.startswith(one.path.rstrip("/") + "/") and not (one.script and one.path == workspace))
