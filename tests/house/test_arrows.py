"""Who may import whom. A new arrow is a decision record in docs/decisions."""

import ast
import sys
from graphlib import CycleError, TopologicalSorter

import pytest

from .source import PACKAGE, Module, imports, modules, own, room

ADAPTERS = frozenset({"providers", "sandbox", "tools", "documents", "memory", "store", "mcp", "channels"})
ALLOWED: dict[str, frozenset[str]] = {
    "runtime": frozenset({"agent", "foreign_code", "lookups", "ports", "types", "errors"}),
    "agent": frozenset({"foreign_code", "lookups", "ports", "types", "errors"}),
    "safety": frozenset({"ports", "types", "errors"}),
    "capability": frozenset({"ports", "tool", "types", "errors"}),
    "conversion": frozenset({"errors", "kernel"}),
    "foreign_code": frozenset({"errors"}),
    "kernel": frozenset(),
    "tool": frozenset({"types", "errors"}),
    "lookups": frozenset({"ports", "types", "errors"}),
    "ports": frozenset({"desk_ports", "types"}),
    "desk_ports": frozenset({"types"}),
    "types": frozenset({"errors"}),
    "errors": frozenset(),
} | dict.fromkeys(ADAPTERS, frozenset({"capability", "conversion", "foreign_code", "tool", "lookups", "ports", "types", "errors"}))
ALLOWED["sandbox"] |= {"kernel"}
# The composition root and what stands on it; the four that only they import know values and nothing above.
ROOTS = frozenset({"cli", "app", "testing", "__main__", ""})
SETTINGS = frozenset({"config", "log", "secrets", "plugins", "_version"})
# The kernel computes on text and facts (and random ids). urllib.parse and posixpath are string functions; what they can read is forbidden below by name.
PURE = frozenset(
    "ast base64 bisect collections contextlib dataclasses datetime difflib enum fnmatch functools hashlib ipaddress itertools json logging math operator "
    "posixpath re secrets shlex string types typing unicodedata urllib.parse idna msgspec tree_sitter tree_sitter_bash __future__".split()
)
READS_THE_WORLD = frozenset({"realpath", "exists", "lexists", "isfile", "isdir", "islink", "expanduser", "expandvars", "getcwd", "stat", "abspath"})


def arrows() -> list[tuple[Module, str, str]]:
    """Importing module, imported module of ours, place."""
    return [(module, target, found.where) for module in modules() for found in imports(module) if (target := own(found.target))]


def test_rooms_import_only_what_the_plan_of_the_house_allows() -> None:
    wrong = []
    for module, target, where in arrows():
        here, there = module.room, room(target)
        if here in ROOTS or here == there:
            continue
        allowed = ALLOWED[here] if here in ALLOWED else frozenset({"types", "errors", *SETTINGS})
        if there not in allowed:
            wrong.append(f"{where}: {here} to {there or PACKAGE}")
    assert wrong == []


def test_every_room_has_its_place_in_the_plan() -> None:
    assert {module.room for module in modules()} - set(ALLOWED) - ROOTS - SETTINGS == set()


def test_only_the_composition_root_knows_settings_log_secrets_and_plugins() -> None:
    assert [where for module, target, where in arrows() if room(target) in SETTINGS - {"_version"} and module.room not in ROOTS | SETTINGS] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for module, target, _ in arrows():
        if target != module.name:
            graph.setdefault(module.name, set()).add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_no_own_module_is_imported_inside_a_function() -> None:
    assert [found.where for module in modules() for found in imports(module) if found.inside and found.target.split(".")[0] == PACKAGE] == []


def test_the_kernel_imports_nothing_that_reads_or_writes() -> None:
    def pure(target: str) -> bool:
        return bool(own(target)) or target in PURE or any(target.startswith(f"{name}.") for name in PURE)

    assert [f"{found.where}: {found.target}" for module in modules() if module.room == "safety" for found in imports(module) if not pure(found.target)] == []
    assert [
        f"{found.where}: {found.target}"
        for module in modules()
        if module.room == "safety"
        for found in imports(module)
        if found.target.rpartition(".")[2] in READS_THE_WORLD
    ] == []


@pytest.mark.parametrize(("where", "besides"), [("ports", frozenset[str]()), ("errors", frozenset[str]()), ("types", frozenset({"msgspec", "idna"}))])
def test_rooms_of_plain_values_need_the_standard_library_alone(where: str, besides: frozenset[str]) -> None:
    known = sys.stdlib_module_names | {PACKAGE} | besides
    assert [
        f"{found.where}: {found.target}" for module in modules() if module.room == where for found in imports(module) if found.target.split(".")[0] not in known
    ] == []


def test_questions_and_results_of_calls_are_values_only() -> None:
    """What a call is asked and how it ends is made there; only `agent/toolcalls.py` writes and waits."""
    pure = [module for module in modules() if module.path in ("agent/call_questions.py", "agent/results.py")]
    assert len(pure) == 2
    for module in pure:
        nodes = list(ast.walk(module.tree))
        assert [node.lineno for node in nodes if isinstance(node, ast.AsyncFunctionDef | ast.Await)] == [], module.path
        assert {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 1} <= {"redaction", "state"}, module.path


OPENS = "cli/opening.py"
"""The one file of the command line that opens a home."""
BEHIND_THE_DESK = frozenset({"agent", "runtime", "store", "sandbox", "safety", "providers", "tools"})
OPENING = ("app.Agent", "app.agent", "app.assembly", "app.desk_client", "app.home", "app.reader")
A_CLIENT = f"{PACKAGE}.app.desk_client.DeskClient"
"""The value that the commands get: a desk, and what is said through it."""


def is_behind_the_desk(target: str, path: str) -> bool:
    """Whether a client of the desk has no business with what is imported there."""
    opening = any(f"{target}.".startswith(f"{PACKAGE}.{name}.") for name in OPENING)
    return room(own(target) or "") in BEHIND_THE_DESK or (opening and target != A_CLIENT and path != OPENS)


def test_the_command_line_is_a_client_of_the_desk_and_knows_nothing_behind_it() -> None:
    clients = [module for module in modules() if module.room == "cli"]
    assert OPENS in {module.path for module in clients}
    assert [f"{found.where}: {found.target}" for module in clients for found in imports(module) if is_behind_the_desk(found.target, module.path)] == []


@pytest.mark.parametrize("name", ["app.Agent", "app.agent.Agent", "app.reader.reader", "store.sqlite.SqliteStore", "runtime.desk.SessionDesk"])
def test_what_stands_behind_the_desk_is_noticed(name: str) -> None:
    assert is_behind_the_desk(f"{PACKAGE}.{name}", "cli/run.py")
    assert not is_behind_the_desk(A_CLIENT, "cli/run.py")
