"""Live checks of what the product promises, on this machine: `doctor --prove`."""
