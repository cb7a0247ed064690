"""The built-in tools, put together from what they work on."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from ..ports import Files, Sandbox, Secrets, Web
from ..tool import FunctionTool
from . import files as file_tools
from . import search
from .about import About, about_me
from .calculate import calculate
from .echo import echo
from .file_formats import FileFormats
from .near_names import NamingFiles
from .reading.read_as import ContentSources, ReadingSessions, read_as
from .secret_values import NO_SECRETS
from .stored_results import ResultSource, read_result
from .system import disk_info, network_info, process_list, process_signal, system_info
from .terminal import DEFAULTS, TerminalSettings, terminal
from .web_tools import http_check, web_fetch


def workspace_tools(
    files: Files,
    sandbox: Sandbox,
    clean_env: Mapping[str, str],
    settings: TerminalSettings = DEFAULTS,
    *,
    formats: FileFormats,
    secrets: Secrets = NO_SECRETS,
) -> list[FunctionTool]:
    """Tools on files and programs. `clean_env` is the whole environment of commands; `formats` takes text out of documents; `secrets` are given to calls
    that name them."""
    files = NamingFiles(files)
    made = (
        file_tools.read_file(files, formats),
        file_tools.list_files(files),
        search.find_files(files),
        search.search_files(files),
        file_tools.write_file(files, formats),
        file_tools.edit_file(files, formats),
        file_tools.delete_file(files),
        terminal(sandbox, clean_env, settings, secrets),
    )
    return _built_in(made)


def internet_tools(web: Web, formats: FileFormats, secrets: Secrets = NO_SECRETS) -> list[FunctionTool]:
    """Tools that fetch from the web."""
    return _built_in((web_fetch(web, formats, secrets), http_check(web)))


def reading_tools(made: Callable[[], ReadingSessions], files: Files, web: Web, formats: FileFormats) -> list[FunctionTool]:
    """The tool of reading mode."""
    return _built_in((read_as(ContentSources(made, NamingFiles(files), web, formats)),))


def own_tools(source: ResultSource, about: About, result_chars: int = 40_000) -> list[FunctionTool]:
    """Tools about the agent and its machine. `source` has shortened results; `result_chars` is `agent.max_tool_result_chars`."""
    return _built_in(
        (
            system_info,
            disk_info,
            network_info,
            process_list,
            process_signal,
            read_result(source, result_chars),
            calculate,
            echo,
            about_me(about),
        )
    )


def _built_in(tools: Iterable[FunctionTool]) -> list[FunctionTool]:
    """The tools, each marked as built in."""
    found = list(tools)
    for one in found:
        one.spec = msgspec.structs.replace(one.spec, built_in=True)
    return found
