"""Every attempt with its subject, who succeeds with it outside, and where it is known to be open."""

from typing import Literal

import msgspec

Subject = Literal["reading", "writing", "network", "sockets", "processes", "kernel", "terminal", "limits", "asking", "planting", "granted"]
Control = Literal["everyone", "root", "nobody"]


class Case(msgspec.Struct, frozen=True):
    """`outside`: who can do it without a sandbox on a usual machine, so that what holds is the sandbox. `why`: the reason where that is not everyone.

    `open`: sandboxes where it is possible, by name, with what that means.
    """

    subject: Subject
    outside: Control = "everyone"
    why: str = ""
    open: dict[str, str] = {}


def _of(subject: Subject, *names: str) -> dict[str, Case]:
    return dict.fromkeys(names, Case(subject))


def _for_root(subject: Subject, why: str, *names: str) -> dict[str, Case]:
    return dict.fromkeys(names, Case(subject, "root", why))


CASES: dict[str, Case] = {
    **_of(
        "reading",
        "read_key",
        "read_home",
        "list_home",
        "read_beside_the_workspace",
        "read_credentials_of_a_toolchain",
        "read_through_proc_root",
        "read_through_the_root_of_another_process",
        "read_through_the_directory_of_another_process",
        "read_an_open_file_of_another_process",
        "read_through_a_link",
        "read_through_a_hard_link",
        "read_an_inherited_descriptor",
        "read_with_another_kind_of_call",
    ),
    "read_by_file_handle": Case("reading", "root", "the kernel asks for CAP_DAC_READ_SEARCH"),
    "read_what_only_root_may": Case("reading", "root", "the mode of the file"),
    "make_a_device": Case("reading", "root", "the kernel asks for CAP_MKNOD"),
    **_of(
        "writing",
        "create_outside",
        "create_at_home",
        "overwrite_outside",
        "append_to_a_startup_file",
        "write_into_a_toolchain",
        "cut_by_path",
        "delete_outside",
        "rename_outside",
        "take_a_file_in",
        "carry_a_file_out",
        "make_a_directory_outside",
        "make_a_pipe_outside",
        "make_a_link_outside",
        "write_through_a_link",
        "write_through_a_bind_of_proc",
        "change_a_mode_outside",
        "change_a_mode_at_home",
        "change_a_mode_by_a_newer_call",
        "change_a_mode_through_a_link",
        "change_a_mode_through_proc",
        "change_a_mode_of_a_toolchain",
        "change_a_time_outside",
        "change_a_time_of_a_toolchain",
        "change_an_owner_outside",
        "set_an_attribute_outside",
        "set_an_attribute_of_a_toolchain",
        "set_the_flags_of_a_toolchain",
        "make_a_program_that_runs_with_your_rights",
        "create_a_program_that_runs_with_your_rights",
    ),
    "write_the_kernels_settings": Case("writing", "root", "the mode of the file"),
    "write_a_control_group": Case("writing", "root", "the mode of the file"),
    **_of(
        "network",
        "reach_a_service_of_this_machine",
        "reach_it_over_ipv6",
        "send_a_datagram",
        "listen_for_the_machine",
        "open_a_vsock",
        "listen_to_the_kernels_events",
    ),
    "open_a_raw_socket": Case("network", "root", "the kernel asks for CAP_NET_RAW"),
    "open_a_packet_socket": Case("network", "root", "the kernel asks for CAP_NET_RAW"),
    **_of(
        "sockets",
        "reach_a_unix_socket",
        "reach_a_unix_socket_at_home",
        "reach_a_unix_socket_of_a_toolchain",
        "reach_an_abstract_socket",
        "send_to_a_unix_datagram_socket",
        "turn_a_pair_of_sockets_outwards",
        "turn_a_raw_pair_of_sockets_outwards",
        "reach_a_unix_socket_through_a_link",
    ),
    "turn_a_pair_of_streams_outwards": Case("sockets", "nobody", "a connected stream cannot be connected anew"),
    **_of(
        "processes",
        "kill_another_process",
        "kill_by_descriptor",
        "trace_another_process",
        "read_the_memory_of_another_process",
        "copy_the_memory_of_another_process",
        "take_a_descriptor_of_another_process",
        "read_the_environment_of_another_process",
        "limit_another_process",
        "slow_another_process",
        "pin_another_process",
        "reschedule_another_process",
    ),
    "see_other_processes": Case(
        "processes", open={"landlock": "which programs run, and with which arguments, can be read; their environment and memory cannot"}
    ),
    **_of(
        "kernel",
        "take_a_key",
        "leave_a_key",
        "set_up_a_ring",
        "enter_a_user_namespace",
        "fork_into_a_user_namespace",
        "fork_into_a_user_namespace_by_a_newer_call",
        "watch_all_files",
        "switch_off_address_randomisation",
        "make_shared_memory",
        "open_a_message_queue",
        "read_named_shared_memory",
    ),
    "mount_a_file_system": Case("kernel", "root", "the kernel asks for CAP_SYS_ADMIN"),
    "open_a_file_system": Case("kernel", "root", "the kernel asks for CAP_SYS_ADMIN"),
    "change_the_root": Case("kernel", "root", "the kernel asks for CAP_SYS_CHROOT"),
    "load_a_program_into_the_kernel": Case("kernel", "root", "a setting of the kernel, switched off for users by default"),
    "count_events": Case("kernel", "root", "a setting of the kernel, switched off for users on many systems"),
    "handle_page_faults": Case("kernel", "root", "a setting of the kernel, switched off for users by default"),
    "name_the_machine": Case("kernel", "root", "the kernel asks for CAP_SYS_ADMIN"),
    "read_the_kernels_log": Case("kernel", "root", "a setting of the kernel, switched off for users on many systems"),
    **_of("terminal", "write_to_the_terminal", "type_into_the_terminal", "type_into_its_own_terminal"),
    **_of("limits", "make_more_processes_than_allowed", "take_more_memory_than_allowed", "fill_the_disk_with_one_file"),
    **_of(
        "planting",
        "plant_a_hook",
        "change_a_hook",
        "plant_a_hook_in_a_nested_repository",
        "plant_a_hook_in_a_submodule",
        "plant_a_hook_in_a_bare_repository",
        "make_a_file_that_is_run_on_entry",
        "make_a_task_of_the_editor",
        "write_instructions_for_the_agent",
        "include_settings_in_a_repository",
        "lead_a_worktree_elsewhere",
        "put_another_repository_in_its_place",
        "write_a_hook_through_another_name",
        "give_a_hook_another_name_and_write_it",
        "lead_hooks_elsewhere",
        "change_what_a_link_leads_to",
        "make_a_repository_with_a_hook",
    ),
    "ask_whether_a_hidden_file_is_there": Case(
        "asking", open={"landlock": "whether a path exists, how long the file is and when it was changed; never what it holds"}
    ),
    "follow_changes_in_a_home": Case("asking", open={"landlock": "that a file of that name was made, changed or removed; never what it holds"}),
}

