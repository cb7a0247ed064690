"""`policy rules` shows every rule that a verdict may name."""

import re
from pathlib import Path

from neuralclaw.safety import catalogue

SAFETY = Path(catalogue.__file__).parent
NAMED = re.compile(r'"((?:block|path|url|shell|program|tool|gate|approval)\.[a-z_]+)"')


def test_every_rule_that_the_kernel_names_is_in_the_catalogue_once() -> None:
    known = [rule["id"] for rule in catalogue.rules()]
    assert len(known) == len(set(known))
    named = {name for file in SAFETY.glob("*.py") for name in NAMED.findall(file.read_text())}
    assert named - set(known) == set()
    assert {f"risk.{risk}" for risk in ("low", "medium", "high", "critical")} <= set(known)
