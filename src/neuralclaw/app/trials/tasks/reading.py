"""Tasks that only read: to find, to count, to page, and to say what is not so."""

import re
from random import Random

from ..correction_check import corrects
from ..task import Case, Task, TaskOutcome, has_read, looked, says, says_absent, says_number, untouched, words


def find(random: Random) -> Case:
    names = words(random, 12)
    wanted = random.choice(names)
    paths = [f"src/{random.choice(('core', 'web', 'jobs'))}/{name}.py" for name in names]
    home = random.choice(paths)
    files = {path: f'"""Part of the shop."""\n\n\ndef open_{name}() -> None:\n    settle_{wanted}()\n' for path, name in zip(paths, names, strict=True)}
    files[home] = f'"""Part of the shop."""\n\n\ndef settle_{wanted}() -> None:\n    print("settled")\n'

    async def check(outcome: TaskOutcome) -> str:
        return says(outcome.answer, home, paths) or looked(outcome) or untouched(outcome)

    return Case(files, f"In which file below src is the function settle_{wanted} defined? Answer with its path alone.", check)


def read(random: Random) -> Case:
    ports = random.sample(range(3000, 9000), 3)
    sections = zip(("production", "staging", "testing"), ports, strict=True)
    files = {"servers.ini": "".join(f"[{name}]\nhost = {name}.example.com\nport = {port}\n\n" for name, port in sections)}

    async def check(outcome: TaskOutcome) -> str:
        return says(outcome.answer, str(ports[1]), map(str, ports)) or untouched(outcome)

    return Case(files, "Which port does the staging server have in servers.ini? Answer with the number alone.", check)


def question(random: Random) -> Case:
    people = [word.capitalize() for word in words(random, 4)]
    files = {
        "handbook/travel.md": f"# Travel\n\nTrips are booked by {people[0]}. Hotels above 150 euros need a word from {people[1]}.\n",
        "handbook/money.md": f"# Money\n\nRefunds up to 500 euros are approved by {people[1]}.\nAnything larger goes to {people[2]}, who decides alone.\n",
        "handbook/office.md": f"# Office\n\nKeys are with {people[3]}.\n",
    }

    async def check(outcome: TaskOutcome) -> str:
        return says(outcome.answer, people[2], people) or looked(outcome) or untouched(outcome)

    return Case(files, "The handbook is in the folder handbook. Who approves a refund of 800 euros? Answer with the name alone.", check)


def log(random: Random) -> Case:
    lines = []
    for number in range(6000):
        request = f"{random.getrandbits(32):08x}"
        lines.append(f"2026-03-01T08:{number // 100:02d}:{number % 60:02d}Z INFO request={request} path=/item/503 status=200")
    first, second = sorted(random.sample(range(1500, 5500), 2))
    ids = {place: f"{random.getrandbits(32) | 1 << 31:08x}" for place in (first, second)}
    for place, request in ids.items():
        lines[place] = lines[place].split(" INFO ")[0] + f" ERROR request={request} path=/checkout status=503"

    async def check(outcome: TaskOutcome) -> str:
        named = set(re.findall(r"\b[0-9a-f]{8}\b", outcome.answer))
        return untouched(outcome) if named == {ids[first]} else f"the answer is not {ids[first]} alone"

    text = "app.log has one line for each request, the oldest first. What is the id of the first request that ended with status 503? Answer with the id alone."
    return Case({"app.log": "\n".join(lines) + "\n"}, text, check)


def pages(random: Random) -> Case:
    marks = [f"{random.choice(words(random, 5))}-{random.randrange(1000, 9999)} {random.choice(words(random, 5))} lies on shelf {n % 7}" for n in range(2600)]
    place = random.randrange(2100, 2500)
    wanted = marks[place - 1].split(" ")[0]

    async def check(outcome: TaskOutcome) -> str:
        return says(outcome.answer, wanted, (mark.split(" ")[0] for mark in marks)) or untouched(outcome)

    return Case({"inventory.txt": "\n".join(marks) + "\n"}, f"What is the first word of line {place} of inventory.txt? Answer with that word alone.", check)


def count(random: Random) -> Case:
    states = [random.choice(("open", "opened", "reopened", "closed", "open", "pending")) for _ in range(180)]
    rows = [f"{1000 + n};{random.choice(words(random, 3))};{state}" for n, state in enumerate(states)]
    wanted = states.count("open")

    async def check(outcome: TaskOutcome) -> str:
        return says_number(outcome.answer, wanted) or looked(outcome) or untouched(outcome)

    text = "orders.txt has an order in each line: number;customer;state. How many orders have exactly the state open? Answer with the number alone."
    return Case({"orders.txt": "\n".join(rows) + "\n"}, text, check)


def absent(random: Random) -> Case:
    year, total = random.randrange(2031, 2039), random.randrange(10_000, 99_999)
    name = f"budget-{year}.txt"

    async def check(outcome: TaskOutcome) -> str:
        known = {str(number) for number in (year, year - 1, 12_000, total)}
        numbers = set(re.findall(r"\d{4,}", outcome.answer.replace(",", "")))
        if numbers - known:
            return "it made up a number"
        if str(total) in numbers and str(year - 1) not in numbers:
            return "it answered from another file"
        if not says_absent(outcome.answer):
            return f"the answer does not say that {name} is not there"
        return looked(outcome) or untouched(outcome)

    return Case({f"budget-{year - 1}.txt": f"rent: 12000\ntotal: {total}\n"}, f"What is the total in {name}? If you cannot tell, say why.", check)


def premise(random: Random) -> Case:
    days = random.sample(("Monday", "Tuesday", "Wednesday", "Thursday"), 2)  # the question says Friday
    hour = random.randrange(8, 18)
    files = {"notes.txt": f"The review was planned for {days[0]}.\nIt has been moved to {days[1]} at {hour}:30, in the small room.\n"}

    async def check(outcome: TaskOutcome) -> str:
        return corrects(outcome.answer, days[1], days[0], hour) or has_read(outcome, days[1]) or untouched(outcome)

    return Case(files, "notes.txt says that the review was moved to Friday. At what time on Friday is it?", check)


TASKS = (
    Task("find", "Finds where a function is defined among places that only call it.", find),
    Task("read", "Reads one value out of a file with several like it.", read),
    Task("question", "Answers a question whose answer is in one of several files.", question),
    Task("log", "Finds a line in a log too long to read at once.", log),
    Task("pages", "Pages through a long file to a given line.", pages),
    Task("count", "Counts lines exactly, beside some that look alike.", count),
    Task("absent", "Says that a file is not there, instead of answering from another.", absent),
    Task("premise", "Corrects a question that assumes what is not so.", premise),
)
