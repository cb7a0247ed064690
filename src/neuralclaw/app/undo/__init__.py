"""Undo: what calls change is kept, and brought back on a word."""
