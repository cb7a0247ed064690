"""Programs that run what they read: the table `tables/interpreters.json`. It has a file of its own: a start needs it, and not the table of all programs."""

from ..types.datafile import read_data_file
from .nameset import NameSet

FILE = "safety/tables/interpreters.json"
TABLE = read_data_file(FILE, NameSet)

INTERPRETERS = frozenset(TABLE.names)
