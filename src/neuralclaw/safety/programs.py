"""What programs do, as data. A program is a reader only as far as its options are understood not to write or to run anything."""

import msgspec

from ..types.risk import Power, Risk


class Reader(msgspec.Struct, frozen=True):
    """A program that only reads, unless one of `bad` options is given.

    `bad`: short letters that write or execute; `bad_long`: long names (prefixes count); `valued`: short letters whose value
    follows; `operands`: `paths` (all are files), `text` (none is), `pattern` (the first is a pattern, the rest files), `one`
    (a single file; a second operand would be written).
    """

    operands: str = "paths"
    bad: str = ""
    bad_long: tuple[str, ...] = ()
    valued: str = ""


class Act(msgspec.Struct, frozen=True):
    """A program that does more than read. `op` is what happens to its path operands; `last`: only the last one is changed."""

    powers: tuple[Power, ...]
    risk: Risk
    why: str
    op: str = ""
    last: bool = False
    valued: str = ""


PATHS, TEXT, PATTERN = Reader(), Reader("text"), Reader("pattern")

READERS: dict[str, Reader] = {
    **dict.fromkeys(
        "ls dir vdir cat head tac tail wc df du ps stat md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum cut nl od hexdump diff cmp"
        " comm diff3 paste fold fmt expand unexpand join rev column strings readlink realpath ldd lsof lsblk findmnt zcat bzcat xzcat nm"
        " size readelf tsort pr shasum cloc".split(),
        PATHS,
    ),
    **dict.fromkeys(
        "echo printf pwd free uname id whoami groups who w last uptime nproc arch lscpu lsusb lspci vmstat iostat basename dirname seq sleep true false test"
        " [ [[ ] : expr factor numfmt tty cal which whereis type getconf locale logname users pgrep pidof pstree hash jobs times wait exit return break"
        " continue shift local readonly unset let umask ulimit read getopts cd pushd popd dirs set shopt printenv history help bg fg numfmt"
        " mapfile readarray disown caller".split(),
        TEXT,
    ),
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "ag"), PATTERN),
    "rg": Reader("pattern", bad_long=("pre", "hostname-bin", "search-zip")),
    "jq": Reader("pattern"),
    "tr": TEXT,
    "top": Reader("text", bad="W"),
    "uniq": Reader("one", valued="fsw"),
    "xxd": Reader("one", bad="r", valued="cglos"),
    "sort": Reader("paths", bad="oT", bad_long=("output", "compress-program", "temporary-directory"), valued="kStT"),
    "file": Reader("paths", bad="C", bad_long=("compile",), valued="fmFPe"),
    "tree": Reader("paths", bad="oR", valued="LPIHT"),
    "date": Reader("text", bad="s", bad_long=("set",), valued="dfr"),
    "base64": PATHS,
    "base32": PATHS,
    "ss": Reader("text", bad="KD", bad_long=("kill", "diag")),
    "netstat": TEXT,
    "journalctl": Reader("text", bad_long=("vacuum", "rotate", "flush", "sync", "setup-keys", "update-catalog", "relinquish", "smart-relinquish")),
    "dmesg": Reader("text", bad="cCDEn", bad_long=("clear", "read-clear", "console-off", "console-on", "console-level")),
    "alias": TEXT,
}

BUILTINS = frozenset(
    ": [ [[ ] true false echo printf pwd cd pushd popd dirs test export declare typeset local readonly unset set shopt shift read wait exit return break"
    " continue type hash jobs times ulimit umask let getopts alias unalias trap eval exec source . command builtin history help bg fg mapfile readarray"
    " disown caller enable kill time coproc".split()
)
"""Words that the shell itself carries out: never looked up, never on a list."""

INTERPRETERS = frozenset(
    "sh bash dash zsh ksh mksh ash fish csh tcsh rbash python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua luajit Rscript tclsh"
    " wish osascript pwsh guile ghci ocaml julia".split()
)
SHELLS = frozenset("sh bash dash zsh ksh mksh ash rbash fish csh tcsh".split())
DECODERS = frozenset("base64 base32 basenc xxd openssl uudecode gunzip zcat bzcat xzcat gzip bzip2 xz rev gpg tr".split())

