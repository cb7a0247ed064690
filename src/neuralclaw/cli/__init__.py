"""The command line: thin commands, one file per group."""
