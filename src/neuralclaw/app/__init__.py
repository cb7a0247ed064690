"""The composition root: the only place that wires adapters together, and the Python API."""
