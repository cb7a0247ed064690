"""Grants for these tests. In the program only `safety.gate` makes them."""

import os
from typing import Any

from neuralclaw.types.grants import Envelope, Grant


def grant(workspace: object, **envelope: Any) -> Grant:
    """A grant for one call in that workspace; the envelope as given, and by default it reads the workspace."""
    real = os.path.realpath(str(workspace))
    envelope.setdefault("read", (real,))
    return Grant(session="s", call_id="c", tool="terminal", arguments={}, workspace=real, hash="", envelope=Envelope(**envelope))


def host_grant(*hosts: str) -> Grant:
    """A standing grant, as for a service that the owner configured."""
    return Grant(session="", call_id="", tool="", arguments={}, workspace="", hash="", envelope=Envelope(hosts=hosts, network=True))


def command_grant(workspace: object, **envelope: Any) -> Grant:
    """A grant to run programs that may write the workspace."""
    return grant(workspace, **{"execute": True, "write": (os.path.realpath(str(workspace)),), **envelope})
