"""`neuralclaw models`: which models there are, and what one achieves."""

from .modeltrials import TRY

COMMANDS = (TRY,)
