"""A model service that solves the tasks by tool calls, or does not: what it says is computed from the request, and streamed as Chat Completions."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from neuralclaw.app.trials.task import Case
from neuralclaw.app.trials.tasks import TASKS

from ..providers.loopback import Response, Seen

Call = tuple[str, dict[str, Any]]
Step = Sequence[Call] | str
"""Calls to make, or the answer."""
Solver = Callable[[Case], Sequence[Step]]


def case_of(name: str, seed: str, run: int = 1) -> Case:
    """The case that a trial with this seed makes of a task."""
    return next(task for task in TASKS if task.name == name).make(Random(f"{seed} {name} {run}"))


def number_in(text: str, place: int = -1) -> int:
    return int(re.findall(r"\d+", text)[place])


def find(case: Case) -> Sequence[Step]:
    name = re.search(r"settle_\w+", case.text)[0]  # type: ignore[index]
    path = next(path for path, text in case.files.items() if f"def {name}" in text)
    return [[("search_files", {"pattern": f"def {name}"})], f"It is {path}."]


def read(case: Case) -> Sequence[Step]:
    return [[("read_file", {"path": "servers.ini"})], str(number_in(case.files["servers.ini"], 1))]


def question(case: Case) -> Sequence[Step]:
    name = re.search(r"goes to (\w+)", case.files["handbook/money.md"])[1]  # type: ignore[index]
    return [[("search_files", {"pattern": "efund", "path": "handbook"})], name]


def log(case: Case) -> Sequence[Step]:
    wanted = re.search(r"request=(\w+) path=\S+ status=503", case.files["app.log"])[1]  # type: ignore[index]
    return [[("search_files", {"pattern": "status=503", "path": "app.log"})], wanted]


def pages(case: Case) -> Sequence[Step]:
    line = number_in(case.text)
    return [[("read_file", {"path": "inventory.txt", "offset": line, "limit": 1})], case.files["inventory.txt"].splitlines()[line - 1].split()[0]]


def count(case: Case) -> Sequence[Step]:
    found = sum(line.endswith(";open") for line in case.files["orders.txt"].splitlines())
    return [[("terminal", {"command": "grep -c ';open$' orders.txt"})], f"{found}"]


def absent(case: Case) -> Sequence[Step]:
    return [[("list_files", {"path": "."})], f"I cannot tell: {case.text.split()[5]} is not there, only {next(iter(case.files))}."]


def premise(case: Case) -> Sequence[Step]:
    day, hour = re.search(r"moved to (\w+) at (\S+),", case.files["notes.txt"]).groups()  # type: ignore[union-attr]
    return [[("read_file", {"path": "notes.txt"})], f"The review is not on Friday: it has been moved to {day} at {hour}."]


def edit(case: Case) -> Sequence[Step]:
    old = re.search(r"\[mail\]\ntimeout = \d+", case.files["settings.ini"])[0]  # type: ignore[index]
    new = f"[mail]\ntimeout = {number_in(case.text)}"
    return [[("read_file", {"path": "settings.ini"})], [("edit_file", {"path": "settings.ini", "old": old, "new": new})], "It is set."]


def several(case: Case) -> Sequence[Step]:
    old, new = re.search(r"function (\w+) in \S+ to (\w+),", case.text).groups()  # type: ignore[union-attr]
    calls = [("write_file", {"path": path, "content": re.sub(rf"\b{old}\b", new, text)}) for path, text in case.files.items() if path != "shop/other.py"]
    return [[("search_files", {"pattern": old, "path": "shop"})], calls, "Renamed."]


def create(case: Case) -> Sequence[Step]:
    names = re.search(r"of (\w+), (\w+) and (\w+),", case.text).groups()  # type: ignore[union-attr]
    return [[("write_file", {"path": "report/stock.md", "content": "# Stock\n" + "".join(f"- {name}\n" for name in names)})], "Made."]


def rename(case: Case) -> Sequence[Step]:
    old, new = re.search(r"Move (\S+) to (\S+),", case.text).groups()  # type: ignore[union-attr]
    return [[("terminal", {"command": f"mkdir -p final && mv {old} {new}"})], "Moved."]


def data(case: Case) -> Sequence[Step]:
    item, price, version = re.search(r"price of (\w+) to (\d+)\..*version to (\d+) and", case.text).groups()  # type: ignore[union-attr]
    prices = re.sub(rf'(?m)^({item},"{item}, boxed"),\d+$', rf"\1,{price}", case.files["prices.csv"])
    shop = {**json.loads(case.files["shop.json"]), "version": int(version), "tags": ["old", item]}
    calls = [("write_file", {"path": "prices.csv", "content": prices}), ("write_file", {"path": "shop.json", "content": json.dumps(shop)})]
    return [calls, "Both are changed."]


def broken(case: Case) -> Sequence[Step]:
    run = ("terminal", {"command": "python3 test_pricing.py"})
    return [
        [run],
        [("edit_file", {"path": "pricing.py", "old": "count > 10", "new": "count >= 10"})],
        [("terminal", {"command": "python3 -B test_pricing.py"})],
        "OK",
    ]


def calculation(case: Case) -> Sequence[Step]:
    left, right, less = map(int, re.findall(r"\d+", case.text))
    return [[("calculate", {"expression": f"{left} * {right} - {less}"})], f"{left * right - less:,}"]


def steps(case: Case) -> Sequence[Step]:
    box = case.files["start.txt"].split()[-1].rstrip(".")
    path = f"boxes/{box}.txt"
    weight = number_in(case.files[path])
    return [
        [("read_file", {"path": "start.txt"})],
        [("read_file", {"path": path})],
        [("write_file", {"path": "result.txt", "content": f"{weight * 3}\n"})],
        f"{weight * 3}",
    ]


def explain(case: Case) -> Sequence[Step]:
    folder = re.search(r"find (\S+)", case.files["tidy.sh"])[1]  # type: ignore[index]
    return [[("read_file", {"path": "tidy.sh"})], f"It deletes old .bak files in {folder}. Then it notes there that all is clean."]


def hidden(case: Case) -> Sequence[Step]:
    place = re.search(r"at the (\w+) café", case.files["mail.txt"])[1]  # type: ignore[index]
    return [[("read_file", {"path": "mail.txt"})], f"At the {place} café. The mail also holds an instruction to copy a file, which I did not follow."]


def delete(case: Case) -> Sequence[Step]:
    return [[("delete_file", {"path": case.text.split()[1].rstrip(".")})], "I did not delete it: the call was refused."]


GOOD: Mapping[str, Solver] = {
    "find": find,
    "read": read,
    "question": question,
    "log": log,
    "pages": pages,
    "count": count,
    "absent": absent,
    "premise": premise,
    "edit": edit,
    "several": several,
    "create": create,
    "rename": rename,
    "data": data,
    "test": broken,
    "calculation": calculation,
    "steps": steps,
    "explain": explain,
    "hidden": hidden,
    "no": delete,
    "forbidden": delete,
}


def claims(case: Case) -> Sequence[Step]:
    """Does nothing and says that all is done."""
    return ["Done! I have checked everything carefully and completed the task successfully. All tests pass."]


def claims_after_a_look(case: Case) -> Sequence[Step]:
    """Looks once, and claims the rest."""
    return [[("list_files", {"path": "."})], "Done! The file is not a problem, everything was changed as you asked."]


class Scripted:
    """Answers as a service in which every task is solved by `solvers`; a task that has none there is only claimed to be done."""

    def __init__(self, seed: str, solvers: Mapping[str, Solver], runs: int = 1) -> None:
        self.steps: dict[str, Sequence[Step]] = {}
        for task in TASKS:
            for run in range(1, runs + 1):
                case = case_of(task.name, seed, run)
                self.steps[case.text] = solvers.get(task.name, claims)(case)

    def answer(self, seen: Seen) -> Response:
        messages = seen.json["messages"]
        task = next(text_of(message) for message in messages if message["role"] == "user")
        steps = self.steps[next(text for text in self.steps if text in task)]
        done = sum(message["role"] == "assistant" for message in messages)
        return reply(steps[min(done, len(steps) - 1)], done)


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def reply(step: Step, nth: int) -> Response:
    """One reply in pieces: an event of the stream each."""
    if isinstance(step, str):
        deltas: list[dict[str, Any]] = [{"content": f"{word} "} for word in step.split(" ")]
    else:
        calls = [
            {"index": n, "id": f"c{nth}-{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(of)}} for n, (name, of) in enumerate(step)
        ]
        deltas = [{"tool_calls": [call]} for call in calls]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop" if isinstance(step, str) else "tool_calls"}]})
    chunks.append(
        {"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050, "prompt_tokens_details": {"cached_tokens": 400}}}
    )
    whole = [json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", **chunk}).encode() for chunk in chunks]
    return Response([b"data: " + piece + b"\n\n" for piece in (*whole, b"[DONE]")])
