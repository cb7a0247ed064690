"""The attempts themselves: a program (`attempting.py`) that knows nothing of the agent and runs wherever Python does.

Each function does one thing that a confined program must not be able to do, and returns when it was possible. What the kernel refuses raises `OSError`,
which is what "held" means; anything else is a mistake in the attempt.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import resource
import select
import signal
import socket
import struct
import subprocess
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
NUMBERS = {  # x86_64, aarch64
    "ptrace": (101, 117), "add_key": (248, 217), "keyctl": (250, 219), "mount": (165, 40), "unshare": (272, 97), "clone": (56, 220), "setns": (308, 268),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "io_uring_setup": (425, 425), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "process_vm_readv": (310, 270), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "shmget": (29, 194), "chroot": (161, 51),
    "mq_open": (240, 180), "sethostname": (170, 161), "clone3": (435, 435), "openat2": (437, 437), "quotactl": (179, 60), "syslog": (103, 116),
    "fanotify_init": (300, 262), "init_module": (175, 105), "kexec_load": (246, 104), "swapon": (167, 224), "acct": (163, 89), "pivot_root": (155, 41),
    "file_setattr": (469, 469), "fchmodat2": (452, 452), "kcmp": (312, 272), "personality": (135, 92), "move_mount": (429, 429), "fsopen": (430, 430),
    "setxattrat": (463, 463), "process_madvise": (440, 440), "ioprio_set": (251, 30), "pidfd_send_signal": (424, 424), "umount2": (166, 39),
}  # fmt: skip


def call(name: str, *arguments: Any) -> int:
    """A system call by its number, so that no library stands between."""
    wide = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = LIBC.syscall(ctypes.c_long(NUMBERS[name][0 if X86 else 1]), *wide)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(result)


# Reading


def read_key(c: dict[str, Any]) -> None:
    Path(c["home"], ".ssh/id").read_text()


def read_home(c: dict[str, Any]) -> None:
    Path(c["home"], "notes.txt").read_text()


def list_home(c: dict[str, Any]) -> None:
    if not set(os.listdir(c["home"])) >= {"notes.txt", ".ssh"}:
        raise OSError(errno.ENOENT, "another home")


def read_beside_the_workspace(c: dict[str, Any]) -> None:
    Path(c["outside"], "note").read_text()


def read_credentials_of_a_toolchain(c: dict[str, Any]) -> None:
    Path(c["home"], ".cargo/credentials.toml").read_text()


def read_through_proc_root(c: dict[str, Any]) -> None:
    Path("/proc/self/root" + c["home"], "notes.txt").read_text()


def read_through_the_root_of_another_process(c: dict[str, Any]) -> None:
    Path(f"/proc/{c['victim']}/root" + c["home"], "notes.txt").read_text()


def read_through_the_directory_of_another_process(c: dict[str, Any]) -> None:
    Path(f"/proc/{c['victim']}/cwd/notes.txt").read_text()


def read_an_open_file_of_another_process(c: dict[str, Any]) -> None:
    Path(f"/proc/{c['victim']}/fd/0").read_text()


def read_through_a_link(c: dict[str, Any]) -> None:
    os.symlink(c["home"] + "/notes.txt", "link")
    try:
        Path("link").read_text()
    finally:
        os.unlink("link")


def read_through_a_hard_link(c: dict[str, Any]) -> None:
    os.link(c["home"] + "/notes.txt", "hard")
    try:
        Path("hard").read_text()
    finally:
        os.unlink("hard")


def read_by_file_handle(c: dict[str, Any]) -> None:
    handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0) + bytes(128), 136)
    mounted = ctypes.c_int()
    call("name_to_handle_at", -100, os.fsencode(c["home"] + "/notes.txt"), handle, ctypes.byref(mounted), 0)
    root = os.open("/usr", os.O_RDONLY)
    descriptor = call("open_by_handle_at", root, handle, os.O_RDONLY)
    os.read(descriptor, 10)


def read_an_inherited_descriptor(c: dict[str, Any]) -> None:
    for number in range(3, 64):
        try:
            if os.pread(number, 6, 0) == b"secret":
                return
        except OSError:
            continue
    raise OSError(errno.EBADF, "none is open")


def read_what_only_root_may(c: dict[str, Any]) -> None:
    Path("/etc/shadow").read_text()


def make_a_device(c: dict[str, Any]) -> None:
    os.mknod("disk", 0o600 | 0o060000, int(c["disk"]))
    os.unlink("disk")


def read_with_another_kind_of_call(c: dict[str, Any]) -> None:
    """`open` of the 32-bit table through `int 0x80`; the path must lie in the lowest 4 GB."""
    place = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, prot=7)  # MAP_32BIT
    address = ctypes.addressof(ctypes.c_char.from_buffer(place))
    path = os.fsencode(c["home"] + "/notes.txt") + b"\0"
    code = b"\x53\xbb" + struct.pack("<I", address + 512) + b"\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3"  # push rbx; mov ebx, path; mov eax, getpid; int 0x80
    place[0 : len(code)] = code
    place[512 : 512 + len(path)] = path
    if ctypes.CFUNCTYPE(ctypes.c_int)(address)() != os.getpid():
        raise OSError(errno.ENOSYS, "no such table")


# Writing


def create_outside(c: dict[str, Any]) -> None:
    Path(c["outside"], "new").write_text("x")


def create_at_home(c: dict[str, Any]) -> None:
    Path(c["home"], "new").write_text("x")


def overwrite_outside(c: dict[str, Any]) -> None:
    Path(c["outside"], "note").write_text("x")


def append_to_a_startup_file(c: dict[str, Any]) -> None:
    with Path(c["home"], ".bashrc").open("a") as file:
        file.write("# x")


def write_into_a_toolchain(c: dict[str, Any]) -> None:
    Path(c["home"], ".local/bin/tool").write_text("x")


def cut_by_path(c: dict[str, Any]) -> None:
    os.truncate(c["outside"] + "/note", 1)


def delete_outside(c: dict[str, Any]) -> None:
    os.unlink(c["outside"] + "/old")


def rename_outside(c: dict[str, Any]) -> None:
    os.rename(c["outside"] + "/note", c["outside"] + "/other")


def take_a_file_in(c: dict[str, Any]) -> None:
    os.rename(c["outside"] + "/old2", "taken")


def carry_a_file_out(c: dict[str, Any]) -> None:
    Path("mine").write_text("x")
    os.rename("mine", c["outside"] + "/carried")


def make_a_directory_outside(c: dict[str, Any]) -> None:
    os.mkdir(c["outside"] + "/directory")


def make_a_pipe_outside(c: dict[str, Any]) -> None:
    os.mkfifo(c["outside"] + "/pipe")


def make_a_link_outside(c: dict[str, Any]) -> None:
    os.symlink("/etc/passwd", c["outside"] + "/symbolic")


def write_through_a_link(c: dict[str, Any]) -> None:
    os.symlink(c["outside"], "out")
    try:
        Path("out/through").write_text("x")
    finally:
        os.unlink("out")


def write_through_a_bind_of_proc(c: dict[str, Any]) -> None:
    Path("/proc/self/cwd/../outside/proc").write_text("x")


def change_a_mode_outside(c: dict[str, Any]) -> None:
    os.chmod(c["outside"] + "/note", 0o644)


def change_a_mode_at_home(c: dict[str, Any]) -> None:
    os.chmod(c["home"] + "/notes.txt", 0o644)


def change_a_mode_by_a_newer_call(c: dict[str, Any]) -> None:
    call("fchmodat2", -100, os.fsencode(c["outside"] + "/note"), 0o644, 0)


def change_a_mode_through_a_link(c: dict[str, Any]) -> None:
    os.symlink(c["outside"] + "/note", "moded")
    try:
        os.chmod("moded", 0o644)
    finally:
        os.unlink("moded")


def change_a_mode_through_proc(c: dict[str, Any]) -> None:
    place = os.open(c["outside"] + "/note", os.O_PATH)
    os.chmod(f"/proc/self/fd/{place}", 0o644)


def change_a_mode_of_a_toolchain(c: dict[str, Any]) -> None:
    """It may be read, so a descriptor can be had."""
    os.fchmod(os.open(c["home"] + "/.local/bin/tool", os.O_RDONLY), 0o755)


def change_a_time_outside(c: dict[str, Any]) -> None:
    os.utime(c["outside"] + "/note")


def change_a_time_of_a_toolchain(c: dict[str, Any]) -> None:
    os.utime(os.open(c["home"] + "/.local/bin/tool", os.O_RDONLY))


def change_an_owner_outside(c: dict[str, Any]) -> None:
    os.chown(c["outside"] + "/note", -1, os.getgid())


def set_an_attribute_outside(c: dict[str, Any]) -> None:
    os.setxattr(c["outside"] + "/note", "user.x", b"x")


def set_an_attribute_of_a_toolchain(c: dict[str, Any]) -> None:
    os.setxattr(os.open(c["home"] + "/.local/bin/tool", os.O_RDONLY), "user.x", b"x")


def set_the_flags_of_a_toolchain(c: dict[str, Any]) -> None:
    place = os.open(c["home"] + "/.local/bin/tool", os.O_RDONLY)
    flags = bytearray(8)
    fcntl.ioctl(place, 0x80086601, flags)
    fcntl.ioctl(place, 0x40086602, struct.pack("=Q", int.from_bytes(flags, "little") | 0x40))  # FS_NODUMP_FL


def make_a_program_that_runs_with_your_rights(c: dict[str, Any]) -> None:
    """Whoever starts it: set-user-ID."""
    Path("suid").write_text("x")
    os.chmod("suid", 0o4755)


def create_a_program_that_runs_with_your_rights(c: dict[str, Any]) -> None:
    os.umask(0)
    os.close(os.open("suid2", os.O_CREAT | os.O_WRONLY, 0o4755))
    if not os.stat("suid2").st_mode & 0o4000:
        raise OSError(errno.EPERM, "the bit was dropped")


def fill_the_disk_with_one_file(c: dict[str, Any]) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with open("large", "wb") as file:
        try:
            file.truncate(9 << 30)
        finally:
            file.truncate(0)


def write_the_kernels_settings(c: dict[str, Any]) -> None:
    os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))


def write_a_control_group(c: dict[str, Any]) -> None:
    for name in ("pids/tasks", "cgroup.procs"):
        if os.path.exists(f"/sys/fs/cgroup/{name}"):
            os.close(os.open(f"/sys/fs/cgroup/{name}", os.O_WRONLY))
            return
    raise OSError(errno.ENOENT, "none is there")


# Network


def reach_a_service_of_this_machine(c: dict[str, Any]) -> None:
    socket.create_connection(("127.0.0.1", c["tcp"]), 2).close()


def reach_it_over_ipv6(c: dict[str, Any]) -> None:
    socket.create_connection(("::1", c["tcp6"]), 2).close()


def send_a_datagram(c: dict[str, Any]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        sending.settimeout(2)
        sending.connect(("127.0.0.1", c["udp"]))
        sending.send(b"hello")
        sending.recv(10)


def listen_for_the_machine(c: dict[str, Any]) -> None:
    """Another process outside tries to connect, and says by a file whether it could."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        Path("listening").write_text(str(server.getsockname()[1]))
        server.settimeout(1)
        server.accept()


