"""The command about containers."""
