"""Verified copies of a home, and their way back."""
