"""Twenty small tasks that show what a model achieves here: each in a fresh workspace, through the real agent, checked by its effects."""
