"""What the analysis of a command line finds, as values: simple commands, blocks, and what stayed unclear."""

from posixpath import basename

import msgspec

from ..types.facts import PathWant
from ..types.risk import Power, Risk, in_order
from ..types.verdicts import CommandView


class BlockMatch(msgspec.Struct, frozen=True):
    """Something blocked for good (row N17). A releasable one falls when an owner's rule allows `argv` in all of `places`."""

    rule: str
    reason: str
    alternative: str | None = None
    argv: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    releasable: bool = False


class SimpleCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One simple command after its wrappers are taken off. `program` is its first word, "" for a shell builtin or a bare redirection."""

    argv: tuple[str, ...]
    via: tuple[str, ...] = ()
    program: str = ""
    subject: str = ""
    """What a standing answer may cover: the program, with its subcommand where it has one."""
    powers: frozenset[Power] = frozenset()
    risk: Risk = Risk.LOW
    only_reads: bool = True
    unresolved: bool = False
    """It is no more than not known what it does: its risk is what it could do where nothing holds it."""
    critical: bool = False
    """Changes the system itself."""
    reason: str = ""
    """Why its risk is what it is."""
    wants: tuple[PathWant, ...] = ()
    sends: bool = False
    places: tuple[str, ...] | None = None
    """`HOST:PORT` of all that it needs of the network; None: not known."""
    cwd: str | None = None
    """Where it runs; None: not known."""
    script: str = ""
    """The file that an interpreter runs, absolute."""
    open: bool = False
    """What it works on is not all in its words: it reads standard input, gets arguments from it, or has wildcards."""
    wild_options: bool = False
    """A word of it begins with a wildcard, or is an option with one: the name of a file can become an option of the program."""

    def view(self) -> CommandView:
        powers = in_order(self.powers)
        return CommandView(argv=self.argv, via=self.via, powers=powers, risk=self.risk)


class CommandLine(msgspec.Struct, frozen=True, kw_only=True):
    """A whole command line. `simple`: one program without operators, redirections or substitutions."""

    text: str
    commands: tuple[SimpleCommand, ...] = ()
    blocks: tuple[BlockMatch, ...] = ()
    understood: bool = True
    broken: bool = False
    """The grammar could not read all of it."""
    simple: bool = True
    alters: bool = False
    """It sets variables, defines functions or changes the shell: its commands need not do what the same words do elsewhere."""
    by_argv: bool = False
    """It is one program with plain words, which is run without a shell."""
    exceeded: str = ""
    """The bound at which the analysis stopped, as the end of a sentence; "": it came to its end. What came after is not known."""
    unread: bool = False
    """It is so long that nothing of it was read."""

    @property
    def only_reads(self) -> bool:
        return self.understood and not self.broken and not self.blocks and all(c.only_reads for c in self.commands)

    @property
    def read_with_git(self) -> tuple[str, ...]:
        """The directories in which `git` reads, so that it opens a repository there."""
        return tuple(dict.fromkeys(c.cwd for c in self.commands if c.cwd and c.only_reads and basename(c.program) == "git"))

    @property
    def changed_with_git(self) -> tuple[str, ...]:
        """The directories in which `git` changes a repository, so that hooks of it may run."""
        return tuple(dict.fromkeys(c.cwd for c in self.commands if c.cwd and not c.only_reads and basename(c.program) == "git"))

    @property
    def loads_files(self) -> bool:
        """Whether it may run code from files that its words do not name."""
        return not self.understood or self.broken or any(c.unresolved or Power.EXECUTE in c.powers for c in self.commands)
