"""The labels of files in memory: of one file, and of all that a directory holds, each found without a look at the others."""

from collections.abc import Iterator

from ...types.labels import NONE, Labels, join
from .labelled_files import BELOW


class FileLabels:
    """Labels by path. A path that ends with `BELOW` stands for all that is in that directory."""

    def __init__(self) -> None:
        self._files: dict[str, Labels] = {}
        self._below: dict[str, Labels] = {}  # by directory, of all that it holds
        self._stale = False  # a label went, so `_below` may hold too many

    def __bool__(self) -> bool:
        return bool(self._files)

    def put(self, path: str, labels: Labels) -> None:
        """The labels of a path, in place of those before; none: it is forgotten."""
        before = self._files.get(path, NONE)
        if labels == before:
            return
        if labels:
            self._files[path] = labels
        else:
            self._files.pop(path, None)
        if not labels >= before:
            self._stale = True
        else:
            self._spread(path, labels)

    def of(self, path: str) -> Labels:
        """Those of a file: its own, and those of each directory above it of whose files not all were named."""
        return join(self._files.get(path, NONE), *(self._files.get(above + BELOW, NONE) for above in _above(path)))

    def below(self, directory: str) -> Labels:
        """Those of a directory and all that it holds."""
        if self._stale:
            self._below, self._stale = {}, False
            for path, labels in self._files.items():
                self._spread(path, labels)
        return join(self.of(directory), self._below.get(directory.rstrip("/"), NONE))

    def _spread(self, path: str, labels: Labels) -> None:
        for above in _above(path.removesuffix(BELOW) + "/" if path.endswith(BELOW) else path):
            known = self._below.get(above, NONE)
            if not known >= labels:
                self._below[above] = known | labels


def _above(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path
