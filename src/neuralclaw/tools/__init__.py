"""The built-in tools, one file per capability."""
