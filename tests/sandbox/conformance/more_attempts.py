"""More attempts, as in `attempts.py`: the agent itself, what its process hands on, the rarer calls of the kernel, limits that are evaded, and races."""

import ctypes
import errno
import fcntl
import os
import resource
import select
import signal
import socket
import struct
import termios
import threading
import time
from pathlib import Path
from typing import Any

from . import attempts
from .attempts import X86, call

attempts.NUMBERS.update(
    {  # x86_64, aarch64
        "open_tree": (428, 428), "mount_setattr": (442, 442), "process_vm_writev": (311, 271), "move_pages": (279, 239), "clock_settime": (227, 112),
        "adjtimex": (159, 171), "rt_sigqueueinfo": (129, 138), "tgkill": (234, 131), "renameat2": (316, 276), "reboot": (169, 142), "ioperm": (173, 173),
        "delete_module": (176, 106), "swapoff": (168, 225), "msgget": (68, 186), "capset": (126, 91),
    }
)  # fmt: skip


def reached(name: str, *arguments: Any) -> None:
    """The call was let through to the kernel's own judgement of its arguments, which are wrong, so that nothing happens."""
    try:
        call(name, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            raise


# What the agent's process has


def read_the_environment_of_the_agent(c: dict[str, Any]) -> None:
    Path(f"/proc/{c['agent']}/environ").read_bytes()


def read_the_memory_of_the_agent(c: dict[str, Any]) -> None:
    with open(f"/proc/{c['agent']}/mem", "rb"):
        return


def read_an_open_file_of_the_agent(c: dict[str, Any]) -> None:
    Path(f"/proc/{c['agent']}/fd/{c['opened']}").read_text()


def read_through_the_root_of_the_agent(c: dict[str, Any]) -> None:
    Path(f"/proc/{c['agent']}/root{c['home']}/notes.txt").read_text()


def write_the_memory_of_the_agent(c: dict[str, Any]) -> None:
    os.close(os.open(f"/proc/{c['agent']}/mem", os.O_RDWR))


def signal_the_agent(c: dict[str, Any]) -> None:
    os.kill(c["agent"], signal.SIGCONT)


def signal_the_group_of_the_agent(c: dict[str, Any]) -> None:
    os.killpg(c["group"], signal.SIGCONT)


def read_through_an_inherited_directory(c: dict[str, Any]) -> None:
    for number in range(3, 64):
        try:
            os.close(os.open("notes.txt", os.O_RDONLY, dir_fd=number))
        except OSError:
            continue
        return
    raise OSError(errno.EBADF, "none is open")


def write_through_an_inherited_descriptor(c: dict[str, Any]) -> None:
    for number in range(3, 64):
        try:
            if os.pread(number, 6, 0) == b"record":
                os.pwrite(number, b"forged", 0)
                return
        except OSError:
            continue
    raise OSError(errno.EBADF, "none is open")


# Other processes


def write_the_memory_of_another_process(c: dict[str, Any]) -> None:
    """Nowhere: eight bytes to the address 0, which a process that may be written answers with EFAULT."""
    data = ctypes.create_string_buffer(8)
    reached("process_vm_writev", c["victim"], struct.pack("=QQ", ctypes.addressof(data), 8), 1, struct.pack("=QQ", 0, 8), 1, 0)


def compare_two_processes(c: dict[str, Any]) -> None:
    call("kcmp", c["victim"], c["agent"], 1, 0, 0)


def ask_where_the_pages_of_another_process_lie(c: dict[str, Any]) -> None:
    reached("move_pages", c["victim"], 1, struct.pack("=Q", 0), None, ctypes.create_string_buffer(4), 0)


def queue_a_signal(c: dict[str, Any]) -> None:
    call("rt_sigqueueinfo", c["victim"], int(signal.SIGCONT), struct.pack("=3i", int(signal.SIGCONT), 0, -1) + bytes(116))


def signal_a_thread(c: dict[str, Any]) -> None:
    call("tgkill", c["victim"], c["victim"], int(signal.SIGCONT))


def follow_the_descriptors_of_another_process(c: dict[str, Any]) -> None:
    os.readlink(f"/proc/{c['victim']}/cwd")


# Writing


def exchange_with_a_file_outside(c: dict[str, Any]) -> None:
    Path("mine2").write_text("x")
    call("renameat2", -100, b"mine2", -100, os.fsencode(c["outside"] + "/old2"), 2)


def link_a_file_out(c: dict[str, Any]) -> None:
    Path("mine3").write_text("x")
    os.link("mine3", c["outside"] + "/linked")


def link_a_nameless_file_out(c: dict[str, Any]) -> None:
    made = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o600)
    if attempts.LIBC.linkat(-100, f"/proc/self/fd/{made}".encode(), -100, os.fsencode(c["outside"] + "/nameless"), 0x400) < 0:  # AT_SYMLINK_FOLLOW
        raise OSError(ctypes.get_errno(), "linkat")


