"""Runs the measurements of the product and writes `docs/benchmarks.md` from what they print.

    python benchmarks/page.py            prints the page
    python benchmarks/page.py --write    writes it

Run it on a machine that does nothing else. The page shows ratios within one run; the milliseconds only say what machine it was.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"

TEMPLATE = """\
# Benchmarks

Made by `python benchmarks/page.py --write` on {cores} cores, Python {python}, {system}. Every figure is a ratio to something that ran in turn
with it in the same run; milliseconds differ from machine to machine.

## Start

`python benchmarks/startup.py`: the whole process, median of its runs.

| command | ms | times `python -c pass` | at most |
|---|---:|---:|---:|
{start}

## The chat

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

## A turn

`python benchmarks/turn.py --peers`: two streamed model calls and one call of a `pure` tool against an instant server on loopback. `sdk` is a bare
loop on the official `openai` package, without journal, gate or tools of its own; `agent` is the whole product, with its journal on disk,
hash chain, gate and events, over each of its wire formats. Below, frameworks that others wrote doing the same turn as their documentation shows
(`benchmarks/peers.py` names the versions). Best of the rounds, each contender in a process of its own.

| contender | ms a turn | of `sdk` | tasks a second, 1,000 at once | times `sdk` | KB of memory for each of the 1,000 |
|---|---:|---:|---:|---:|---:|
{turn}

Wanted: a turn of `agent` at most 1.00 of `sdk`, and at least 2.5 times its tasks a second.

## A long session

`python benchmarks/long_session.py`: median of 80 turns around turn 100 of one session and around turn 1,000 of another, taken in turn, with a
model that answers at once.

| turn | ms | ratio | wanted |
|---|---:|---:|---:|
{session}

## Parts

`python benchmarks/store_append.py` and `python benchmarks/sandbox_exec.py`:

```text
{store}
{sandbox}
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


def page() -> str:
    start, turn, session = figures("startup.py"), figures("turn.py", "--peers", "--rounds", "2"), figures("long_session.py")
    chat, markdown = figures("chat.py"), figures("markdown.py")
    base = start["python -c pass"]
    sdk = turn["sdk"]
    early, late = session["turn 100"], session["turn 1000"]
    return TEMPLATE.format(
        cores=os.cpu_count(),
        python=platform.python_version(),
        system=platform.system(),
        start="\n".join(f"| `{name}` | {ms:.0f} | {ms / base:.1f} | {WANTED.get(name, '')} |" for name, ms in start.items()),
        chat="\n".join(
            (
                f"| to the prompt | {chat['prompt_ms'] / chat['python_ms']:.1f} times `python -c pass` | 25 |",
                f"| first token, median | {chat['token_median_ms']:.1f} ms | 5 ms |",
                f"| first token, 95th percentile | {chat['token_p95_ms']:.1f} ms | 5 ms |",
                f"| 100,000 characters | {chat['text_cpu_s']:.2f} s | 2 s |",
            )
        ),
        markdown="\n".join(f"| {name} | {f['streamed']:.2f} | {f['rich, once']:.2f} | 2 |" for name, f in markdown.items()),
        turn="\n".join(_contender(name, found, sdk) for name, found in turn.items()),
        session=f"| 100 | {early:.2f} | 1.00 | |\n| 1,000 | {late:.2f} | {late / early:.2f} | at most 1.10 |",
        store=output("store_append.py"),
        sandbox=output("sandbox_exec.py"),
    )


def _contender(name: str, found: dict[str, float], base: dict[str, float]) -> str:
    """A row of the table of turns."""
    slower, faster = found["ms"] / base["ms"], found["tasks_per_second"] / base["tasks_per_second"]
    return f"| `{name}` | {found['ms']:.1f} | {slower:.2f} | {found['tasks_per_second']:.0f} | {faster:.1f} | {found['kb']:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    text = page()
    if parser.parse_args().write:
        PAGE.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
