"""Runs the measurements of the product and writes `docs/benchmarks.md` from what they print.

    python benchmarks/page.py                          prints the page
    python benchmarks/page.py --write                  writes it
    python benchmarks/page.py --write "A long session" makes this section anew; the others stay as they stand in the page

Run it on a machine that does nothing else. The page shows ratios within one run; the milliseconds only say what machine it was.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"

HEAD = """\
# Benchmarks

Made by `python benchmarks/page.py --write` on {cores} cores, Python {python}, {system}. Every figure is a ratio to something that ran in turn
with it in the same run; milliseconds differ from machine to machine.
"""

START = """\
`python benchmarks/startup.py`: the whole process, median of its runs. Uncompiled: no compiled module is there and none is kept, so every file is
compiled again. Cold: what Python, the product and its libraries have on the disk is out of the page cache; pages that another process has mapped stay
in it. Each beside `python -c pass` started in the same way.

| command | ms | times `python -c pass` | at most | uncompiled, ms | times | cold, ms | times |
|---|---:|---:|---:|---:|---:|---:|---:|
{start}
"""

CHAT = """\
`python benchmarks/chat.py`: the real program at a pseudo-terminal. To the prompt: from the start of the process. The first token: from the server's
sending of it to its bytes on the terminal. 100,000 characters: processor time of the whole program while they arrive in pieces of four within ten
seconds.

| | measured | wanted |
|---|---:|---:|
{chat}

`python benchmarks/markdown.py`: the layout alone, 100,000 characters of one shape in pieces of four, the growing end drawn after every tenth.
Beside it what rich takes to lay the whole out once, at the end: a floor for a program that would draw the whole anew with each piece.

| shape | s of processor time | rich, once | wanted |
|---|---:|---:|---:|
{markdown}
"""

TURN = """\
`python benchmarks/turn.py --peers`: two streamed model calls and one call of a `pure` tool against an instant server on loopback, which writes one
event at a time, without a wait between them. `sdk` is a bare loop on the official `openai` package, without journal, gate or tools of its own; `agent`
is the whole product, with its journal, hash chain, gate and events, over each of its wire formats. A turn of `pure` calls has no `fdatasync` inside:
what it appends survives `kill -9` when the turn goes on, and is synced beside it, within 50 ms. A call with an effect has a barrier before it, which
"Parts" shows. Below, frameworks that others wrote doing the same turn (`benchmarks/peers.py` names the versions) as in a program that stays up: client
and agent are made once, connections are kept. Best of the rounds, each contender in a process of its own.

| contender | ms a turn | of `sdk` | tasks a second, 1,000 at once | times `sdk` | KB of memory for each of the 1,000 |
|---|---:|---:|---:|---:|---:|
{turn}

Wanted: a turn of `agent` at most 1.00 of `sdk`, and at least 2.5 times its tasks a second.
"""

SESSION = """\
`python benchmarks/long_session.py`: median of 80 turns around turn 100 of one session and around turn 1,000 of another, taken in turn, with a
model that answers at once.

| turn | ms | ratio | wanted |
|---|---:|---:|---:|
{session}

`python benchmarks/large_metadata.py`: the same after a first turn whose tool gave back 20 MB of metadata, beside sessions whose tool gave back none,
taken in turn. Medians.

| turns | ms without | ms with 20 MB | ratio | wanted |
|---|---:|---:|---:|---:|
{metadata}

`python benchmarks/waiting.py`: messages sent to one session at once, each with a turn of its own, one after the other. One ask: the median of 100
that were sent one after the other, in the same process. Memory: what the messages add to the largest of the process.

| messages | s | in asks alone | wanted | MB of memory |
|---|---:|---:|---:|---:|
{waiting}
"""

LARGE = """\
`python benchmarks/large_home.py`: one process on a home of {turns} turns ({size} MB; ten turns in each session, and one session of 1,000), beside the
same on a home with one turn, taken in turn. The page cache is warm. `sessions list` prints every session; nothing else may grow with their number.
Memory: the largest of the process.

