"""The loop: what a turn is and how it goes on. Knows ports and plain values only."""
