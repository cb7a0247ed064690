"""The loop: what a turn is and how it continues. Knows ports and plain values only."""
