"""The settings: frozen values from `config.yaml`, `.env`, the environment and the command line. Only `app` and `cli` import this."""

from . import process_environment
from .editors import schema
from .effective import effective
from .load import LoadedSettings, SettingsRequest, SettingValue, data_directories, enabled_names, load, target
from .model_choice import choose_model
from .secretvalues import secret_values
from .sections import Extensions, LeftOut, with_sections
from .setting_support import refuse_caps
from .settings import Settings
from .translate import absolute, limits, policy

__all__ = [
    "Extensions",
    "LeftOut",
    "LoadedSettings",
    "SettingValue",
    "Settings",
    "SettingsRequest",
    "absolute",
    "choose_model",
    "data_directories",
    "effective",
    "enabled_names",
    "limits",
    "load",
    "policy",
    "process_environment",
    "refuse_caps",
    "schema",
    "secret_values",
    "target",
    "with_sections",
]
