"""The settings: frozen values from `config.yaml`, `.env`, the environment and the command line. Only `app` and `cli` import this."""

from .choose import choose_model
from .editors import schema
from .load import Loaded, Value, load, places, target
from .settings import Settings
from .translate import limits, policy

__all__ = ["Loaded", "Settings", "Value", "choose_model", "limits", "load", "places", "policy", "schema", "target"]
