"""Trials of models: scripted good and bad ones over a real connection, and a small real one."""
