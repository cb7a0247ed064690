"""Markdown on a terminal: its blocks, the text within a line, code in colours, and the stream of finished lines."""
