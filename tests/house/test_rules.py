"""Rules that keep the gate the only way, tasks in groups, and tests on real parts."""

import ast
import re
import sys
from collections.abc import Iterator

import pytest

from .source import ROOT, Module, files_of_tests, functions, imports, modules, nodes

RECORDED = "safety/recorded_gate.py"
GATE = "safety/gate.py"
# Top-level guards: {"room/file.py:Class.function": "why everything is caught there"}.
CATCH_ALL: dict[str, str] = {
    "foreign_code.py:EndOfWork.follow": "code that others wrote: whatever it raises is given to who waits for it",
    "foreign_code.py:_run_here": "the same for code of our own, in the task of the caller",
    "foreign_code.py:call_foreign": "the same for a plain function",
    "foreign_code.py:_text": "an error that others wrote may not be able to say what it is",
    "secrets/store_key.py:SystemKeyring.get": "a backend of the keyring is foreign code, and raises errors of its own, of D-Bus for example",
    "secrets/store_key.py:SystemKeyring.put": "a backend of the keyring is foreign code, and raises errors of its own, of D-Bus for example",
    "secrets/store_key.py:system_keyring": "a backend of the keyring is foreign code: one that cannot even be asked is none that keys are trusted to",
    "foreign_code.py:shown_value": "and neither may a value",
    "types/codec.py:Codec.decode": "a capability's body and upcast are foreign code: what they raise makes one entry unreadable",
    "agent/sources.py:read_sources": "a source of context is foreign code: one that raises is left out, and the person is told",
    "providers/local.py:Generation._run": "a model library is foreign code in a thread: whatever it raises is the end of its generation",
    "app/trials/trial_runner.py:judged": "a check reads what a model left, which may be anything: what it raises is why that task failed, and no other",
    "cli/main.py:main": "the program's top: every failure becomes one clear line and an exit code",
    "cli/policy.py:_one": "a line of policy explain --batch: any failure inside is forbid",
    "sandbox/handed_over.py:HandedOver.answer": "what a confined program passed to a call may make anything fail: it is an error of that call",
    "sandbox/later_run/place_guard.py:PlaceGuard._settled_changes": "what a dead command left may make a look fail: it keeps no other command from running",
    "app/later_run/place_recorder.py:PlaceRecorder.call": "where a look fails, whatever it is, the command does not run",
    "app/later_run/place_recorder.py:PlaceRecorder._end": "and where it fails afterwards, that is told and recorded",
    "safety/gate.py:PolicyGate._guarded": "the kernel's guard: whatever fails while judging means no",
    "store/connection.py:open_writer": "closes the connection, then raises again",
    "store/sqlite.py:SqliteStore.open": "leaves the home and closes the connection, then raises again",
    "app/backup/home_backup.py:back_up": "removes what was written of a backup, then raises again",
    "app/backup/home_restore.py:_restored": "removes what was prepared, then raises again",
    "store/writer.py:Writer._guard": "the writer thread: a failed batch is told to those who wait for it",
    "store/folding.py:TableProjection.take": "a capability's fold is foreign code: what it raises refuses its own append",
    "store/sqlite.py:SqliteStore._attach": "closes the store, then raises again",
    "tools/file_formats.py:_recognises": "a capability's format is foreign code: what it raises is an error of the call that read the file",
}
LOOSE_TASKS = {"create_task", "gather", "ensure_future"}
# Where a task stands alone: {"room/file.py": "why"}.
MAY_START_ALONE = {"app/agent_task.py": "an agent started in one task and closed in another is entered and left by a task of its own"}
# What speaks HTTP or opens a connection is `sandbox/net.py` alone: it judges whom it connects to. {"room/file.py": "why"}
MAY_CONNECT = {
    "sandbox/net.py": "the one client",
    "sandbox/judged_connection.py": "its connections to judged addresses",
    "sandbox/outbound_proxy.py": "connects commands to judged addresses",
    "app/models/local_ollama.py": "asks the Ollama of this machine whether it runs, before the 220 ms that aiohttp takes to load are worth it",
    "sandbox/container/engine.py": "speaks to the container engine over its Unix socket, which no grant names, from threads and before aiohttp is loaded",
}
CLIENTS = frozenset(
    "aiohttp httpx requests urllib3 pycurl websockets httplib2 urllib.request http.client xmlrpc.client ftplib smtplib imaplib poplib nntplib telnetlib".split()
)
CONNECTS = frozenset("connect_tcp open_connection create_connection create_datagram_endpoint sock_connect urlopen urlretrieve connect_ex".split())
CONNECTS |= frozenset("open_unix_connection create_udp_socket create_connected_udp_socket".split())
# What is brought in from outside, and why it opens no connection of its own. A package that is not here may be a client.
PACKAGES = {
    "aiohttp": "the one client",
    "yarl": "addresses as values",
    "anyio": "its functions that connect are in CONNECTS",
    "msgspec": "values",
    "prompt_toolkit": "a terminal",
    "pygments": "text",
    "rich": "a terminal",
    "yaml": "text",
    "ruamel": "text",
    "docx": "documents, in a child process without a network",
    "markdown_it": "text",
    "html_to_markdown": "documents, in a child process without a network",
    "pypdf": "documents, in a child process without a network",
    "json_repair": "text",
    "tree_sitter": "text",
    "tree_sitter_bash": "text",
    "idna": "text",
    "brotli": "bytes",
    "compression": "bytes",
    "backports": "bytes",
    "re2": "text",
    "cryptography": "bytes",
    "keyring": "asks the keyring of the desktop",
    "jsonschema_rs": "would fetch what a schema names; each use says what retrieves instead",
    "psutil": "asks the kernel",
}
# Who makes sockets besides: {"room/file.py": "why"}.
MAKES_SOCKETS = {
    "app/proof/live_checks.py": "listens on loopback for a connection that must not come",
    "sandbox/bound_sockets.py": "asks the kernel which Unix sockets are bound (netlink)",
    "sandbox/bubblewrap.py": "names the type of the socket that a proxy listens at",
    "sandbox/container/listening.py": "takes over the socket at which a command in a container reaches its proxy",
    "sandbox/container/running.py": "streams of a container",
    "sandbox/reaped.py": "pairs that lead to a child, and a listening socket of its namespace",
    "sandbox/reaper.py": "the same from the side of the child",
    "sandbox/fork_server.py": "listens in the namespace of a command",
    "sandbox/system_facts.py": "looks names up",
}
# Modules that are loaded by a name that is a value: {"room/file.py": "why"}.
LOADS_BY_NAME = {
    "__init__.py": "its own modules, when they are first used",
    "plugins.py": "the table of built-in parts, and what others installed",
    "cli/main.py": "its own commands",
    "cli/completion.py": "its own commands",
    "providers/local_engine.py": "libraries that run a model in this process",
}
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
    "tests/sandbox/test_web.py": "servers that answer slowly",
    "tests/sandbox/hostile_answers.py": "servers that answer slowly",
    "tests/sandbox/test_broken_answers.py": "a name server that answers slowly",
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
    assert [f"{module.path}:{line}" for module in modules() if module.path not in (GATE, RECORDED) for line in grants_made(module)] == []


