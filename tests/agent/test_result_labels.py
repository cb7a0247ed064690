"""Whose word a result is: what its tool says of it, and never less than what the tool is."""

import pytest

from neuralclaw.agent.results import labels_of
from neuralclaw.types.labels import Labels
from neuralclaw.types.tools import ToolResult, ToolSpec


@pytest.mark.parametrize(
    ("source", "said", "labels"),
    [
        ("own", (), {"agent", "private"}),
        ("own", ("external:web/a.test", "public"), {"external:web/a.test", "public"}),
        ("external", (), {"external:tool/t", "private"}),
        ("external", ("external:web/a.test", "public"), {"external:web/a.test", "public"}),
        ("external", ("public",), {"external:tool/t", "public"}),
        ("external", ("owner", "public"), {"external:tool/t", "owner", "public"}),
    ],
)
def test_a_result_of_a_tool_from_outside_is_external_whatever_it_says(source: str, said: tuple[str, ...], labels: Labels) -> None:
    spec = ToolSpec(name="t", description="", input_schema={}, source=source)  # type: ignore[arg-type]
    assert labels_of(ToolResult(content="x", labels=frozenset(said)), spec) == labels