def make_a_socket_outside(c: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(c["outside"] + "/mine")


def race_a_change_of_mode(c: dict[str, Any]) -> None:
    """A link that points now inside, now outside, while the mode of what it points to is changed."""
    _race(c["outside"] + "/note", lambda: os.chmod("raced", 0o640))
    if os.stat(c["outside"] + "/note").st_mode & 0o777 != 0o640:
        raise OSError(errno.EPERM, "it never hit")


def race_a_connection(c: dict[str, Any]) -> None:
    """The same with a socket: one of ours, at which nobody listens, and one outside."""
    hit: list[bool] = []

    def connect() -> None:
        if hit:
            return  # its queue is short
        with socket.socket(socket.AF_UNIX) as client:
            client.connect("raced")
            hit.append(True)

    _race(c["outside"] + "/socket", connect)
    if not hit:
        raise OSError(errno.ECONNREFUSED, "it never hit")


def _race(target: str, act: Any) -> None:
    Path("own").write_text("x")
    stop = time.monotonic() + 0.7

    def turn() -> None:
        while time.monotonic() < stop:
            for to in ("own", target):
                os.symlink(to, "turning")
                os.rename("turning", "raced")

    turning = threading.Thread(target=turn)
    os.symlink("own", "raced")
    turning.start()
    while time.monotonic() < stop:
        try:
            act()
        except OSError:
            continue
    turning.join()


def press_a_system_key(c: dict[str, Any]) -> None:
    os.close(os.open("/proc/sysrq-trigger", os.O_WRONLY))


def switch_off_the_randomness_of_addresses(c: dict[str, Any]) -> None:
    os.close(os.open("/proc/sys/kernel/randomize_va_space", os.O_WRONLY))


def replace_the_agent_of_control_groups(c: dict[str, Any]) -> None:
    """Started by the kernel as root (version 1)."""
    for name in ("pids", "memory", "systemd"):
        if os.path.exists(f"/sys/fs/cgroup/{name}/release_agent"):
            os.close(os.open(f"/sys/fs/cgroup/{name}/release_agent", os.O_WRONLY))
            return
    raise OSError(errno.ENOENT, "none is there")


def open_the_disk(c: dict[str, Any]) -> None:
    about = Path(f"/sys/dev/block/{os.major(c['disk'])}:{os.minor(c['disk'])}/uevent").read_text()
    name = next(line.partition("=")[2] for line in about.splitlines() if line.startswith("DEVNAME="))
    os.close(os.open(f"/dev/{name}", os.O_RDONLY))


def read_the_kernels_memory(c: dict[str, Any]) -> None:
    os.close(os.open("/proc/kcore", os.O_RDONLY))


def read_the_kernels_messages(c: dict[str, Any]) -> None:
    os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))


# Sockets where programs have them


