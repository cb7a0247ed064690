"""An author finds every type of a signature in `neuralclaw.capability`, or in `neuralclaw`."""

import inspect
import typing
from collections.abc import Iterator
from typing import Any

import neuralclaw
from neuralclaw import capability

from ..docs.pages import ROOT


def parts(kind: Any) -> Iterator[type]:
    """The classes of this package that a type is made of."""
    if isinstance(kind, type) and not typing.get_args(kind) and kind.__module__.partition(".")[0] == "neuralclaw":
        yield kind
    for one in typing.get_args(kind):
        for inner in one if isinstance(one, list | tuple) else (one,):
            yield from parts(inner)


def signatures(value: Any) -> Iterator[Any]:
    """The types in the signature of a function, of a class its fields and public methods, of an alias itself."""
    if not isinstance(value, type):
        yield from typing.get_type_hints(value, include_extras=True).values() if inspect.isfunction(value) else (value,)
        return
    yield from typing.get_type_hints(value, include_extras=True).values()
    for name, member in vars(value).items():
        made = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(made) and (name == "__init__" or not name.startswith("_")):
            yield from typing.get_type_hints(made, include_extras=True).values()


def test_every_type_of_a_signature_can_be_imported() -> None:
    there = {id(getattr(module, name)) for module in (capability, neuralclaw) for name in module.__all__}
    for name in capability.__all__:
        value = getattr(capability, name)
        missing = [f"{one.__module__}.{one.__qualname__}" for kind in signatures(value) for one in parts(kind) if id(one) not in there]
        assert missing == [], name


def test_what_the_example_and_a_wrapper_need_is_among_them() -> None:
    for name in ("Finished", "ModelEvent", "StartOptions", "Prefix", "RecordConflict", "Draft", "Request", "ModelReply"):
        assert name in capability.__all__
    assert sorted(set(capability.__all__)) == sorted(capability.__all__)
    assert all(hasattr(capability, name) for name in capability.__all__)


def test_the_verb_of_the_page_is_that_of_the_example() -> None:
    page, code = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/capabilities.md", "examples/habits/neuralclaw_habits.py"))
    section = page.partition("## A verb from its function to the screen")[2].partition("\n## ")[0]
    shown = [block.partition("```")[0] for block in section.split("```python\n")[1:]]
    assert len(shown) == 2
    for block in shown:
        assert block.strip() in code
