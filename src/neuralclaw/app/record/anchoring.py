"""Where a home's anchor is kept, and what `audit anchor` and `doctor` say of it."""

import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...capability import DoctorCheck
from ...config import LoadedSettings, SettingsRequest
from ...plugins import load
from ...store.anchor import AnchorFile, AnchorPlace
from ...store.schema import BUILT_IN_TABLES
from ...types.quoted_names import one_line
from ...types.records import AnchorReport, VerifyReport

if TYPE_CHECKING:
    from .anchor_keeper import KeptPlace
    from .anchor_settings import AuditSettings, MessageAnchor  # a home without such a section does not load it

ACCEPT = "neuralclaw audit anchor --accept"
REBUILD = "neuralclaw doctor --rebuild"
MESSAGES = "anchor-messages"
"""The session that keeps which marks were sent; each message is a turn of its own, without a model."""


def anchor_of(home: str, environ: Mapping[str, str]) -> AnchorFile | None:
    """The anchor of a home in the state directory: `$XDG_STATE_HOME`, else `~/.local/state`. None where neither is known.

    `environ` is the process's own environment: what the home itself says, its `.env` too, may not move its anchor.
    """
    state = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):  # noqa: PTH117
        person = environ.get("HOME", "")
        if not os.path.isabs(person):  # noqa: PTH117
            return None
        state = os.path.join(person, ".local", "state")  # noqa: PTH118
    return AnchorFile(home, os.path.join(state, "neuralclaw", "anchors"))  # noqa: PTH118


def home_anchor(loaded: LoadedSettings) -> AnchorFile | None:
    """The anchor of the home that these settings are of."""
    return anchor_of(loaded.home, loaded.asked.environ)


def may_have_keyring(environ: Mapping[str, str]) -> bool:
    """Whether to look for a keyring, which costs: on Linux there is none without a bus of the session, or a backend that the person names."""
    run = environ.get("XDG_RUNTIME_DIR", "")
    named = any(environ.get(name) for name in ("DBUS_SESSION_BUS_ADDRESS", "PYTHON_KEYRING_BACKEND"))
    return named or not sys.platform.startswith("linux") or bool(run and os.path.exists(f"{run}/bus"))  # noqa: PTH110


def anchor_settings(loaded: LoadedSettings) -> "AuditSettings | None":
    """What the section `audit` says, None where nothing is set. Raises `ConfigError`."""
    section = loaded.sections.get("audit")
    if section is None or section.node is None:
        return None
    settings: AuditSettings = section.value
    return settings


def kept_elsewhere(loaded: LoadedSettings, file: AnchorFile | None) -> "Callable[[], Sequence[KeptPlace]] | None":
    """The slower places of a home's anchor, made when they are called for; None where there are none. Raises `ConfigError`."""
    settings, environ = anchor_settings(loaded), loaded.asked.environ
    git = settings is not None and settings.anchor.git is not None
    if file is None or not (git or may_have_keyring(environ)):
        return None
    return lambda: load("anchor.written")(file, settings, environ)


def all_places(file: AnchorFile | None, environ: Mapping[str, str], loaded: LoadedSettings | None = None) -> "Callable[[], Sequence[AnchorPlace]]":
    """What a record is verified with besides the file: the places that were written before, and those of the settings."""
    settings = anchor_settings(loaded) if loaded is not None else None
    return lambda: load("anchor.known")(file, settings, environ) if file is not None else ()


def places_of_home(file: AnchorFile | None, asked: SettingsRequest) -> "Callable[[], Sequence[AnchorPlace]]":
    """The same for who reads the record alone: of the settings only the section `audit` is read, and one that cannot be read is said."""
    return lambda: load("anchor.of_home")(file, asked) if file is not None else ()


def anchor_check(report: VerifyReport, file: AnchorFile | None) -> DoctorCheck:
    """The line of `doctor` about the anchor."""
    anchor = report.anchor
    if file is None:
        return DoctorCheck(check="anchor", ok=False, text="no state directory is known, so the record is not anchored", fix="export HOME=DIR", needed=False)
    if anchor is not None and not anchor.ok:
        text = f"{anchor.place}: {anchor_sentence(anchor.record, anchor.why)}"
        return DoctorCheck(check="anchor", ok=False, text=text, fix="neuralclaw audit verify", needed=True)
    folder = file.folder
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)  # noqa: PTH120
    if not os.access(folder, os.W_OK):
        text = f"{file.path} cannot be written, so a cut of the record is not found"
        return DoctorCheck(check="anchor", ok=False, text=text, fix=f"chmod u+rwx {folder}", needed=False)
    said = f"record {anchor.record}, as it was anchored" if anchor is not None else "nothing is anchored yet; the next turn anchors it"
    signed = any(one.place.endswith("(signed)") for one in report.anchors)
    safe = "signed too" if signed else "not signed: the anchor is safe from what cannot write the state directory"
    return DoctorCheck(check="anchor", ok=True, text=f"{file.path}: {said}; {safe}", needed=False)


