"""The journal in SQLite and what is derived from it."""
