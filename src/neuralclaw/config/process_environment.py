"""The environment of this process, for those who may not read it themselves: `app` and `cli` take it from here."""

import os
from collections.abc import Mapping

ours = False
"""Whether this process is the program `neuralclaw` and not one that uses the Python API: then all of its logging is ours."""

environ: Mapping[str, str] = os.environ
