"""Tasks that change files: exactly what was asked for, and nothing else."""

import csv
import io
import json
import re
from random import Random

from ..task import Case, Task, TaskOutcome, same, words


def edit(random: Random) -> Case:
    first, second = random.sample(range(10, 90), 2)
    before = f"[cache]\ntimeout = {first}\nsize = 64\n\n[mail]\ntimeout = {first}\nretries = 3\n\n[search]\ntimeout = {first}\n"
    after = before.replace(f"[mail]\ntimeout = {first}", f"[mail]\ntimeout = {second}")

    async def check(outcome: TaskOutcome) -> str:
        return same(outcome, {"settings.ini": after})

    return Case({"settings.ini": before}, f"In settings.ini, set the timeout of the section mail to {second}. Change nothing else.", check)


def several(random: Random) -> Case:
    old, new = words(random, 2)
    files = {
        "shop/tax.py": f"def {old}(price):\n    return price * 119 // 100\n\n\ndef sub{old}(price):\n    return price\n",
        "shop/cart.py": f"from shop.tax import {old}, sub{old}\n\n\ndef pay(prices):\n    return {old}(sum(prices)) - sub{old}(0)\n",
        "shop/show.py": f"from shop.tax import {old}\n\n\ndef show(price):\n    return f'{{{old}(price)}} cents'\n",
        "shop/other.py": f"sub{old}s = []\n",
    }
    wanted = {path: re.sub(rf"\b{old}\b", new, text) for path, text in files.items()}

    async def check(outcome: TaskOutcome) -> str:
        return same(outcome, wanted)

    text = f"Rename the function {old} in shop/tax.py to {new}, with every use of it below shop. Leave other names as they are."
    return Case(files, text, check)


def create(random: Random) -> Case:
    names = words(random, 3)
    wanted = "# Stock\n" + "".join(f"- {name}\n" for name in names)

    async def check(outcome: TaskOutcome) -> str:
        return same(outcome, {"report/stock.md": wanted})

    listed = f"{names[0]}, {names[1]} and {names[2]}"
    text = f"Make the file report/stock.md with four lines: first the heading '# Stock', then a list with '- ' of {listed}, in this order."
    return Case({"readme.txt": "Reports go into the folder report.\n"}, text, check)


def rename(random: Random) -> Case:
    one, two = words(random, 2)
    files = {f"draft-{one}.txt": f"All about {one}.\nVersion {random.randrange(100)}\n", f"draft-{two}.txt": f"All about {two}.\n"}

    async def check(outcome: TaskOutcome) -> str:
        return same(outcome, {f"final/{one}.txt": files[f"draft-{one}.txt"]}, gone=[f"draft-{one}.txt"])

    return Case(files, f"Move draft-{one}.txt to final/{one}.txt, with its content as it is. The other draft stays.", check)


def data(random: Random) -> Case:
    items = words(random, 5)
    wanted = random.choice(items)
    price, version = random.randrange(100, 999), random.randrange(3, 90)
    rows = [["item", "note", "price"], *([item, f"{item}, boxed", str(random.randrange(10, 99))] for item in items)]
    shop = {"name": "shop", "version": 2, "tags": ["old"], "open": {"days": [1, 2, 3]}}
    files = {"prices.csv": _csv(rows), "shop.json": json.dumps(shop, indent=2) + "\n"}
    rows = [[*row[:2], str(price)] if row[0] == wanted else row for row in rows]

    async def check(outcome: TaskOutcome) -> str:
        if _rows(outcome.text("prices.csv")) != rows:
            return "prices.csv is not what was asked for"
        if _json(outcome.text("shop.json")) != {**shop, "version": version, "tags": ["old", wanted]}:
            return "shop.json is not what was asked for"
        other = [path for path in outcome.changed() if path not in files]
        return f"{other[0]} was changed without need" if other else ""

    prices, facts = f"In prices.csv, set the price of {wanted} to {price}.", f"In shop.json, set version to {version} and add {wanted} at the end of tags."
    return Case(files, f"{prices} {facts} Leave all else as it is.", check)


def _csv(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _rows(text: str | None) -> list[list[str]] | None:
    try:
        return [row for row in csv.reader(io.StringIO(text or "")) if row]
    except csv.Error:  # a field too long, or a lone carriage return
        return None


def _json(text: str | None) -> object:
    try:
        value: object = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return value


TASKS = (
    Task("edit", "Changes one value of several alike, and nothing else.", edit),
    Task("several", "Renames a function in several files, and not what is only named alike.", several),
    Task("create", "Makes a file in a folder that is not there yet.", create),
    Task("rename", "Moves a file with its content.", rename),
    Task("data", "Changes a CSV and a JSON file, and both stay valid.", data),
)
