"""The head of a GGUF file: what the model is called, how long its window is, and whether the file is whole.

Format: github.com/ggml-org/ggml, docs/gguf.md, versions 2 and 3, little-endian. A library that is given half a file may end the
whole process, so the file is measured here first.
"""

import mmap
import os
import struct
from typing import Any

import msgspec

from ..errors import ConfigError

DEFAULT_CONTEXT = 4096
"""Tokens, where the file does not say."""
MOST_ENTRIES = 1_000_000
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # value type: bytes
_FORMS = {4: "<I", 5: "<i", 10: "<Q", 11: "<q"}
_STRING, _ARRAY = 8, 9
_BLOCKS = {0: (1, 4), 1: (1, 2), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 30: (1, 2)}
_BLOCKS |= {2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 36)}
_BLOCKS |= {10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292)}
"""Of each tensor type: how many numbers are one block, and its bytes. Types that are not here are measured as empty."""


class ModelFile(msgspec.Struct, frozen=True):
    """A model file that can be read. `path` is absolute; `context` in tokens."""

    path: str
    name: str
    architecture: str
    context: int


def read_model_file(path: str) -> ModelFile:
    """Raises `ConfigError` when there is no such file, or it is no GGUF model, or not all of it."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:  # noqa: PTH123
            head = _Head(data)
    except FileNotFoundError:
        raise ConfigError(f"there is no model file {path}", hint="give the path of a GGUF file: --model local:/path/model.gguf") from None
    except OSError as error:
        raise ConfigError(f"the model file {path} cannot be read: {error.strerror or error}") from error
    except (struct.error, ValueError, IndexError) as error:
        raise ConfigError(f"{path} is not a GGUF model file", hint="local: runs models in the GGUF format, version 2 or 3") from error
    if head.needed > head.size:
        text = f"the model file {path} is not whole: {head.size:,} bytes of {head.needed:,}"
        raise ConfigError(text, hint="fetch it again")
    architecture = str(head.values.get("general.architecture", ""))
    context = head.values.get(f"{architecture}.context_length")
    return ModelFile(
        path=path,
        name=os.path.basename(path),  # noqa: PTH119
        architecture=architecture,
        context=context if isinstance(context, int) and context > 0 else DEFAULT_CONTEXT,
    )


class _Head:
    """Values by key (long arrays left out), and how many bytes the file must have."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._at, self.size = data, 0, len(data)
        magic, version, tensors, entries = self._take("<4sIQQ")
        if magic != b"GGUF" or version not in (2, 3) or tensors > MOST_ENTRIES or entries > MOST_ENTRIES:
            raise ValueError("no GGUF")
        self.values: dict[str, Any] = {}
        for _ in range(entries):
            key = self._text()
            self.values[key] = self._value(self._take("<I")[0])
        ends = [self._tensor() for _ in range(tensors)]
        align = self.values.get("general.alignment") or 32
        start = -(-self._at // align) * align
        self.needed = start + max(ends, default=0)

    def _take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return values

    def _text(self) -> str:
        (length,) = self._take("<Q")
        text = self._data[self._at : self._at + length]
        self._skip(length)
        return text.decode("utf-8", "replace")

    def _skip(self, count: int) -> None:
        self._at += count
        if self._at > self.size:
            raise ValueError("the head is longer than the file")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._text()
        if kind == _ARRAY:
            return self._array()
        if kind in _FORMS:
            return self._take(_FORMS[kind])[0]
        self._skip(_SIZES[kind] if kind in _SIZES else self.size + 1)
        return None

    def _array(self) -> None:
        kind, count = self._take("<IQ")
        if kind in _SIZES:
            self._skip(_SIZES[kind] * count)
        elif kind == _STRING and count <= MOST_ENTRIES:
            data, at, read = self._data, self._at, struct.Struct("<Q").unpack_from
            for _ in range(count):
                at += 8 + read(data, at)[0]
            self._skip(at - self._at)
        else:
            raise ValueError("an array that no model has")

    def _tensor(self) -> int:
        """Where the tensor ends, counted from the first one."""
        self._text()
        (dimensions,) = self._take("<I")
        if dimensions > 8:
            raise ValueError("a tensor of too many dimensions")
        numbers = 1
        for size in self._take(f"<{dimensions}Q"):
            numbers *= size
        kind, offset = self._take("<IQ")
        block, size = _BLOCKS.get(kind, (1, 0))
        return int(offset + -(-numbers // block) * size)