def open_a_raw_socket(c: dict[str, Any]) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()


def open_a_packet_socket(c: dict[str, Any]) -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()


def open_a_vsock(c: dict[str, Any]) -> None:
    socket.socket(40, socket.SOCK_STREAM).close()


def listen_to_the_kernels_events(c: dict[str, Any]) -> None:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15).close()  # NETLINK_KOBJECT_UEVENT


def reach_a_unix_socket(c: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(c["outside"] + "/socket")


def reach_a_unix_socket_at_home(c: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(c["home"] + "/socket")


def reach_a_unix_socket_of_a_toolchain(c: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(c["home"] + "/.local/bin/socket")


def reach_an_abstract_socket(c: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + c["abstract"])


def send_to_a_unix_datagram_socket(c: dict[str, Any]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(b"hello", c["outside"] + "/datagram")


def turn_a_pair_of_sockets_outwards(c: dict[str, Any]) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.connect(c["outside"] + "/datagram")
    one.send(b"hello")


def turn_a_raw_pair_of_sockets_outwards(c: dict[str, Any]) -> None:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
    one.connect(c["outside"] + "/datagram")
    one.send(b"hello")


def reach_a_unix_socket_through_a_link(c: dict[str, Any]) -> None:
    os.symlink(c["outside"] + "/socket", "linked")
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect("linked")
    finally:
        os.unlink("linked")


def turn_a_pair_of_streams_outwards(c: dict[str, Any]) -> None:
    one, _ = socket.socketpair()
    one.connect(c["outside"] + "/socket")


# Other processes


def kill_another_process(c: dict[str, Any]) -> None:
    os.kill(c["victim"], signal.SIGCONT)


def kill_by_descriptor(c: dict[str, Any]) -> None:
    call("pidfd_send_signal", call("pidfd_open", c["victim"], 0), int(signal.SIGCONT), None, 0)


def trace_another_process(c: dict[str, Any]) -> None:
    call("ptrace", 0x4206, c["victim"], None, None)  # PTRACE_SEIZE
    call("ptrace", 0x4207, c["victim"], None, None)


def read_the_memory_of_another_process(c: dict[str, Any]) -> None:
    with open(f"/proc/{c['victim']}/mem", "rb"):
        return


def copy_the_memory_of_another_process(c: dict[str, Any]) -> None:
    with open(f"/proc/{c['victim']}/maps") as file:
        start = int(file.readline().split("-")[0], 16)
    data = ctypes.create_string_buffer(8)
    call("process_vm_readv", c["victim"], struct.pack("=QQ", ctypes.addressof(data), 8), 1, struct.pack("=QQ", start, 8), 1, 0)


def take_a_descriptor_of_another_process(c: dict[str, Any]) -> None:
    call("pidfd_getfd", call("pidfd_open", c["victim"], 0), 0, 0)


def read_the_environment_of_another_process(c: dict[str, Any]) -> None:
    Path(f"/proc/{c['victim']}/environ").read_bytes()


def limit_another_process(c: dict[str, Any]) -> None:
    resource.prlimit(c["victim"], resource.RLIMIT_NOFILE, (900, 1000))


def slow_another_process(c: dict[str, Any]) -> None:
    os.setpriority(os.PRIO_PROCESS, c["victim"], 5)


def pin_another_process(c: dict[str, Any]) -> None:
    os.sched_setaffinity(c["victim"], os.sched_getaffinity(c["victim"]))


def reschedule_another_process(c: dict[str, Any]) -> None:
    os.sched_setscheduler(c["victim"], os.SCHED_BATCH, os.sched_param(0))


def see_other_processes(c: dict[str, Any]) -> None:
    if b"sleep" not in Path(f"/proc/{c['victim']}/cmdline").read_bytes():
        raise OSError(errno.ENOENT, "another process")


def make_more_processes_than_allowed(c: dict[str, Any]) -> None:
    made: list[int] = []
    try:
        for _ in range(700):
            pid = os.fork()
            if pid == 0:
                signal.pause()
                os._exit(0)
            made.append(pid)
        select.select([], [], [], 0.5)  # an ordinary user's processes are counted every 50 ms
    finally:
        for pid in made:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def take_more_memory_than_allowed(c: dict[str, Any]) -> None:
    mmap.mmap(-1, 3 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()


# The kernel


def take_a_key(c: dict[str, Any]) -> None:
    data = ctypes.create_string_buffer(64)
    call("keyctl", 11, c["key"], data, 64, 0)  # KEYCTL_READ


def leave_a_key(c: dict[str, Any]) -> None:
    call("add_key", b"user", b"left", b"x", 1, -4)  # KEY_SPEC_USER_KEYRING


def set_up_a_ring(c: dict[str, Any]) -> None:
    os.close(call("io_uring_setup", 4, ctypes.create_string_buffer(120)))


def enter_a_user_namespace(c: dict[str, Any]) -> None:
    call("unshare", 0x10000000)


def fork_into_a_user_namespace(c: dict[str, Any]) -> None:
    pid = call("clone", 0x10000000 | int(signal.SIGCHLD), 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def fork_into_a_user_namespace_by_a_newer_call(c: dict[str, Any]) -> None:
    pid = call("clone3", struct.pack("=11Q", 0x10000000, 0, 0, 0, int(signal.SIGCHLD), 0, 0, 0, 0, 0, 0), 88)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def mount_a_file_system(c: dict[str, Any]) -> None:
    os.makedirs("mounted", exist_ok=True)
    call("mount", b"none", b"mounted", b"tmpfs", 0, None)
    call("umount2", b"mounted", 0)


def open_a_file_system(c: dict[str, Any]) -> None:
    os.close(call("fsopen", b"tmpfs", 0))


def change_the_root(c: dict[str, Any]) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            call("chroot", b"/usr")
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))


def load_a_program_into_the_kernel(c: dict[str, Any]) -> None:
    os.close(call("bpf", 0, struct.pack("=5I", 2, 4, 4, 1, 0) + bytes(100), 120))  # BPF_MAP_CREATE of an array


def count_events(c: dict[str, Any]) -> None:
    attributes = struct.pack("=IIQ", 1, 112, 1) + bytes(24) + struct.pack("=Q", 1 << 5 | 1 << 6) + bytes(64)  # a task clock, user space only
    os.close(call("perf_event_open", attributes, 0, -1, -1, 0))


def handle_page_faults(c: dict[str, Any]) -> None:
    os.close(call("userfaultfd", 0))


def watch_all_files(c: dict[str, Any]) -> None:
    os.close(call("fanotify_init", 0x200, 0))  # FAN_REPORT_FID: no capability is needed


def name_the_machine(c: dict[str, Any]) -> None:
    name = platform.node().encode()
    call("sethostname", name, len(name))


def read_the_kernels_log(c: dict[str, Any]) -> None:
    call("syslog", 3, ctypes.create_string_buffer(100), 100)


def switch_off_address_randomisation(c: dict[str, Any]) -> None:
    call("personality", 0x0040000)


def make_shared_memory(c: dict[str, Any]) -> None:
    """The segment of another process, by its key."""
    call("shmget", c["shm"], 0, 0)


def open_a_message_queue(c: dict[str, Any]) -> None:
    os.close(call("mq_open", c["queue"].encode(), os.O_RDONLY, 0, None))


def read_named_shared_memory(c: dict[str, Any]) -> None:
    Path("/dev/shm", c["segment"]).read_text()


# Terminal


def write_to_the_terminal(c: dict[str, Any]) -> None:
    with open(c["terminal"], "wb") as file:
        file.write(b"\x1b]0;x\x07")


def type_into_the_terminal(c: dict[str, Any]) -> None:
    place = os.open(c["terminal"], os.O_RDWR | os.O_NOCTTY)
    fcntl.ioctl(place, 0x5412, b"x")  # TIOCSTI


def type_into_its_own_terminal(c: dict[str, Any]) -> None:
    place = os.open("/dev/tty", os.O_RDWR)
    fcntl.ioctl(place, 0x5412, b"x")


# What is asked for only


def ask_whether_a_hidden_file_is_there(c: dict[str, Any]) -> None:
    os.stat(c["home"] + "/notes.txt")


def follow_changes_in_a_home(c: dict[str, Any]) -> None:
    watch = LIBC.inotify_init1(0)
    if LIBC.inotify_add_watch(watch, os.fsencode(c["home"]), 0x100) < 0:
        raise OSError(ctypes.get_errno(), "watch")
    if "notes.txt" not in subprocess.run(["ls", c["home"]], capture_output=True, text=True, check=False).stdout and not os.path.exists(
        c["home"] + "/notes.txt"
    ):
        raise OSError(errno.ENOENT, "another home")
