"""The names of the built-in tools, for settings that name them before any tool is loaded."""

BUILT_IN_TOOLS = frozenset(
    "read_file file_read list_files find_files search_files write_file file_write edit_file delete_file terminal bash web_fetch http_check read_as"
    " system_info info disk_info network_info process_list process_signal read_result calculate echo about_me".split()
)
"""Names and aliases."""
