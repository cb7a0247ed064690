"""Rules that keep the gate the only way, tasks in groups, and tests on real parts."""

import ast
import re
from collections.abc import Iterator

import pytest

from .source import ROOT, Module, files_of_tests, functions, imports, modules, nodes

GATE = "safety/gate.py"
# Top-level guards: {"room/file.py:Class.function": "why everything is caught there"}.
CATCH_ALL: dict[str, str] = {
    "foreign_code.py:EndOfWork.follow": "code that others wrote: whatever it raises is given to who waits for it",
    "foreign_code.py:_run_here": "the same for code of our own, in the task of the caller",
    "foreign_code.py:call_foreign": "the same for a plain function",
    "foreign_code.py:_text": "an error that others wrote may not be able to say what it is",
    "foreign_code.py:shown_value": "and neither may a value",
    "types/codec.py:Codec.decode": "a capability's body and upcast are foreign code: what they raise makes one entry unreadable",
    "agent/sources.py:read_sources": "a source of context is foreign code: one that raises is left out, and the person is told",
    "providers/local.py:Generation._run": "a model library is foreign code in a thread: whatever it raises is the end of its generation",
    "app/trials/trial_runner.py:judged": "a check reads what a model left, which may be anything: what it raises is why that task failed, and no other",
    "cli/main.py:main": "the program's top: every failure becomes one clear line and an exit code",
    "cli/policy.py:_one": "a line of policy explain --batch: any failure inside is forbid",
    "safety/gate.py:PolicyGate._guarded": "the kernel's guard: whatever fails while judging means no",
    "store/connection.py:open_writer": "closes the connection, then raises again",
    "store/writer.py:Writer._guard": "the writer thread: a failed batch is told to those who wait for it",
    "store/folding.py:TableProjection.take": "a capability's fold is foreign code: what it raises refuses its own append",
    "store/sqlite.py:SqliteStore._attach": "closes the store, then raises again",
    "tools/file_formats.py:_recognises": "a capability's format is foreign code: what it raises is an error of the call that read the file",
}
LOOSE_TASKS = {"create_task", "gather", "ensure_future"}
# Where a task stands alone: {"room/file.py": "why"}.
MAY_START_ALONE = {"app/agent_task.py": "an agent started in one task and closed in another is entered and left by a task of its own"}
# A model service is a thing of its own; a name that only ends so says nothing.
VAGUE = re.compile(r"\w(Manager|Handler|Service|Factory|Helper)$")
# Who else reads it: {"room/file.py": "why"}.
READS_ENVIRONMENT = {"cli/capability_nouns.py": "--help finds the home without loading the settings, which would cost it more than all the rest"}
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv", "expandvars"}
MOCKS = re.compile(r"\bmock\b|Mock\(|\bmocker\b|monkeypatch\.(setattr|setitem|delattr)|\bpatch\(")
SLEEPS = re.compile(r"\b(time|asyncio|anyio)\.sleep\((?!0\))")
# Time that passes on purpose, never a guess how long something takes.
MAY_SLEEP = {
    "tests/waiting.py": "polls, with a deadline",
    "tests/store/kit.py": "the real clock behind the port",
    "tests/agent/test_breakers.py": "a person who takes longer than the turn's limit",
    "tests/sandbox/test_net.py": "a server that answers slowly",
}
SKIPS = re.compile(r"pytest\.(mark\.)?(skip|skipif|xfail|importorskip)\b|unittest\.skip|collect_ignore")


def called(node: ast.AST) -> str:
    """The last name of what is called: `Grant` for `actions.Grant(…)`; "" when it is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""


def names_grant(node: ast.AST) -> bool:
    return (isinstance(node, ast.Name) and node.id == "Grant") or (isinstance(node, ast.Attribute) and node.attr == "Grant")


def grants_made(module: Module) -> Iterator[int]:
    """Lines that make a Grant: by its class, by `type(grant)(…)`, by decoding or copying into it, under another name, or as a subclass."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef) and any(names_grant(base) for base in node.bases):
            yield node.lineno
        elif isinstance(node, ast.ImportFrom) and any(alias.name == "Grant" and alias.asname not in (None, "Grant") for alias in node.names):
            yield node.lineno
        elif isinstance(node, ast.Assign) and names_grant(node.value):
            yield node.lineno
        elif isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            decodes = called(node) in ("convert", "decode", "Decoder", "__new__") and any(names_grant(value) for value in given)
            copies = called(node) == "replace" and any(isinstance(value, ast.Name) and "grant" in value.id.lower() for value in given)
            if called(node) == "Grant" or decodes or copies:
                yield node.lineno


