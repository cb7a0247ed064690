"""The secret store of a home as the program uses it: a layer of the settings, the commands about it, and values that tools are given by reference."""
