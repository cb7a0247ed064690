"""The reply of the model call that runs, as far as it was shown."""

from ..types.labels import NONE, Labels


class PartialReply:
    """The model call that runs: what its request held, and the text of its reply as far as it was shown."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.seen = 0
        """The highest entry number that was in the request."""
        self.model = ""
        """Who is asked (`P:M`), "" for the turn's own model."""
        self.environment = ""
        """What was before the last message."""
        self.labels: Labels = NONE
        """Where that came from."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def begin(self, seen: int, environment: str, labels: Labels) -> None:
        """A new request is made, of these parts."""
        self.pieces, self.seen, self.model, self.environment, self.labels = [], seen, "", environment, labels

    def clear(self) -> None:
        """The text is recorded, or void."""
        self.pieces = []
