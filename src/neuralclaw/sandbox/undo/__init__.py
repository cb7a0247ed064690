"""What undo works with: contents that are kept, states of trees, what changed between two of them, and the way back."""
