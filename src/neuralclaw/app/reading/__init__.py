"""Reading mode: sessions without tools that read content for a call, and give a value."""
