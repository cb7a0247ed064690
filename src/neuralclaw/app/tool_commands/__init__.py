"""The commands about tools: which there are, and a call of one."""