def test_the_grants_of_a_replay_allow_nothing() -> None:
    (module,) = [module for module in modules() if module.path == RECORDED]
    envelopes = [node for node in ast.walk(module.tree) if called(node) == "Envelope"]
    assert [len(node.args) + len(node.keywords) for node in envelopes if isinstance(node, ast.Call)] == [0]


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


def connections_in(module: Module) -> Iterator[str]:
    for found in imports(module):
        if any(found.target == client or found.target.startswith(f"{client}.") for client in CLIENTS):
            yield module.path
    for node in ast.walk(module.tree):
        if called(node) in CONNECTS:
            yield module.path


def connections() -> Iterator[str]:
    for module in modules():
        yield from connections_in(module)


def test_only_the_judging_client_opens_connections() -> None:
    assert set(connections()) == set(MAY_CONNECT)


def outside_packages() -> set[str]:
    return {
        top
        for module in modules()
        for found in imports(module)
        if (top := found.target.partition(".")[0]) not in sys.stdlib_module_names and top != "neuralclaw"
    }


def test_every_package_from_outside_is_known_to_open_no_connection() -> None:
    assert outside_packages() == set(PACKAGES)


def test_sockets_are_made_where_connections_are_and_where_it_is_said() -> None:
    makers = {
        module.path for module in modules() for found in imports(module) if found.target.partition(".")[0] in ("socket", "_socket", "ssl", "socketserver")
    }
    assert sorted(makers - set(MAY_CONNECT) - set(MAKES_SOCKETS)) == []


def test_modules_are_loaded_by_the_value_of_a_name_only_where_it_is_said() -> None:
    loaders = {
        module.path
        for module in modules()
        for node in ast.walk(module.tree)
        if called(node) in ("import_module", "__import__", "exec_module", "load_module", "run_module", "run_path")
        or (called(node) in ("exec", "eval") and isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    }
    assert loaders == set(LOADS_BY_NAME)


def test_no_schema_has_anything_fetched() -> None:
    uses = [
        (module.path, {keyword.arg for keyword in node.keywords})
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "jsonschema_rs"
    ]
    assert uses
    assert [path for path, given in uses if "retriever" not in given] == []


@pytest.mark.parametrize(
    "line",
    [
        "import httpx",
        "from urllib.request import urlopen as get",
        "import aiohttp.client as x",
        "socket.create_connection(('a', 1))",
        "asyncio.open_connection('a', 1)",
        "loop.sock_connect(s, a)",
        "sock.connect_ex(a)",
        "anyio.connect_tcp('a', 1)",
        "anyio.create_connected_udp_socket('a', 1)",
    ],
)
def test_every_way_to_connect_is_noticed(line: str) -> None:
    assert list(connections_in(Module("neuralclaw.tools.x", "tools", "tools/x.py", line, ast.parse(line)))) == ["tools/x.py"]


def test_names_are_looked_up_for_the_gate_alone() -> None:
    lookups = {"getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "create_resolver"}
    assert {module.path for module in modules() for node in ast.walk(module.tree) if getattr(node, "attr", "") in lookups} == {"sandbox/system_facts.py"}


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
