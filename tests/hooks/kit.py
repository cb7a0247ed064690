"""Programs that tests use as hooks, and what they were told."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..agent.kit import call


def script(home: Path, name: str, text: str) -> Path:
    place = home.parent / "own"
    place.mkdir(exist_ok=True)
    file = place / name
    file.write_text(text)
    file.chmod(0o755)
    return file


def settings(home: Path, *hooks: dict[str, Any]) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.json").write_text(json.dumps({"hooks": hooks}))


def hook(event: str, file: Path, /, *arguments: str, **more: Any) -> dict[str, Any]:
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return {"event": event, "command": [str(file), *arguments], "digest": digest, "timeout": 10} | more


def keeps(home: Path, name: str = "told") -> Path:
    """A hook that keeps what it is told, one line a run."""
    return script(home, f"{name}.sh", f"#!/bin/sh\ncat >> {home.parent}/own/{name}.jsonl; echo >> {home.parent}/own/{name}.jsonl\n")


def told(home: Path, name: str = "told") -> list[dict[str, Any]]:
    file = home.parent / "own" / f"{name}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def refuses(home: Path, why: str = "not today") -> Path:
    return script(home, "refuse.sh", f"#!/bin/sh\ncat > /dev/null\necho '{why}' >&2\nexit 2\n")


def write(name: str = "a.txt") -> Any:
    return call("write_file", path=name, content="x")


def runs(seen: Any) -> Sequence[Any]:
    return [event.body for event in seen.of("hook.ran")]
