"""What log records are about: session, turn, call. Set where such a thing begins, carried into every task and thread that is started within."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

CONTEXT: ContextVar[Mapping[str, Any]] = ContextVar("neuralclaw.log", default={})  # noqa: B039  # never changed, only replaced


@contextmanager
def about(**fields: Any) -> Iterator[None]:
    """Log records made inside carry these fields too, by whatever logger they are made."""
    token = CONTEXT.set({**CONTEXT.get(), **fields})
    try:
        yield
    finally:
        CONTEXT.reset(token)