def place_checks(report: VerifyReport) -> list[DoctorCheck]:
    """The lines of `doctor` about the other places of the anchor."""
    return [_place_check(one) for one in report.anchors]


def _place_check(one: AnchorReport) -> DoctorCheck:
    name = "anchor." + ("signed" if one.place.endswith("(signed)") else "git")
    if not one.ok:
        away = one.why.startswith("it cannot be checked")
        return DoctorCheck(check=name, ok=False, text=f"{one.place}: {anchor_sentence(one.record, one.why)}", fix="neuralclaw audit verify", needed=not away)
    said = one.note or f"record {one.record}, as it was anchored"
    remote = one.place.split(" ")[1] if one.place.startswith("git ") else ""
    away, refused = (one.note.startswith(words) for words in ("it cannot be reached", "the last mark could not be pushed"))
    fix = f"git ls-remote {remote}" if away else f"let {remote} take pushes to the branch" if refused else "neuralclaw audit verify"
    return DoctorCheck(check=name, ok=not one.note, text=f"{one.place}: {said}", fix=fix if one.note else None, needed=False)


def message_check(settings: "MessageAnchor", channels: Collection[str], last: int | None) -> DoctorCheck:
    """The line of `doctor` about marks that are sent. `channels`: those that capabilities bring; `last`: the record of the last mark that was sent."""
    sent = "none was sent yet" if last is None else f"the last one was of record {last}"
    if settings.channel in channels:
        text = f"marks go to the channel {settings.channel} where a process serves it; {sent}"
        return DoctorCheck(check="anchor.message", ok=True, text=text, needed=False)
    there = f"channels here: {', '.join(sorted(channels))}" if channels else "no capability brings a channel"
    text = f"no capability brings the channel {settings.channel}, so no mark is sent ({there}); {sent}"
    fix = "enable the capability that brings it in capabilities.enabled, or change audit.anchor.message.channel"
    return DoctorCheck(check="anchor.message", ok=False, text=text, fix=fix)


def bad_place(bad: Mapping[str, Any]) -> str:
    """Which record it is, as far as that is known, and what of a table."""
    place = f"record {bad['record']}" if bad["record"] else ""
    place += f" of session {one_line(bad['session'])}" if bad["session"] else ""
    if bad.get("table"):
        column = f", column {one_line(bad['column'])}" if bad.get("column") else ""
        table = one_line(bad["table"])  # whoever forged it chose the name
        what = table if " " in table else f"table {table}"  # "index entries_turn" says what it is
        place = f"the {what}{column}" + (f" ({place.strip()})" if place else "")
    return place or "the record"


def next_step(bad: Mapping[str, Any]) -> str:
    """What to do about what is wrong. A table that is derived from the record can be made anew from it; the rest only a backup has."""
    if bad.get("table") and is_mended(bad["table"], bad["why"]):
        return f"what the record tells of it can be put back: {REBUILD}"
    if bad["why"] == "cut":
        return f"what was cut only a backup has: restore one and accept it: {ACCEPT}"
    return f"the record cannot restore it: keep a copy of the data directory as evidence, restore a backup and accept it: {ACCEPT}"


def is_mended(table: str, why: str) -> bool:
    """Whether `doctor --rebuild` makes the rows of a table, or what an index has, anew."""
    if table.startswith("index "):
        return why == "hash"
    return table in BUILT_IN_TABLES or table in ("sessions", "inbound_keys") or table.startswith("capability_")


def uncompared(what: str) -> str:
    """Something that was not compared, in words: tables of capabilities are called by their names alone."""
    what = one_line(what)
    return f"the {what}" if " " in what.partition(":")[0] or what.startswith("schema:") else f"the table {what}"


def anchor_sentence(record: int, why: str) -> str:
    """What is wrong with a record or its anchor, and what to do."""
    accept = f"if you restored a backup yourself, accept the record as it is: {ACCEPT}"
    if why == "cut":
        was = "which was on the disk when it was anchored"
        return f"the record ends before record {record}, {was}: it was truncated, or replaced by an older copy; {accept}"
    if why == "changed":
        return f"record {record} differs from the anchored one: the record was truncated and continued, or rewritten; {accept}"
    if why == "forced":
        return f"the marks that were pushed are not on the branch any more: its history was forced; {accept}"
    if why == "gone":
        return f"the branch is gone, and marks were pushed to it; {accept}"
    if why.startswith("it cannot be checked"):
        return f"the anchor was not compared: {why}"
    return f"the anchor {why.removeprefix('it ')}; if you changed it yourself, anchor the record as it is: {ACCEPT}"
