"""Adapters from events to a screen and from a person to the desk."""