| | ms | ms, {turns} turns | ratio | MB | MB, {turns} turns |
|---|---:|---:|---:|---:|---:|
{large}
"""

QUESTIONS = """\
`python benchmarks/questions.py`: one answer in a home where so many questions wait, 100 in each session or all in one, beside the same in a home
with 20. `verb` is what `neuralclaw approvals answer` calls, `answer` is `Agent.answer`.

| | median ms | times among 20 | 95th percentile ms | wanted |
|---|---:|---:|---:|---:|
{questions}
"""

PROCESSES = """\
`python benchmarks/many_processes.py`: real processes on one home, their sessions all at once. Each session has one turn of two model calls and one
call of a tool whose effect is `once` and stands behind a barrier. Afterwards the record is read. Alone: one process with as many sessions as each of
the 8 has. Times: sessions a second, of those alone. The slowest append waited for transactions of the other processes; one that cannot
begin for 10 s fails.

| processes | sessions | s | sessions a second | times | slowest append, s |
|---|---:|---:|---:|---:|---:|
{processes}

Every call has one result, every effect happened once, every turn is done, and the record verifies; the script fails where that is not so.
"""

GATE = """\
`python benchmarks/gate.py`: the decision about a command, with the look-ups of files and programs that it needs, over 500 everyday commands
(`tests/safety`), each five times, in one process.

| | ms | wanted |
|---|---:|---:|
{gate}
"""

BEGINNING = """\
What a service caches is the beginning of a request. Of every 20 requests in a row of one session, at least 19 begin the next one byte for byte, up to
the snapshot of the machine at their end: the window of 20 turns gives up its older half at once, and keeps what is left for ten turns. System prompt
and tools never change. `tests/providers/test_prefix.py` holds it over 60 turns of two requests in each of the four wire formats, on the bytes that
arrive at a server.
"""

PARTS = """\
`python benchmarks/store_append.py` and `python benchmarks/sandbox_exec.py`:

```text
{store}
{sandbox}
```

`python benchmarks/fetch.py`: the same address by bare aiohttp and by a judged fetch, which has a connection of its own for each request, and by the tool,
which takes the text of the page in a child process:

