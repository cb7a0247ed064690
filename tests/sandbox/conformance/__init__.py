"""Attempts to leave a sandbox, over every sandbox that this machine can run, as root and as an ordinary user."""
