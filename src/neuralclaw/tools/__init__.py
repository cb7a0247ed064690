"""The built-in tools, one file for each group of tools."""
