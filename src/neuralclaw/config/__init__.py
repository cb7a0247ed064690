"""The settings: frozen values from `config.yaml`, `.env`, the environment and the command line. Only `app` and `cli` import this."""

from . import process_environment
from .checked_examples import with_checked_examples
from .directories import data_directories, data_places, state_directory
from .editors import schema
from .effective import effective
from .load import LoadedSettings, SettingsRequest, SettingValue, defaults_beside, enabled_names, load, section_alone, target
from .model_choice import choose_model
from .secretvalues import secret_values
from .sections import Extensions, LeftOut, with_sections
from .settings import BudgetSection, Settings
from .tool_names import BUILT_IN_TOOLS
from .translate import absolute, limits, policy

__all__ = [
    "BUILT_IN_TOOLS",
    "BudgetSection",
    "Extensions",
    "LeftOut",
    "LoadedSettings",
    "SettingValue",
    "Settings",
    "SettingsRequest",
    "absolute",
    "choose_model",
    "data_directories",
    "data_places",
    "defaults_beside",
    "effective",
    "enabled_names",
    "limits",
    "load",
    "policy",
    "process_environment",
    "schema",
    "secret_values",
    "section_alone",
    "state_directory",
    "target",
    "with_checked_examples",
    "with_sections",
]
