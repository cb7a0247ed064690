"""`neuralclaw audit`: the record of everything, and whether it is whole. These commands only read."""

import argparse

from ..types.entries import rfc3339
from . import output, verbs
from .parsing import Command, whole, with_json


def _verify(args: argparse.Namespace) -> int:
    report = verbs.read(args, "audit.verify")
    if args.json:
        output.json_line(report)
    elif report["ok"]:
        output.out().line(f"whole: {report['records']} records, {report['erased']} erased, head {report['head'][:16]}")
    else:
        bad = report["bad"]
        output.out().line(f"NOT WHOLE: record {bad['record']} of session {bad['session']}: {bad['why']}")
    return 0 if report["ok"] else 1


def _show_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", metavar="ID", help="only this session")
    parser.add_argument("--after", type=whole, default=0, metavar="RECORD", help="only what came after this record")
    with_json(parser)


def _show(args: argparse.Namespace) -> int:
    records = verbs.read(args, "audit.show", session=args.session, after=args.after)
    if args.json:
        output.json_line(records)
        return 0
    lines = [record | {"time": rfc3339(record["time"]), "erased": "erased" if record["erased"] else ""} for record in records]
    output.table(lines, ("record", "session", "entry", "turn", "kind", "time", "digest", "erased"), empty="the record is empty")
    return 0


def _export(args: argparse.Namespace) -> int:
    for record in verbs.read(args, "audit.show", session=args.session, after=args.after):
        output.json_line(record)
    return 0


def _export_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", metavar="ID", help="only this session")
    parser.add_argument("--after", type=whole, default=0, metavar="RECORD", help="only what came after this record")


COMMANDS = (
    Command(
        "audit verify", "Check the whole record; exit 1 names the first bad one.", example="neuralclaw audit verify --json", run=_verify, options=with_json
    ),
    Command("audit show", "The records in their order.", example="neuralclaw audit show --session work", run=_show, options=_show_options),
    Command("audit export", "The records as JSON lines.", example="neuralclaw audit export > audit.jsonl", run=_export, options=_export_options),
)
