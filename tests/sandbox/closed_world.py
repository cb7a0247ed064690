"""A machine that gives programs no namespaces: what Landlock does there. A process of its own, since the kernel does not open them again.

`bwrap --unshare-user --disable-userns --cap-drop ALL --dev-bind / / python -m tests.sandbox.closed_world FOLDER COMMAND` runs a command in `FOLDER/work`,
where the agent's own program is, beside `FOLDER/work/keys` that is hidden, and prints one JSON object.
"""

import json
import sys
from pathlib import Path

import anyio

from neuralclaw.sandbox.landlock import Landlock

from .grants import command_grant
from .processes import PATH


def main(folder: str, command: str) -> None:
    work = Path(folder).resolve() / "work"
    sys.prefix = str(work / ".venv")
    for name in (".venv/bin", "keys", "sub"):
        (work / name).mkdir(parents=True)
    (work / "keys" / "id").write_text("key")
    box = Landlock(hidden=(str(work / "keys"),))
    grant, argv = command_grant(work), ["sh", "-c", command]
    done = anyio.run(lambda: box.exec(grant, argv, cwd=str(work), env={"PATH": PATH}, timeout=10, max_bytes=10_000))
    print(json.dumps({"said": done.stdout.decode(), "refused": done.refused, "problem": box.problem(), "strength": box.strength()}))  # noqa: T201


main(*sys.argv[1:])
