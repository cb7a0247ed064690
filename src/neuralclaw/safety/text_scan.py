"""Where the analysis cannot follow, the blocks still look at every stretch of text between operators."""

import re

from ..types.risk import Risk
from . import blocks
from .analysis_state import MAX_BLOCKS, MAX_COMMANDS, AnalysisState, ExpandedCommand, named_places
from .command_line import SimpleCommand
from .shell_words import ShellWord

MAX_CRUDE = 20_000
"""Characters that are looked at."""


def crude(state: AnalysisState, text: str, simple: ExpandedCommand) -> None:
    """Find blocks in text that the grammar, or a bound, gave up on."""
    for part in re.split(r"[;&|\n()`]+", re.sub(r"[{},]", " ", text[:MAX_CRUDE])):
        words = [ShellWord(re.sub(r"[\\'\"]", "", w)) for w in part.split()]
        for i in range(min(len(words), 8)):
            name = words[i].text.rsplit("/", 1)[-1]
            if i == 0 or name in blocks.NAMES:
                call = blocks.BlockedCall(name=name, words=tuple(words[i:]), cwd=simple.scene.cwd, workspace=state.workspace, policy=state.policy)
                for found in blocks.check(call):
                    if len(state.blocks) < MAX_BLOCKS:
                        state.block(found)
                break
        if words and len(state.commands) < MAX_COMMANDS:
            call = blocks.BlockedCall(name="", words=(ShellWord(""), *words), cwd=simple.scene.cwd, workspace=state.workspace, policy=state.policy)
            places = named_places(call)
            if places:
                state.add(SimpleCommand(argv=tuple(w.text for w in words), only_reads=False, risk=Risk.MEDIUM, wants=places, unresolved=True))
