"""Where a container engine listens, found without loading what speaks to it: most machines have none."""

import os
from collections.abc import Mapping

UNIX = "unix://"
NO_ENGINE = "no container engine was found"
INSTALL = "install Docker or Podman and start it, such as: sudo apt-get install docker.io"
_MACHINE = ("/var/run/docker.sock", "/run/podman/podman.sock")
_PERSON = ("docker.sock", "podman/podman.sock")
"""Below XDG_RUNTIME_DIR, for engines of one person."""


def engine_socket(env: Mapping[str, str]) -> str:
    """What DOCKER_HOST says, else `unix://` and the first socket that is there; "" for none."""
    if named := env.get("DOCKER_HOST", ""):
        return named
    own = env.get("XDG_RUNTIME_DIR", "")
    places = (*(os.path.join(own, name) for name in _PERSON if own), *_MACHINE)
    return next((f"{UNIX}{path}" for path in places if os.path.exists(path)), "")
