"""Programs that run another program given in their arguments, as data, and how the inner command is found."""

from collections.abc import Sequence

import msgspec

from .shell_words import ShellWord


class Wrapper(msgspec.Struct, frozen=True):
    """How a wrapper's own arguments end. `flags` and `valued` are short options without and with a value, `long_valued` long ones
    whose value may stand apart; `skip` operands stand before the inner command; `joined`: the rest is shell text."""

    flags: str = ""
    valued: str = ""
    long_flags: tuple[str, ...] = ()
    long_valued: tuple[str, ...] = ()
    skip: int = 0
    joined: bool = False


PLAIN = Wrapper()

WRAPPERS: dict[str, Wrapper] = {
    "env": Wrapper("i0v", "uC", ("ignore-environment", "null", "debug"), ("unset", "chdir")),
    "timeout": Wrapper("fpv", "ks", ("preserve-status", "foreground", "verbose"), ("kill-after", "signal"), skip=1),
    "gtimeout": Wrapper("fpv", "ks", (), ("kill-after", "signal"), skip=1),
    "nice": Wrapper("", "n", (), ("adjustment",)),
    "nohup": PLAIN,
    "time": Wrapper("pvV", "f", ("portability", "verbose"), ("format",)),
    "stdbuf": Wrapper("", "ioe", (), ("input", "output", "error")),
    "setsid": Wrapper("cfw", "", ("ctty", "fork", "wait")),
    "ionice": Wrapper("t", "cn", (), ("class", "classdata")),
    "taskset": Wrapper("ac", "", ("all-tasks", "cpu-list"), (), skip=1),
    "chrt": Wrapper("bfiorRam", "", (), (), skip=1),
    "exec": Wrapper("cl", "a"),
    "command": Wrapper("p"),
    "builtin": PLAIN,
    "busybox": PLAIN,
    "toybox": PLAIN,
    "coproc": PLAIN,
    "unbuffer": Wrapper("p"),
    "nocache": Wrapper("", "n"),
    "setarch": Wrapper("R", "", (), (), skip=1),
    "linux32": Wrapper("R"),
    "linux64": Wrapper("R"),
    "prlimit": PLAIN,
    "numactl": Wrapper("", "CNmipl"),
    "fakeroot": PLAIN,
    "proot": PLAIN,
    "strace": Wrapper("fcqtTyv", "eps"),
    "ltrace": Wrapper("fcS", "eps"),
    "flock": Wrapper("senuFo", "wE", ("shared", "exclusive", "nonblock", "unlock"), ("timeout", "conflict-exit-code"), skip=1),
    "chroot": Wrapper("", "", (), (), skip=1),
    "unshare": Wrapper("rmuinpUfC"),
    "nsenter": Wrapper("amuinpUC", "tSG"),
    "systemd-run": Wrapper("qtPSG", "pEMH"),
    "dbus-run-session": PLAIN,
    "xvfb-run": Wrapper("a", "nsef"),
    "caffeinate": Wrapper("dimsu", "tw"),
    "rlwrap": PLAIN,
    "catchsegv": PLAIN,
    "watch": Wrapper("bcdegptx", "n", ("differences", "no-title", "exec", "color", "beep", "errexit"), ("interval",), joined=True),
    "xargs": Wrapper("0prtxo", "adEILnPs", ("null", "no-run-if-empty", "verbose"), ("max-args", "max-procs", "replace", "delimiter", "arg-file", "max-lines")),
    "parallel": Wrapper("0kqtuvXm", "jILNndaS", ("null", "keep-order", "dry-run"), ("jobs", "delay", "timeout", "colsep", "arg-file"), joined=True),
    "sudo": Wrapper("AbEeHiKklnPSsVv", "CDghpRrTtUu", (), ("user", "group", "chdir", "host", "prompt", "role", "type", "chroot")),
    "doas": Wrapper("Lns", "Cu"),
    "pkexec": Wrapper("", "", (), ("user",)),
    "runuser": Wrapper("flmP", "ugGs", (), ("user", "shell")),
    "gosu": Wrapper("", "", (), (), skip=1),
    "su-exec": Wrapper("", "", (), (), skip=1),
    "run0": PLAIN,
    "ssh": Wrapper("46AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOopPQRSWw", (), (), skip=1, joined=True),
    "dzdo": Wrapper("AbEeHiKklnPSsVv", "CDghpRrTtUu", (), ("user", "group", "chdir", "host")),
    "setpriv": Wrapper(
        "d",
        "",
        ("clear-groups", "keep-groups", "init-groups", "no-new-privs", "reset-env", "dump", "list-caps", "nnp"),
        tuple("reuid regid ruid euid rgid egid groups inh-caps ambient-caps bounding-set securebits pdeathsig selinux-label apparmor-profile".split()),
    ),
    "su": Wrapper("flmp", "gGs", (), ("shell", "group")),
    "script": Wrapper("aefqr", "EIOTBmo"),
}


class InnerCommand(msgspec.Struct, frozen=True):
    """Where the inner command begins, and whether every option before it was understood."""

    start: int
    sure: bool
    options: tuple[ShellWord, ...] = ()


def inner(words: Sequence[ShellWord], wrapper: Wrapper, *, assignments: bool = False) -> InnerCommand:
    """Find the inner command of `words`, whose first is the wrapper's own name."""
    sure, i, skip = True, 1, wrapper.skip
    options: list[ShellWord] = []
    ended = False
    while i < len(words):
        text = words[i].text
        sure &= words[i].known or skip == 0
        if text == "--" and not ended:
            ended, step = True, 1
        elif text.startswith("--") and not ended:
            step, known = _long(text, wrapper)
            sure &= known
        elif text.startswith("-") and len(text) > 1 and not ended:
            step, known = _short(text, wrapper, words[0].text)
            sure &= known
        elif assignments and "=" in text:
            step = 1
        elif skip:
            skip, step = skip - 1, 1
        else:
            break
        options += words[i : i + step]
        i += step
    return InnerCommand(min(i, len(words)), sure, tuple(options))


def _long(text: str, wrapper: Wrapper) -> tuple[int, bool]:
    name, equals, _ = text[2:].partition("=")
    if any(option.startswith(name) for option in wrapper.long_valued):
        return (1 if equals else 2), True
    return 1, any(option.startswith(name) for option in wrapper.long_flags)


def _short(text: str, wrapper: Wrapper, name: str) -> tuple[int, bool]:
    if name.endswith("nice") and text[1:].lstrip("-").isdigit():
        return 1, True
    for place, letter in enumerate(text[1:], 2):
        if letter in wrapper.valued:
            return (2 if place == len(text) else 1), True
        if letter not in wrapper.flags:
            return 1, False
    return 1, True
