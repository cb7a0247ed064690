"""What the tables of this room are made of: names, and examples that a test runs through the whole analysis."""

from typing import Annotated

import msgspec

from ..types.risk import Risk

NonEmptyText = Annotated[str, msgspec.Meta(min_length=1)]
NonEmptyNames = Annotated[tuple[NonEmptyText, ...], msgspec.Meta(min_length=1)]
Examples = Annotated[dict[NonEmptyText, Risk], msgspec.Meta(min_length=1)]
"""Command lines with the risk that the gate finds in them."""


class NameSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Programs, options or variables of which the same is true."""

    names: NonEmptyNames
    examples: Examples
