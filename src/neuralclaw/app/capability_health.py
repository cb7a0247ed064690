"""What `doctor` says of capabilities: each that is installed, enabled or not, what is broken with the mend, and what their own checks find."""

from collections.abc import AsyncIterator, Mapping

from ..capability import DoctorCheck
from ..config import LeftOut, LoadedSettings
from ..errors import ConfigError
from ..plugins import installed
from .capabilities import BUILT_IN, Capabilities, ClientCapabilities, LoadedCapability


async def capability_checks(
    settings: LoadedSettings, given: ClientCapabilities, failed_tables: Mapping[str, str], *, rebuilt: bool
) -> AsyncIterator[DoctorCheck]:
    """Every check. Looks at the metadata of all packages. `failed_tables`: tables that could not be derived, and why; they were to be `rebuilt` now."""
    capabilities = given.capabilities
    for one in capabilities.loaded:
        yield _taking_part(settings, one)
        if failed_tables and one.brings("tables"):
            for table in one.capability.tables:
                if table.name in failed_tables:
                    yield _without_table(one, table.name, failed_tables[table.name], needed=rebuilt)
    place = settings.place("capabilities.enabled")
    for left in capabilities.left_out:
        yield _left_out(left, place)
    for check in _not_enabled(capabilities):
        yield check
    async for check in given.checks():
        yield check


def _named(name: str) -> str:
    return f"capability.{name}"


def _described(name: str, version: str, origin: str) -> str:
    """`reading_list 1.2 from neuralclaw-reading-list`."""
    return f"{name} {version}".rstrip() + (f", {origin}" if origin == BUILT_IN else f" from {origin}")


def _taking_part(settings: LoadedSettings, one: LoadedCapability) -> DoctorCheck:
    name, text = one.name, _described(one.name, one.version, one.origin)
    try:
        if name in settings.sections:
            settings.section(name)
    except ConfigError as error:
        return DoctorCheck(check=_named(name), ok=False, text=f"{text}, enabled, and its settings cannot be used: {error.text}", fix=error.hint or None)
    return DoctorCheck(check=_named(name), ok=True, text=text if one.origin == BUILT_IN else f"{text}, enabled")


def _without_table(one: LoadedCapability, table: str, why: str, *, needed: bool) -> DoctorCheck:
    text = f"{_described(one.name, one.version, one.origin)}, cannot derive its table {table}, which is empty: {why}"
    mend = "update the program" if one.origin == BUILT_IN else f"fix or update {one.origin}"
    return DoctorCheck(check=f"{_named(one.name)}.{table}", ok=False, text=text, fix=f"{mend}, then: neuralclaw doctor --rebuild", needed=needed)


def _left_out(left: LeftOut, place: str) -> DoctorCheck:
    off = f"take {left.name} out of capabilities.enabled ({place})"
    if not left.origin:
        return DoctorCheck(
            check=_named(left.name), ok=False, text=f"{left.name} is enabled, and {left.why}", fix=f"install the package that brings it, or {off}"
        )
    text = f"{_described(left.name, left.version, left.origin)}, enabled, left out: {left.why}"
    return DoctorCheck(check=_named(left.name), ok=False, text=text, fix=f"fix or update {left.origin}, or {off}")


def _not_enabled(capabilities: Capabilities) -> list[DoctorCheck]:
    told = {*capabilities.names, *(left.name for left in capabilities.left_out)}
    others = [one for one in installed() if one.name not in told]
    return [
        DoctorCheck(check=_named(one.name), ok=True, text=f"{_described(one.name, one.version, one.distribution or 'a package without a name')}, not enabled")
        for one in others
    ]
