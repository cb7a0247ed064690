"""The composition root: the only place that wires adapters together, and the Python API."""

from .agent import Agent
from .reader import reader

__all__ = ["Agent", "reader"]
