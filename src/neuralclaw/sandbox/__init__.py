"""Where actions touch the machine: programs, files and connections, each confined to a grant's envelope."""
