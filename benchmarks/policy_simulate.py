"""What `policy simulate` takes for each recorded action, in a home of 1,000 and one of 10,000: `python benchmarks/policy_simulate.py`.

The figures that count are ratios: time for each action, and memory, in the large home as multiples of the small one. Wanted: about 1.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio

sys.path.insert(0, str(Path(__file__).parent))

from homes import build

from neuralclaw.app.policy_verbs import policy_desk

RULES = "- {id: sums, decision: forbid, tool: calculate}\n- {id: push, decision: forbid, command: git push}\n"


async def measure(folder: Path, actions: int) -> dict[str, Any]:
    """Seconds of a simulation over so many actions, and the memory of the process at its end (MB)."""
    home, rules = folder / f"home-{actions}", folder / "rules.yaml"
    home.mkdir(mode=0o700)
    rules.write_text(RULES)
    await build(str(home), str(folder), actions)
    async with policy_desk(str(home), workspace=str(folder), environ={"HOME": str(folder)}) as desk:
        begun = time.perf_counter()
        found = await desk.do("policy.simulate", file=str(rules))
        seconds = time.perf_counter() - begun
    assert found["newly"]["forbidden"] == found["judged"] >= actions, found
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"actions": found["judged"], "seconds": seconds, "ms_each": 1000 * seconds / found["judged"], "mb": memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=10_000, help="actions of the large home; the small one has a tenth")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        small, large = (anyio.run(measure, Path(directory), count) for count in (options.actions // 10, options.actions))
    ratios = {"time_ratio": large["ms_each"] / small["ms_each"], "memory_ratio": large["mb"] / small["mb"]}
    if options.json:
        print(json.dumps({"small": small, "large": large, **ratios}))
        return
    for one in (small, large):
        print(f"{one['actions']:,} actions: {one['seconds']:.1f} s, {one['ms_each']:.2f} ms each, {one['mb']:.0f} MB")
    print(f"in the large home: time for each action x{ratios['time_ratio']:.2f}, memory x{ratios['memory_ratio']:.2f}; wanted: about 1")


if __name__ == "__main__":
    main()
