"""The claims of an answer, held against the calls of its turn."""
