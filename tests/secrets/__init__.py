"""The secret store, its commands, and what is taken out of texts."""
