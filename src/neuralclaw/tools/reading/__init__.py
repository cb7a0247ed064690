"""Reading mode: content is read by a session without tools, and only a value that fits a schema comes back."""
