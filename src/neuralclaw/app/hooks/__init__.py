"""Hooks of the owner: which there are, how they are pinned and tried, and how they run around turns, calls and approvals."""
