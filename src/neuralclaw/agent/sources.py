"""What a model is told before its last message: sources that are read anew before each of its calls."""

import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from ..foreign_code import reason, run_foreign
from ..ports import Redaction
from ..types.labels import NONE, Labels, checked_labels, join

log = logging.getLogger(__name__)


class TurnSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source of context as one turn reads it. `read` gives texts with the labels of where they came from; the turn waits for it.

    `foreign`: others wrote it. `room`: bytes (UTF-8) of these texts in all that the model is told, the rest is cut; None: as many as there are.
    """

    name: str
    read: Callable[[], Awaitable[Sequence[tuple[str, Labels]]]]
    room: int | None = None
    foreign: bool = True


class SourceTexts(msgspec.Struct, frozen=True):
    """What the sources said, put together, and the labels of it. `failed`: the sources that could not be read, with the reason."""

    text: str = ""
    labels: Labels = NONE
    failed: tuple[tuple[str, str], ...] = ()


async def read_sources(sources: Sequence[TurnSource], redaction: Redaction) -> SourceTexts:
    """Read one source after the other. The guard around them: one that raises is left out and stands in `failed`."""
    texts: list[str] = []
    labels, failed = NONE, []
    for source in sources:
        try:
            read = await run_foreign(f"the context source {source.name}", source.read, apart=source.foreign)
            pieces = [(redaction.redact(text), checked_labels(where)) for text, where in read]  # before it is cut: half a secret is none that is found
            kept = fit_texts([text for text, _ in pieces], source.room)
        except Exception as error:
            log.exception("the context source %s failed", source.name)
            failed.append((source.name, reason(error.__cause__ or error)))
            continue
        texts += filter(None, kept)
        labels = join(labels, *(where for text, (_, where) in zip(kept, pieces, strict=True) if text))
    return SourceTexts("\n\n".join(texts), labels, tuple(failed))


def fit_texts(texts: Sequence[str], room: int | None) -> list[str]:
    """The texts with at most `room` bytes in all: the one that passes it is cut behind a whole character, those after it are empty."""
    kept = []
    for text in texts:
        data = text.encode(errors="replace")[:room]
        kept.append(data.decode(errors="ignore"))
        room = None if room is None else room - len(data)
    return kept
