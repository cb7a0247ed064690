"""Models: which one is meant, what is known of each, and the commands about them. `models_capability.py` exports the capability."""
