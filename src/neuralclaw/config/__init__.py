"""The settings: frozen values from `config.yaml`, `.env`, the environment and the command line. Only `app` and `cli` import this."""

from . import process
from .choose import choose_model
from .editors import schema
from .load import Loaded, Value, load, places, target
from .secretvalues import secret_values
from .settings import Settings
from .translate import absolute, limits, policy

__all__ = ["Loaded", "Settings", "Value", "absolute", "choose_model", "limits", "load", "places", "policy", "process", "schema", "secret_values", "target"]
