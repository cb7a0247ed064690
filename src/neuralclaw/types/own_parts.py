"""Which part of a place of the agent's own program is kept from every call, where the workspace lies in that place itself."""

from posixpath import basename

PACKAGES = ("neuralclaw", "site-packages", "dist-packages")
"""Directories that hold nothing but programs: all of them is kept."""
PARTS = ("bin", "lib", "lib64", "include", "share", "Scripts", "Lib", "conda-meta", "pyvenv.cfg")
"""What an environment of Python is made of; besides these the directory may hold a project, as after `python -m venv .` in one."""


def kept_in(place: str, workspace: str) -> tuple[str, ...]:
    """The paths that are kept of `place`: all of it, unless it is an environment in which the workspace lies. All are absolute and real."""
    root = place.rstrip("/")
    around = workspace == place or workspace.startswith(f"{root}/")
    return tuple(f"{root}/{part}" for part in PARTS) if around and basename(place) not in PACKAGES else (place,)
