"""What may be spent: caps of a turn, a session and a day, and what was spent."""
