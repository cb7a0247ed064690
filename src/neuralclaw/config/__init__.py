"""The settings: frozen values from `config.yaml`, `.env`, the environment and the command line. Only `app` and `cli` import this."""

from . import process
from .choose import choose_model
from .editors import schema
from .effective import effective
from .kept import refuse_caps
from .load import Asked, Loaded, Value, load, places, target
from .secretvalues import secret_values
from .sections import Extensions, LeftOut
from .settings import Settings
from .translate import absolute, limits, policy

__all__ = [
    "Asked",
    "Extensions",
    "LeftOut",
    "Loaded",
    "Settings",
    "Value",
    "absolute",
    "choose_model",
    "effective",
    "limits",
    "load",
    "places",
    "policy",
    "process",
    "refuse_caps",
    "schema",
    "secret_values",
    "target",
]
