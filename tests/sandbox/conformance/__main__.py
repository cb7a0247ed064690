"""`python -m tests.sandbox.conformance` makes all attempts and prints the table of docs/sandbox.md."""

import sys

from .results import table

sys.stdout.write(table() + "\n")
