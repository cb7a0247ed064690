"""NeuralClaw: a personal agent that people dare to leave running."""

from ._version import __version__

TYPE_CHECKING = False  # typing itself would cost `--version` as much as all the rest
if TYPE_CHECKING:
    from .app import Agent
    from .tool import tool

__all__ = ["Agent", "__version__", "tool"]

_LATE = {"Agent": "neuralclaw.app", "tool": "neuralclaw.tool"}


def __getattr__(name: str) -> object:
    """Load the public names when they are first asked for (PEP 562)."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATE[name]), name)
