"""The directory by which a container hands over what listens in it (`listening`)."""

import os

from ..restriction import remove
from ..scratch import new_scratch

WAY = "/run/neuralclaw"
"""Where a container has it."""


class WayIn:
    """A directory that one container has as `WAY`, which other users of this machine cannot look into. Empty, but while a call begins."""

    def __init__(self) -> None:
        self._outer = new_scratch()  # swept where this process is killed
        self.directory = f"{self._outer}/in"
        os.mkdir(self._outer, 0o700)
        os.mkdir(self.directory)
        os.chmod(self.directory, 0o755)  # the user of the container is another

    def __enter__(self) -> "WayIn":
        return self

    def __exit__(self, *_: object) -> None:
        remove(self._outer)