def _reach(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(address)


def reach_the_keeper_of_ssh_keys(c: dict[str, Any]) -> None:
    _reach(c["sockets"]["ssh"])


def reach_the_keeper_of_gpg_keys(c: dict[str, Any]) -> None:
    _reach(c["sockets"]["gpg"])


def reach_a_container_engine(c: dict[str, Any]) -> None:
    _reach(c["sockets"]["engine"])


def reach_the_display(c: dict[str, Any]) -> None:
    _reach(c["sockets"]["display"])


def reach_the_display_by_its_abstract_name(c: dict[str, Any]) -> None:
    _reach("\0" + c["sockets"]["display"])


def reach_the_session_bus(c: dict[str, Any]) -> None:
    _reach(c["sockets"]["bus"])


def send_to_an_abstract_datagram_socket(c: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(b"hello", "\0" + c["abstract"] + "-datagram")


def answer_at_an_abstract_name(c: dict[str, Any]) -> None:
    """Another process outside connects to it, and takes it for the service of that name."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + c["abstract"] + "-mine")
        server.listen()
        server.settimeout(1)
        server.accept()


# The kernel


def copy_the_tree_of_mounts(c: dict[str, Any]) -> None:
    os.close(call("open_tree", -100, b"/usr", 1))  # OPEN_TREE_CLONE


def change_the_mount_of_the_root(c: dict[str, Any]) -> None:
    call("mount_setattr", -100, b"/", 0, bytes(32), 32)  # nothing is set


def mount_one_place_over_another(c: dict[str, Any]) -> None:
    os.makedirs("place", exist_ok=True)
    call("mount", os.fsencode(c["outside"]), b"place", None, 4096, None)  # MS_BIND
    call("umount2", b"place", 0)


def enter_the_namespaces_of_another_process(c: dict[str, Any]) -> None:
    place = os.open(f"/proc/{c['agent']}/ns/uts", os.O_RDONLY)
    call("setns", place, 0)


def enter_them_by_its_descriptor(c: dict[str, Any]) -> None:
    call("setns", call("pidfd_open", c["victim"], 0), 0x04000000)  # CLONE_NEWUTS


def set_the_clock(c: dict[str, Any]) -> None:
    now = time.clock_gettime_ns(time.CLOCK_REALTIME)
    call("clock_settime", 0, struct.pack("=2q", now // 10**9, now % 10**9))


def speed_up_the_clock(c: dict[str, Any]) -> None:
    reached("adjtimex", struct.pack("=I4x", 0x4000) + bytes(200))  # ADJ_TICK, with a length that is out of range


def hand_a_module_to_the_kernel(c: dict[str, Any]) -> None:
    reached("init_module", None, 0, b"")


def take_a_module_from_the_kernel(c: dict[str, Any]) -> None:
    reached("delete_module", b"there_is_no_such_module", 0x800)


def replace_the_kernel(c: dict[str, Any]) -> None:
    reached("kexec_load", 0, 1000, None, 0)


def restart_the_machine(c: dict[str, Any]) -> None:
    reached("reboot", 0, 0, 0, None)


def take_away_swap(c: dict[str, Any]) -> None:
    reached("swapoff", b"/there/is/none")


def switch_accounting_off(c: dict[str, Any]) -> None:
    call("acct", None)


def ask_for_quotas(c: dict[str, Any]) -> None:
    call("quotactl", 0x800001 << 8, None, 0, None)  # Q_SYNC


def speak_to_the_hardware(c: dict[str, Any]) -> None:
    if not X86:
        raise OSError(errno.ENOSYS, "no ports")
    call("ioperm", 0x80, 1, 1)


def make_a_queue_of_messages(c: dict[str, Any]) -> None:
    """The queue of another process, by its key."""
    call("msgget", c["shm"], 0)


def have_capabilities(c: dict[str, Any]) -> None:
    _from_status("CapEff", lambda value: int(value, 16))


def gain_privileges_by_a_program(c: dict[str, Any]) -> None:
    """One with a set-user-ID bit or file capabilities, such as `su`."""
    _from_status("NoNewPrivs", lambda value: value == "0")


def _from_status(name: str, holds: Any) -> None:
    lines = Path("/proc/self/status").read_text().splitlines()
    if not holds(next(line.split()[1] for line in lines if line.startswith(f"{name}:"))):
        raise OSError(errno.EPERM, name)


# Terminal


def read_what_is_typed(c: dict[str, Any]) -> None:
    os.close(os.open(c["terminal"], os.O_RDONLY | os.O_NOCTTY))


def change_the_modes_of_the_terminal(c: dict[str, Any]) -> None:
    place = os.open(c["terminal"], os.O_RDWR | os.O_NOCTTY)
    termios.tcsetattr(place, termios.TCSANOW, termios.tcgetattr(place))


def take_the_foreground_of_the_terminal(c: dict[str, Any]) -> None:
    place = os.open(c["terminal"], os.O_RDWR | os.O_NOCTTY)
    os.setpgid(0, 0)
    os.tcsetpgrp(place, os.getpid())


def paste_into_the_console(c: dict[str, Any]) -> None:
    place = os.open("/dev/tty0", os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(place, 0x541C, bytes((3,)))  # TIOCLINUX, TIOCL_PASTESEL


# Limits


def make_more_threads_than_allowed(c: dict[str, Any]) -> None:
    threading.stack_size(64 * 1024)
    stop = threading.Event()
    made: list[threading.Thread] = []
    try:
        for _ in range(900):
            made.append(threading.Thread(target=stop.wait, daemon=True))
            made[-1].start()
        select.select([], [], [], 0.5)
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, str(error)) from error
    finally:
        stop.set()


def take_more_memory_in_several_processes(c: dict[str, Any]) -> None:
    """Four times 600 MB, each of which is allowed."""
    made: list[int] = []
    ready, told = os.pipe()
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            data = bytearray(600 << 20)
            data[:: resource.getpagesize()] = bytes(len(data[:: resource.getpagesize()]))
            os.write(told, b"r")
            signal.pause()
        made.append(pid)
    try:
        got = b""
        while len(got) < 4 and select.select([ready], [], [], 12)[0]:
            got += os.read(ready, 4)
        select.select([], [], [], 0.3)
        if len(got) < 4 or any(os.waitpid(pid, os.WNOHANG)[0] for pid in made):
            raise OSError(errno.ENOMEM, "one was ended")
    finally:
        for pid in made:
            os.kill(pid, signal.SIGKILL)


def raise_its_own_priority(c: dict[str, Any]) -> None:
    os.setpriority(os.PRIO_PROCESS, 0, -5)


def run_in_real_time(c: dict[str, Any]) -> None:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def raise_the_limit_of_a_file(c: dict[str, Any]) -> None:
    """To what the agent itself may write."""
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except ValueError as error:
        raise OSError(errno.EPERM, str(error)) from error


def _outlive(leave: Any) -> None:
    if os.fork() == 0:
        leave()
        for number in range(3):
            os.close(number)
        select.select([], [], [], 0.4)
        Path("outlived").write_text("x")
        os._exit(0)


def outlive_the_call_in_a_session_of_its_own(c: dict[str, Any]) -> None:
    _outlive(os.setsid)


def outlive_the_call_by_forking_twice(c: dict[str, Any]) -> None:
    def leave() -> None:
        os.setsid()
        if os.fork():
            os._exit(0)

    _outlive(leave)


def outlive_the_call_by_ignoring_signals(c: dict[str, Any]) -> None:
    def leave() -> None:
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    _outlive(leave)


def outlive_the_call_by_leaving_its_parent_in_a_chain(c: dict[str, Any]) -> None:
    """Each process starts the next and ends, faster than a list of processes is read."""

    def leave() -> None:
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)

    _outlive(leave)
