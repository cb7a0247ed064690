"""The kernel: what an action is, whether it may run, and the only maker of grants. Pure: text and facts in, verdict out."""
