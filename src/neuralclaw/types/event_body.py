"""What all events have."""

import msgspec


class Body(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of all event bodies."""

    @property
    def type(self) -> str:
        return str(self.__struct_config__.tag)
