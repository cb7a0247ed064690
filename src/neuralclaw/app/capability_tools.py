"""The tools that capabilities bring to a turn, put beside those that every turn has; and what of them cannot be used, with the reason."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..capability import DoctorCheck
from ..errors import AgentError, ConfigError
from ..foreign_code import call_foreign, reason
from ..tool import AnyTool, FunctionTool, as_tool
from ..tools.registry import Registry
from .toolbox import names


class BroughtTools(NamedTuple):
    """What one capability gives to a turn. `origin`: the package that brings it; `problem`: why it gives none, "" where it does."""

    capability: str
    origin: str
    tools: Sequence[Any] = ()
    problem: str = ""

    @property
    def title(self) -> str:
        """For people: `the capability habits (neuralclaw-habits)`."""
        return f"the capability {self.capability} ({self.origin})"


class ToolProblem(NamedTuple):
    """Tools of a capability that take no part. `text`: which and why, with both origins where two have one name; `fix`: what a person can do."""

    capability: str
    text: str
    fix: str

    @property
    def notice(self) -> str:
        """Two sentences for a person."""
        return f"{self.text[:1].upper()}{self.text[1:]}. {self.fix}."

    def check(self) -> DoctorCheck:
        """The same for `doctor`."""
        return DoctorCheck(check=f"capability.{self.capability}.tools", ok=False, text=self.text, fix=self.fix)


def registry_with(own: Sequence[AnyTool], builtin: Iterable[str], brought: Sequence[BroughtTools]) -> tuple[Registry, list[ToolProblem]]:
    """The tools under their names, and what is left out: of two tools with one name, the later. `builtin`: names of the built-in tools among `own`."""
    registry, problems = Registry(own), list[ToolProblem]()
    built = frozenset(builtin)
    holders = {name: "a built-in tool has" if one.spec.name in built else "a tool of this program has" for one in own for name in names(one)}
    for one in brought:
        if one.problem:
            problems.append(ToolProblem(one.capability, f"{one.title} brings no tools: {one.problem}", _off(one.capability, "Fix or update it")))
        for given in one.tools:
            try:
                made = call_foreign("it", partial(as_tool, given))
            except AgentError as error:
                cause = error.__cause__ or error
                why = " ".join(cause.text.split()) if isinstance(cause, ConfigError) else reason(cause)
                problems.append(ToolProblem(one.capability, f"a tool of {one.title} is left out: {why}", _off(one.capability, "Fix or update it")))
                continue
            if taken := sorted(names(made) & holders.keys()):
                text = f"the tool {made.spec.name} of {one.title} is left out: {holders[taken[0]]} the name {taken[0]}"
                problems.append(ToolProblem(one.capability, text, _off(one.capability, "Rename it: @tool(name=…)")))
                continue
            registry.add(made)
            holders |= dict.fromkeys(names(made), f"{one.title} brings a tool that has")
    return registry, problems


def _off(capability: str, first: str) -> str:
    return f"{first}, or take {capability} out of capabilities.enabled"


def builtin_names(chosen: Sequence[AnyTool], built: Sequence[FunctionTool]) -> frozenset[str]:
    """Names of the tools that are the program's built-in ones, not given by who opened the agent."""
    return frozenset(one.spec.name for one in chosen if any(one is each for each in built))