def test_only_the_gate_makes_a_grant() -> None:
    assert [f"{module.path}:{line}" for module in modules() if module.path != GATE for line in grants_made(module)] == []


@pytest.mark.parametrize(
    "line",
    [
        "Grant(session='s')",
        "actions.Grant(session='s')",
        "from x import Grant as Permit",
        "Permit = Grant",
        "class Mine(Grant): pass",
        "msgspec.convert(data, Grant)",
        "msgspec.json.decode(data, type=Grant)",
        "object.__new__(Grant)",
        "copy.replace(grant, envelope=wider)",
    ],
)
def test_every_way_to_make_a_grant_is_noticed(line: str) -> None:
    assert list(grants_made(Module("neuralclaw.tools.x", "tools", "tools/x.py", line, ast.parse(line)))) == [1]


def test_the_gate_does_make_grants() -> None:
    assert any(list(grants_made(module)) for module in modules() if module.path == GATE)


def test_only_the_settings_read_the_environment() -> None:
    used = [
        f"{module.path}:{node.lineno}"
        for module in modules()
        if module.room != "config" and module.path not in READS_ENVIRONMENT
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT and isinstance(node.value, ast.Name) and node.value.id in ("os", "path", "posixpath")
    ]
    named = [
        found.where for module in modules() if module.room != "config" for found in imports(module) if found.target in {f"os.{name}" for name in ENVIRONMENT}
    ]
    assert used + named == []


def catch_alls() -> Iterator[str]:
    for module in modules():
        for within, node in nodes(module):
            if not isinstance(node, ast.ExceptHandler):
                continue
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if any(kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException")) for kind in caught):
                yield f"{module.path}:{within}"


def test_everything_is_caught_only_in_named_guards() -> None:
    assert sorted(set(catch_alls()) - set(CATCH_ALL)) == []


def test_every_named_guard_exists() -> None:
    assert sorted(set(CATCH_ALL) - set(catch_alls())) == []


def test_tasks_live_in_task_groups() -> None:
    assert [
        f"{module.path}:{node.lineno}"
        for module in modules()
        for node in ast.walk(module.tree)
        if called(node) in LOOSE_TASKS and module.path not in MAY_START_ALONE
    ] == []


def test_names_say_what_a_thing_is() -> None:
    assert [
        f"{module.path}:{node.name}" for module in modules() for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef) and VAGUE.search(node.name)
    ] == []


def test_every_file_says_what_it_is() -> None:
    assert [module.path for module in modules() if ast.get_docstring(module.tree) is None] == []


def test_tests_replace_no_part_of_the_program() -> None:
    assert [f"{path}: {line.strip()}" for path, text in files_of_tests() for line in text.splitlines() if MOCKS.search(line)] == []


def test_tests_do_not_sleep_skip_or_expect_to_fail() -> None:
    assert [
        f"{path}: {line.strip()}"
        for path, text in files_of_tests()
        for line in text.splitlines()
        if SKIPS.search(line) or (SLEEPS.search(line) and path not in MAY_SLEEP)
    ] == []


def test_test_names_are_sentences_about_behaviour() -> None:
    short = []
    for path, text in files_of_tests():
        short += [f"{path}:{name}" for name, _ in functions(ast.parse(text)) if name.rpartition(".")[2].startswith("test_") and name.count("_") < 3]
    assert short == []


def test_no_file_names_the_place_it_was_written_in() -> None:
    assert [f"{module.path}: {line.strip()}" for module in modules() for line in module.text.splitlines() if f"{ROOT}/" in line] == []
