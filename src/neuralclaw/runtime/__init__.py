"""Sessions, their turns and their questions, over all processes of a home."""
