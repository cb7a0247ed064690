"""Programs that run what they read: the table `tables/interpreters.json`. It has a file of its own: a start needs it, and not the table of all programs."""

from ..types.datafile import read_data_file
from .lazy_regex import lazy_pattern
from .nameset import NameSet

FILE = "safety/tables/interpreters.json"
TABLE = read_data_file(FILE, NameSet)

INTERPRETERS = frozenset(TABLE.names)
_VERSION = lazy_pattern(r"-?\d[\d.]*$")


def unversioned(name: str) -> str:
    """The name of an interpreter without its version, as `python` for `python3.11`; any other name as it is."""
    plain = name if name in INTERPRETERS else _VERSION.sub("", name)
    return plain if plain in INTERPRETERS else name
