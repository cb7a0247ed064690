"""The environment of this process, for those who may not read it themselves: `app` and `cli` take it from here."""

import os
from collections.abc import Mapping

environ: Mapping[str, str] = os.environ
