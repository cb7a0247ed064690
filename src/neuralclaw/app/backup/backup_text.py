"""What `backup` and `restore` did, as people read it."""

from collections.abc import Mapping
from typing import Any

from ...channels.command_hints import typed
from ...channels.screen import exact


def backup_lines(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Where the backup is, what was verified, and what is not in it."""
    lines: list[tuple[str, str]] = [(exact(f"backup: {report['backup']}"), "")]
    lines.append((f"{report['files']:,} files, {report['bytes']:,} bytes, read back and compared; {report['records']:,} records", ""))
    if report["ok"]:
        lines.append(("the record in it is whole", ""))
    else:
        lines.append((exact(f"the record is NOT whole ({report['why']}), here as in the home: this copy cannot be restored"), "yellow"))
        lines.append((typed("neuralclaw audit verify shows more; neuralclaw doctor says what to do"), "dim"))
    lines += [(exact(f"not in it: {one['path']} ({one['why']})"), "dim") for one in report["not_included"]]
    lines.append(("it holds what the home holds, keys in .env too: keep it as safe as the home", "dim"))
    return lines


def restore_lines(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the home is now, where the former one is, and what comes next."""
    begin = "finished an interrupted restore of" if report["finished"] else "restored"
    lines: list[tuple[str, str]] = [(exact(f"{begin} {report['home']} from {report['backup']}, made {report['created']}"), "")]
    lines.append((f"{report['files']:,} files, {report['bytes']:,} bytes, {report['records']:,} records, verified before anything was replaced", ""))
    if report["replaced"]:
        lines.append((exact(f"what was there before: {report['replaced']} (a home too: --home reads it)"), ""))
    if report["unfinished"]:
        lines.append((typed(f"turns that had not ended when it was made: {report['unfinished']}; neuralclaw recover goes on with them"), "yellow"))
    if report["undelivered"]:
        lines.append((f"answers that had not arrived when it was made: {report['undelivered']}; they are delivered, perhaps for a second time", "yellow"))
    lines.append((typed("next: neuralclaw audit verify, and where the anchor says cut: neuralclaw audit anchor --accept"), "dim"))
    return lines
