"""Places that code is later run from, outside of any sandbox: found, compared after a command, and put back."""
