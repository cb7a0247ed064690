"""Models that services have withdrawn, the table `withdrawn.json`: the day, and what the service names as successor (where that is withdrawn too,
its successor)."""

from datetime import date
from functools import cache
from typing import Annotated

import msgspec

from ..types.datafile import by_name, read_data_file

FILE = "providers/withdrawn.json"
Filled = Annotated[str, msgspec.Meta(min_length=1)]


class Withdrawal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model. A name that ends in `*` stands for all that begin so, of which `examples` has some."""

    service: Filled
    model: Filled
    since: date
    use: Filled
    examples: tuple[Filled, ...] = ()

    def __post_init__(self) -> None:
        begins = self.model.removesuffix("*")
        if begins != self.model and not self.examples:
            raise ValueError(f"{self.model} has no examples")
        if not all(begins != self.model and example.startswith(begins) for example in self.examples):
            raise ValueError(f"not every example is one of {self.model}")


class WithdrawnModels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: where it is from, and its rows."""

    source: Filled
    models: tuple[Withdrawal, ...]


@cache
def withdrawn() -> dict[str, dict[str, Withdrawal]]:
    """The table, by service and model: read when it is first asked for."""
    by_service: dict[str, list[Withdrawal]] = {}
    for row in read_data_file(FILE, WithdrawnModels).models:
        by_service.setdefault(row.service, []).append(row)
    return {service: by_name(FILE, rows, lambda row: (row.model,)) for service, rows in by_service.items()}
