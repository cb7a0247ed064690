"""What 100,000 streamed characters of Markdown cost the chat, in seconds of CPU: `python benchmarks/markdown.py`.

The text comes in pieces of 4 characters; after every tenth the growing rest is asked for, as the chat does before it draws. Beside it,
in the same process: rich, which lays out the whole text once, when it is complete. Rich cannot show it before, without doing it again.
"""

import argparse
import io
import json
import time
from collections.abc import Callable

from neuralclaw.channels.markdown.stream import StreamedMarkdown

LENGTH = 100_000
WIDTH, LINES = 80, 20
PIECE, EVERY = 4, 10

ANSWER = """\
## Why it fails

The **first** call is made before `connect()` has ended, so *nothing* is there yet; see [the manual](https://example.com/manual).

1. Open the connection.
   - wait for `ready`
   - then send
2. Close it again.

```python
async def main() -> None:
    async with connect("localhost", 8080) as line:  # waits
        await line.send(b"hello")
```

| call | before | after |
|------|-------:|------:|
| send | 12.5 ms | 1.5 ms |
| read | 2.5 ms | 2.5 ms |

> Nothing of this is needed on **one** machine.

"""
SENTENCE = "The **first** call is made before `connect()` has ended, so *nothing* is there yet. "
SHAPES = {
    "an answer": ANSWER,
    "one paragraph": SENTENCE,
    "one list": f"- {SENTENCE}\n",
    "one block of code": '        await line.send(b"hello")  # waits\n',
    "one table": "| send | 12.5 ms | `1.5` ms |\n",
}
BEFORE = {"one block of code": "```python\n", "one table": "| call | before | after |\n|---|---|---|\n"}


def text_of(name: str) -> str:
    whole = BEFORE.get(name, "") + SHAPES[name] * (LENGTH // len(SHAPES[name]) + 1)
    return whole[:LENGTH]


def streamed(text: str) -> None:
    markdown = StreamedMarkdown(lambda: WIDTH)
    for count, at in enumerate(range(0, len(text), PIECE), 1):
        markdown.feed(text[at : at + PIECE])
        if count % EVERY == 0:
            markdown.tail(LINES)
    markdown.close()


def at_once(text: str) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    Console(file=io.StringIO(), force_terminal=True, width=WIDTH).print(Markdown(text))


def seconds(work: Callable[[str], None], text: str) -> float:
    began = time.process_time()
    work(text)
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    at_once(ANSWER)  # what is imported late counts for neither
    streamed(ANSWER)
    figures = {name: {"streamed": seconds(streamed, text_of(name)), "rich, once": seconds(at_once, text_of(name))} for name in SHAPES}
    if options.json:
        print(json.dumps(figures))
        return
    for name, found in figures.items():
        print(f"{name:18} {found['streamed']:5.2f} s of CPU, {found['streamed'] / found['rich, once']:5.2f} x rich once at the end")


if __name__ == "__main__":
    main()
