"""Command lines: parsed with a real shell grammar into simple commands."""

from collections.abc import Mapping

from ..types.options import Policy
from .line import Line


def analyse(text: str, *, cwd: str, workspace: str, policy: Policy, env: Mapping[str, str]) -> Line:
    return Line(text=text, understood=False, broken=True, simple=False)
