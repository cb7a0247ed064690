"""Capabilities: what a package brings, how it is found, and what becomes of one that is broken."""
