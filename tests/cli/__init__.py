"""The real program, run as people and scripts run it."""