VERSION = frozenset({"--version", "-V", "-v", "version", "--help", "-h"})
VERSIONED = frozenset(
    "python python2 python3 pip pip3 node npm npx cargo rustc go make gcc cc clang g++ java javac ruby perl php docker git curl wget jq".split()
)

PRIVILEGED = frozenset(
    "sudo sudo-rs sudoedit su su-exec doas pkexec runuser gosu run0 visudo dzdo gksu gksudo kdesu kdesudo beesu setpriv capsh setcap newgrp sg mount umount"
    " chroot nsenter unshare machinectl".split()
)
"""Programs that act with other rights than the person's own, or change what rights there are."""

W, D, N, X = Power.WRITE, Power.DELETE, Power.NETWORK, Power.EXECUTE

ACTS: dict[str, Act] = {
    **dict.fromkeys(("touch", "mkdir", "truncate", "mkfifo", "mknod", "split", "csplit", "fallocate"), Act((W,), Risk.MEDIUM, "it writes files", "write")),
    **dict.fromkeys(("tee", "sponge"), Act((W,), Risk.MEDIUM, "it writes files", "write")),
    **dict.fromkeys(("chmod", "chown", "chgrp", "setfacl", "chattr", "setfattr"), Act((W,), Risk.MEDIUM, "it changes who may use files", "mode")),
    **dict.fromkeys(("cp", "ln", "install", "rsync"), Act((W,), Risk.MEDIUM, "it writes files", "write", last=True)),
    **dict.fromkeys(("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "zip", "patch"), Act((W,), Risk.MEDIUM, "it writes files", "write")),
    **dict.fromkeys(("unzip", "7z", "cpio", "ar"), Act((W,), Risk.MEDIUM, "it writes files")),
    "mv": Act((W, D), Risk.MEDIUM, "it moves files", "write"),
    **dict.fromkeys(("rm", "rmdir", "unlink", "shred", "srm", "trash", "wipe"), Act((D,), Risk.HIGH, "it deletes files", "delete")),
    **dict.fromkeys(
        "ping ping6 nslookup dig host whois traceroute tracepath mtr nmap ab http https httpie xh aria2c axel lynx w3m links telnet ftp tftp lftp".split(),
        Act((N,), Risk.MEDIUM, "it uses the network"),
    ),
    **dict.fromkeys(("nc", "ncat", "netcat", "socat"), Act((N, X), Risk.HIGH, "it opens raw network connections")),
    **dict.fromkeys(("ssh", "mosh", "scp", "sftp", "rclone"), Act((N, X), Risk.HIGH, "it works on another machine")),
    **dict.fromkeys(("kill", "pkill", "killall", "xkill"), Act((X,), Risk.HIGH, "it ends processes")),
    **dict.fromkeys(("at", "batch", "systemd-run"), Act((W, X), Risk.HIGH, "it plans commands for later")),
}

SYSTEM_CHANGES = frozenset(
    "systemctl service mount umount swapon swapoff iptables ip6tables nft ufw firewall-cmd useradd userdel usermod groupadd groupdel passwd chpasswd visudo"
    " insmod rmmod modprobe sysctl chroot unshare nsenter setcap hostnamectl timedatectl localectl apt apt-get aptitude dpkg yum dnf rpm pacman apk zypper snap"
    " flatpak brew docker podman nerdctl kubectl update-alternatives ldconfig depmod update-grub grub-install efibootmgr hwclock ip ifconfig route arp tc"
    " hostname loginctl losetup kexec fdisk sfdisk gdisk sgdisk parted cryptsetup lvm vgremove lvremove pvremove zpool zfs crontab".split()
)
SYSTEM_READS: dict[str, frozenset[str]] = {
    "systemctl": frozenset("status list-units list-unit-files is-active is-enabled show cat list-timers --version".split()),
    "service": frozenset(("--status-all",)),
    "apt": frozenset("list show search policy --version".split()),
    "apt-cache": frozenset("show search policy depends".split()),
    "dpkg": frozenset("-l -L -s -S --list --status --listfiles --search --version".split()),
    "rpm": frozenset("-q -qa -qi -ql --version".split()),
    "brew": frozenset("list info --version".split()),
    "docker": frozenset("ps images version info --version".split()),
    "ip": frozenset("a addr address link route r neigh -4 -6 -br -brief -s".split()),
    "hostnamectl": frozenset(("status", "")),
    "timedatectl": frozenset(("status", "")),
    "mount": frozenset(("", "-l")),
    "hostname": frozenset(("", "-f", "-s", "-i", "-I", "-d")),
    "ifconfig": frozenset(("", "-a")),
    "route": frozenset(("", "-n")),
    "arp": frozenset(("", "-a", "-n")),
    "crontab": frozenset(("-l",)),
    "sysctl": frozenset(("-a",)),
}
IP_CHANGES = frozenset("add del delete set change replace flush append up down exec".split())

SUBCOMMANDS: dict[str, dict[str, tuple[tuple[Power, ...], Risk, str]]] = {
    "pip": {
        **dict.fromkeys(("list", "show", "freeze", "check", "debug", "inspect", "help"), ((), Risk.LOW, "")),
        **dict.fromkeys(("install", "download", "wheel"), ((N, W, X), Risk.MEDIUM, "it fetches and installs packages")),
        **dict.fromkeys(("index", "search"), ((N,), Risk.MEDIUM, "it uses the network")),
        "uninstall": ((W, D, X), Risk.HIGH, "it removes packages"),
    },
    "npm": {
        **dict.fromkeys(("ls", "list", "ll", "root", "prefix", "help", "explain"), ((), Risk.LOW, "")),
        **dict.fromkeys(("install", "i", "ci", "add", "update", "exec", "x", "init", "create"), ((N, W, X), Risk.MEDIUM, "it fetches and runs packages")),
        **dict.fromkeys(("view", "info", "search", "outdated", "audit", "ping"), ((N,), Risk.MEDIUM, "it uses the network")),
        **dict.fromkeys(("publish", "unpublish", "deprecate"), ((N, X), Risk.HIGH, "it publishes to the network")),
    },
    "cargo": {
        **dict.fromkeys(("locate-project", "help"), ((), Risk.LOW, "")),
        **dict.fromkeys(("install", "update", "fetch", "add", "search"), ((N, W, X), Risk.MEDIUM, "it fetches packages")),
        **dict.fromkeys(("publish", "yank", "login", "owner"), ((N, X), Risk.HIGH, "it publishes to the network")),
    },
    "go": {
        **dict.fromkeys(("version", "help"), ((), Risk.LOW, "")),
        **dict.fromkeys(("get", "install", "mod"), ((N, W, X), Risk.MEDIUM, "it fetches packages")),
    },
}
SUBCOMMANDS["pip3"] = SUBCOMMANDS["pip"]
SUBCOMMANDS["yarn"] = SUBCOMMANDS["pnpm"] = SUBCOMMANDS["npm"]

SAFE_VARIABLES = frozenset(
    "LANG LANGUAGE TZ TERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CI DEBIAN_FRONTEND PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE".split()
)
DANGEROUS_VARIABLES = frozenset(
    "PATH IFS ENV SHELLOPTS PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 CDPATH HOME SHELL EDITOR VISUAL PAGER BROWSER LESS LESSOPEN LESSCLOSE LESSKEY MANPAGER"
    " MANOPT MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKEFILES CC CXX TMPDIR CLASSPATH JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS GCONV_PATH EXECIGNORE GLOBIGNORE HISTFILE"
    " XDG_CONFIG_HOME XDG_DATA_HOME GOFLAGS LUA_PATH LUA_INIT AWKPATH FPATH ZDOTDIR TERMINFO PSModulePath".split()
)
DANGEROUS_BEGINNINGS = ("LD_", "DYLD_", "GIT_", "BASH", "PYTHON", "NODE_", "PERL", "RUBY", "RUSTC_", "CARGO_", "SSH_", "PIP_", "npm_config_", "NPM_CONFIG_")


def variable_risk(name: str) -> Risk:
    """LOW: cannot change what a program does beyond its looks; HIGH: decides which code runs."""
    if name in SAFE_VARIABLES or name.startswith("LC_"):
        return Risk.LOW
    if name in DANGEROUS_VARIABLES or name.startswith(DANGEROUS_BEGINNINGS):
        return Risk.HIGH
    return Risk.MEDIUM