CASES |= {
    **_of(
        "reading",
        "read_the_environment_of_the_agent",
        "read_the_memory_of_the_agent",
        "read_an_open_file_of_the_agent",
        "read_through_the_root_of_the_agent",
        "read_through_an_inherited_directory",
    ),
    **_for_root("reading", "the mode of the file", "open_the_disk", "read_the_kernels_memory", "read_the_kernels_messages"),
    **_of(
        "writing",
        "write_through_an_inherited_descriptor",
        "exchange_with_a_file_outside",
        "link_a_file_out",
        "link_a_nameless_file_out",
        "make_a_socket_outside",
        "race_a_change_of_mode",
    ),
    **_for_root("writing", "the mode of the file", "press_a_system_key", "switch_off_the_randomness_of_addresses", "replace_the_agent_of_control_groups"),
    **_of(
        "sockets",
        "race_a_connection",
        "reach_the_keeper_of_ssh_keys",
        "reach_the_keeper_of_gpg_keys",
        "reach_a_container_engine",
        "reach_the_display",
        "reach_the_display_by_its_abstract_name",
        "reach_the_session_bus",
        "send_to_an_abstract_datagram_socket",
        "answer_at_an_abstract_name",
    ),
    **_of(
        "processes",
        "write_the_memory_of_the_agent",
        "signal_the_agent",
        "signal_the_group_of_the_agent",
        "write_the_memory_of_another_process",
        "compare_two_processes",
        "ask_where_the_pages_of_another_process_lie",
        "queue_a_signal",
        "signal_a_thread",
        "follow_the_descriptors_of_another_process",
    ),
    **_of("kernel", "ask_for_quotas", "make_a_queue_of_messages", "gain_privileges_by_a_program"),
    **_for_root(
        "kernel",
        "the kernel asks for a capability",
        "copy_the_tree_of_mounts",
        "change_the_mount_of_the_root",
        "mount_one_place_over_another",
        "enter_the_namespaces_of_another_process",
        "enter_them_by_its_descriptor",
        "set_the_clock",
        "speed_up_the_clock",
        "hand_a_module_to_the_kernel",
        "take_a_module_from_the_kernel",
        "replace_the_kernel",
        "restart_the_machine",
        "take_away_swap",
        "switch_accounting_off",
        "speak_to_the_hardware",
        "have_capabilities",
    ),
    **_of("terminal", "read_what_is_typed", "change_the_modes_of_the_terminal", "take_the_foreground_of_the_terminal"),
    "paste_into_the_console": Case("terminal", "root", "the mode of the file"),
    **_of(
        "limits",
        "make_more_threads_than_allowed",
        "take_more_memory_in_several_processes",
        "raise_the_limit_of_a_file",
        "outlive_the_call_in_a_session_of_its_own",
        "outlive_the_call_by_forking_twice",
        "outlive_the_call_by_ignoring_signals",
        "outlive_the_call_by_leaving_its_parent_in_a_chain",
    ),
    **_for_root("limits", "the kernel asks for CAP_SYS_NICE", "raise_its_own_priority", "run_in_real_time"),
}

CASES |= {
    **_of(
        "granted",
        "reach_a_service_of_this_machine_by_the_proxy",
        "reach_it_by_another_name_for_it",
        "reach_it_over_ipv6_by_the_proxy",
        "reach_it_past_the_proxy",
    ),
    **dict.fromkeys(
        ("reach_the_metadata_service", "reach_a_host_that_was_not_named", "reach_another_port_of_the_host_that_was_named"),
        Case("granted", "nobody", "it is a place outside of this machine, which no test connects to"),
    ),
}