```text
{fetch}
```
"""

WANTED = {"--version": "3", "--help": "3", "run (offline)": "15"}


def output(script: str, *arguments: str) -> str:
    """What a benchmark prints. Keys of services are kept from it."""
    environ = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    command = [sys.executable, str(HERE / script), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout.rstrip()


def figures(script: str, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output(script, "--json", *arguments))
    return found


def start() -> str:
    found = figures("startup.py")

    def row(name: str) -> Sequence[str]:
        warm, *others = ((f"{of[name]:.0f}", f"{of[name] / of['python -c pass']:.1f}") for of in found.values())
        return f"`{name}`", *warm, WANTED.get(name, ""), *(cell for other in others for cell in other)

    return START.format(start=table(row(name) for name in found["warm"]))


def chat() -> str:
    found, markdown = figures("chat.py"), figures("markdown.py")
    rows = (
        ("to the prompt", f"{found['prompt_ms'] / found['python_ms']:.1f} times `python -c pass`", "25"),
        ("first token, median", f"{found['token_median_ms']:.1f} ms", "5 ms"),
        ("first token, 95th percentile", f"{found['token_p95_ms']:.1f} ms", "5 ms"),
        ("100,000 characters", f"{found['text_cpu_s']:.2f} s", "2 s"),
    )
    layout = ((name, f"{f['streamed']:.2f}", f"{f['rich, once']:.2f}", "2") for name, f in markdown.items())
    return CHAT.format(chat=table(rows), markdown=table(layout))


def turn() -> str:
    found = figures("turn.py", "--peers", "--rounds", "2")
    return TURN.format(turn="\n".join(_contender(name, one, found["sdk"]) for name, one in found.items()))


def session() -> str:
    long, metadata, waiting = figures("long_session.py"), figures("large_metadata.py"), figures("waiting.py")
    early, late = long["turn 100"], long["turn 1000"]
    turns = (("100", f"{early:.2f}", "1.00", ""), ("1,000", f"{late:.2f}", f"{late / early:.2f}", "at most 1.10"))
    beside = (
        (name, f"{ms['without']:.2f}", f"{ms['20 MB']:.2f}", f"{ms['20 MB'] / ms['without']:.2f}", "" if name == "its own turn" else "at most 1.10")
        for name, ms in metadata.items()
    )
    many = (
        (f"{int(count):,}", f"{f['seconds']:.1f}", f"{f['times_one']:,.0f}", f"at most {int(count) * 11 // 10:,}", f"{f['mb']:.0f}")
        for count, f in waiting.items()
    )
    return SESSION.format(session=table(turns), metadata=table(beside), waiting=table(many))


def large() -> str:
    found = figures("large_home.py")
    rows = (
        (
            f"`{name}`" if name.startswith(("run", "sessions", "approvals")) else name,
            f"{of['empty']['ms']:.0f}",
            f"{of['large']['ms']:.0f}",
            f"{of['large']['ms'] / of['empty']['ms']:.2f}",
            f"{of['empty']['mb']:.0f}",
            f"{of['large']['mb']:.0f}",
        )
        for name, of in found["actions"].items()
    )
    return LARGE.format(large=table(rows), turns=f"{found['turns']:,}", size=f"{found['size_mb']:.0f}")


def questions() -> str:
    found = figures("questions.py")

    def row(name: str) -> Sequence[str]:
        ms, few = found[name], found[name.replace("among 20,000", "among 20")]
        return name, f"{ms['median_ms']:.2f}", f"{ms['median_ms'] / few['median_ms']:.2f}", f"{ms['p95_ms']:.2f}", "under 5 ms" if "20,000" in name else ""

    return QUESTIONS.format(questions=table(map(row, found)))


def processes() -> str:
    found = figures("many_processes.py")
    alone = found["alone"]["sessions_per_second"]
    rows = (
        (
            f"{f['processes']}",
            f"{f['sessions']:,}",
            f"{f['seconds']:.1f}",
            f"{f['sessions_per_second']:.0f}",
            f"{f['sessions_per_second'] / alone:.2f}",
            f"{f['slowest_append_ms'] / 1000:.1f}",
        )
        for f in found.values()
    )
    return PROCESSES.format(
        processes=table(rows), outcome="Every call has one result, every effect happened once, every turn is done, and the record verifies."
    )


def gate() -> str:
    found = figures("gate.py")
    return GATE.format(gate=table((("median", f"{found['median_ms']:.2f}", "under 1"), ("95th percentile", f"{found['p95_ms']:.2f}", ""))))


def beginning() -> str:
    return BEGINNING


def parts() -> str:
    return PARTS.format(store=output("store_append.py"), sandbox=output("sandbox_exec.py"), fetch=output("fetch.py"))


SECTIONS: dict[str, Callable[[], str]] = {
    "Start": start,
    "The chat": chat,
    "A turn": turn,
    "A long session": session,
    "A large home": large,
    "Questions": questions,
    "Many processes": processes,
    "The gate": gate,
    "The beginning of a request": beginning,
    "Parts": parts,
}


def page(anew: Sequence[str]) -> str:
    """The page; sections that are not to be made anew are those of the page that stands."""
    old = dict(section.split("\n\n", 1) for section in PAGE.read_text().split("\n## ")[1:])
    made = {name: make() if name in anew or name not in old else old[name].rstrip("\n") + "\n" for name, make in SECTIONS.items()}
    head = HEAD.format(cores=os.cpu_count(), python=platform.python_version(), system=platform.system())
    return head + "".join(f"\n## {name}\n\n{text}" for name, text in made.items())


def table(rows: Iterable[Sequence[str]]) -> str:
    """The rows of a table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _contender(name: str, found: dict[str, float], base: dict[str, float]) -> str:
    """A row of the table of turns."""
    slower, faster = found["ms"] / base["ms"], found["tasks_per_second"] / base["tasks_per_second"]
    return f"| `{name}` | {found['ms']:.1f} | {slower:.2f} | {found['tasks_per_second']:.0f} | {faster:.1f} | {found['kb']:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", nargs="*", choices=[*SECTIONS, []], help="make only these anew")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = page(options.section or list(SECTIONS))
    if options.write:
        PAGE.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
