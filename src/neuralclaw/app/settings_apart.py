"""Settings for a home of its own, as trials of models and live checks need one: the person's stays untouched."""

import copy
from pathlib import Path

from .. import config


def settings_apart(loaded: config.LoadedSettings, home: Path, settings: config.Settings) -> config.LoadedSettings:
    """What was loaded, with other settings in another home: no program sees into the person's, and anchors lie below `state` beside it."""
    apart = copy.copy(loaded)
    apart.home, apart.hidden, apart.settings = str(home), (loaded.home,), settings
    apart.asked = loaded.asked._replace(home=str(home), environ={**loaded.asked.environ, "XDG_STATE_HOME": str(home.parent / "state")})
    return apart
