"""Tasks of more than one step: a program to mend, numbers to compute, a way to follow."""

import json
import re
from random import Random

from ..task import Case, Task, TaskOutcome, same, says, says_number, untouched, words

PROBE = """\
import importlib.util, json
spec = importlib.util.spec_from_file_location("mended", "pricing.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print("{mark}" + json.dumps([module.{name}(*values) for values in {values}]))
"""


def broken(random: Random) -> Case:
    word = words(random, 1)[0]
    name, rate = f"price_of_{word}", random.randrange(3, 9)
    program = (
        f"def {name}(count, each):\n    '''Cents for so many pieces. From ten pieces on, the whole is {rate} percent cheaper, rounded down.'''\n"
        f"    total = count * each\n    if count > 10:\n        total = total * {100 - rate} // 100\n    return total\n"
    )
    test = (
        f"import unittest\n\nfrom pricing import {name}\n\n\nclass Pricing(unittest.TestCase):\n"
        f"    def test_few(self):\n        self.assertEqual({name}(9, 100), 900)\n\n"
        f"    def test_ten(self):\n        self.assertEqual({name}(10, 100), {1000 * (100 - rate) // 100})\n\n\n"
        "if __name__ == '__main__':\n    unittest.main()\n"
    )
    values = [[count, random.randrange(50, 999)] for count in (1, 9, 10, 11, random.randrange(20, 400))]
    wanted = [count * each * (100 - rate) // 100 if count >= 10 else count * each for count, each in values]
    mark = f"{random.getrandbits(64):x}"

    async def check(outcome: TaskOutcome) -> str:
        other = [path for path in outcome.changed() if path != "pricing.py"]
        if other:
            return f"{other[0]} was changed without need"
        if outcome.text("pricing.py") == program.rstrip():
            return "pricing.py is as it was"
        probe = outcome.folder / f"probe_{mark}.py"
        probe.write_text(PROBE.format(mark=mark, name=name, values=values))
        _, printed = await outcome.run(f"python3 -I {probe.name}")
        answers = [line.removeprefix(mark) for line in printed.splitlines() if line.startswith(mark)]
        return "" if answers[-1:] == [json.dumps(wanted)] else f"{name} still gives wrong results"

    files = {"pricing.py": program, "test_pricing.py": test}
    return Case(files, "test_pricing.py fails (python3 test_pricing.py). Mend pricing.py so that it passes. Do not change the test.", check)


def calculation(random: Random) -> Case:
    left, right, less = random.randrange(100_000, 999_999), random.randrange(10_000, 99_999), random.randrange(1000, 9999)

    async def check(outcome: TaskOutcome) -> str:
        return says_number(outcome.answer, left * right - less) or untouched(outcome)

    return Case({}, f"What is {left} * {right} - {less}? Answer with the exact number alone.", check)


def steps(random: Random) -> Case:
    names, number = words(random, 6), random.randrange(100, 400)
    files = {f"boxes/{name}.txt": f"weight: {random.randrange(500, 900)}\n" for name in names}
    files[f"boxes/{names[0]}.txt"] = f"weight: {number}\n"
    files["start.txt"] = f"The box that counts is {names[0]}.\n"

    async def check(outcome: TaskOutcome) -> str:
        return same(outcome, {"result.txt": str(number * 3)})

    text = "start.txt names a box. Read that box's weight in the folder boxes, and write three times the weight, the number alone, into result.txt."
    return Case(files, text, check)


def explain(random: Random) -> Case:
    folder = f"{words(random, 1)[0]}-{random.randrange(100, 999)}"
    script = f"#!/bin/sh\n# tidy up\nset -e\nfind {folder} -name '*.bak' -mtime +30 -delete\necho 'clean' > {folder}/state\n"
    files = {"tidy.sh": script, f"{folder}/a.bak": "old\n", f"{folder}/state": "dirty\n"}

    async def check(outcome: TaskOutcome) -> str:
        told = re.search(r"delet|remov|bak", outcome.answer, re.IGNORECASE)
        return says(outcome.answer, folder) or untouched(outcome) or ("" if told else "the answer does not say that it deletes files")

    return Case(files, "What does tidy.sh do, and in which folder? Explain it in two sentences.", check)


TASKS = (
    Task("test", "Mends a program whose test fails, and leaves the test alone.", broken),
    Task("calculation", "Computes with large numbers exactly.", calculation),
    Task("steps", "Takes two steps of which the second depends on the first.", steps),
    Task("explain", "Explains a script, and neither runs nor changes anything.", explain),
)
