"""Anchors at several places, what a record must tell, and what happens where it cannot be written."""
