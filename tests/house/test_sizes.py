"""Small files, small functions, few parameters."""

from .source import Function, functions, modules

# A longer file needs its reason here: {"room/file.py": "why"}.
LONG_FILES: dict[str, str] = {}
# The last is the one mutable value: its parameters are its fields.
# A `try_models` among them: the parameters of a verb are the arguments of its command. `terminal.terminal` and `read_as.read_as` too: those of a tool.
MANY_PARAMETERS = {"terminal.terminal", "read_as.read_as", "Agent.open", "tool", "Grant.__init__", "try_models", "call_tool"}


def every_function() -> list[tuple[str, str, Function]]:
    return [(module.path, name, node) for module in modules() for name, node in functions(module.tree)]


def length(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_a_file_has_at_most_400_lines() -> None:
    assert [f"{module.path}: {count}" for module in modules() if (count := module.text.count("\n")) > 400 and module.path not in LONG_FILES] == []


def test_a_function_has_at_most_60_lines() -> None:
    assert [f"{path}:{name}: {length(node)}" for path, name, node in every_function() if length(node) > 60] == []


def test_nine_functions_in_ten_are_under_30_lines() -> None:
    lengths = [length(node) for _, _, node in every_function()]
    assert sum(count < 30 for count in lengths) >= 0.9 * len(lengths)


def test_a_function_has_at_most_six_parameters() -> None:
    def count(node: Function) -> int:
        given = [*node.args.posonlyargs, *node.args.args]
        bound = bool(given) and given[0].arg in ("self", "cls")
        return len(given) + len(node.args.kwonlyargs) - bound

    assert [f"{path}:{name}: {count(node)}" for path, name, node in every_function() if count(node) > 6 and name not in MANY_PARAMETERS] == []
