"""Which calls of a turn back what its answer claims. Decided from the record alone: no model, no look at the machine."""

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any

from ..types.claims import AnswerClaim, find_claims
from ..types.risk import Risk
from .state import CallState

ANYTHING = frozenset({"*"})
_FILES = frozenset({"save", "create", "edit"})
_OF_TOOL: dict[str, frozenset[str]] = {
    "write_file": _FILES,
    "edit_file": _FILES | {"remove"},
    "delete_file": frozenset({"delete"}),
    "remember": frozenset({"remember", "save", "create", "edit"}),
    "forget": frozenset({"delete"}),
    "notify": frozenset({"send"}),
    "gmail_send": frozenset({"send"}),
    "schedule_task": frozenset({"schedule", "create", "stop"}),
    "start_task": ANYTHING,
    "delegate": ANYTHING,
    "plan": frozenset({"create", "edit", "save"}),
    "python_eval": frozenset({"run", "test", "tested"}),
    "browser_screenshot": frozenset({"save", "create"}),
    "browser_click": frozenset({"submit", "send", "schedule", "create", "edit", "delete", "push", "stop", "start", "save"}),
    "browser_fill": frozenset({"submit", "send", "schedule", "create", "edit", "save"}),
    "process_signal": frozenset({"stop", "run"}),
    "wallpaper": frozenset({"edit"}),
    "hyprland": frozenset({"edit", "move", "start", "run"}),
}
_READERS = frozenset(
    "read_file list_files find_files search_files web_fetch web_search http_check browser_navigate browser_extract recall gmail_search gmail_read linkedin_jobs"
    " linkedin_job_detail system_info disk_info network_info process_list read_result calculate echo about_me".split()
)
_WORDS: dict[str, frozenset[str]] = {
    "send mail email message notify reply forward post sms text publish share invite comment": frozenset({"send"}),
    "publish upload deploy push": frozenset({"push"}),
    "save write store export record download upload put": _FILES,
    "create add insert new make generate append open upsert": frozenset({"create", "save", "edit"}),
    "update edit modify change set patch replace fix apply append upsert complete close assign": frozenset({"edit", "save"}),
    "delete remove erase clear purge trash archive drop": frozenset({"delete", "remove"}),
    "move rename copy archive": frozenset({"move", "create", "edit"}),
    "calendar event schedule remind reminder book reserve appointment alarm timer": frozenset({"schedule", "create", "edit"}),
    "remember memory note": frozenset({"remember", "save", "create"}),
    "run execute exec eval": frozenset({"run"}),
    "test": frozenset({"test", "tested"}),
    "commit merge": frozenset({"commit"}),
    "install": frozenset({"install"}),
    "start restart launch": frozenset({"start", "run"}),
    "stop kill cancel unsubscribe": frozenset({"stop", "delete"}),
    "submit order buy pay payment purchase checkout money transfer transaction refund register sign subscribe": frozenset({"submit", "schedule"}),
}
_OF_WORD = {word: frozenset[str]().union(*(acts for words, acts in _WORDS.items() if word in words.split())) for words in _WORDS for word in words.split()}
_READING_WORDS = frozenset("get list read search find fetch show view query look lookup check count describe info status download".split())

_PROGRAMS: dict[str, frozenset[str]] = {
    "rm rmdir unlink shred trash trash-put gio": frozenset({"delete"}),
    "touch mkdir tee ln dd truncate install mktemp zip tar unzip gzip pandoc convert ffmpeg": _FILES,
    "sed perl awk patch ed ex": _FILES | {"remove"},
    "cp mv rename rsync": frozenset({"move", "save", "create", "edit"}),
    "curl wget": frozenset({"save", "create"}),
    "mail mailx sendmail msmtp mutt swaks telegram-send notify-send": frozenset({"send"}),
    "crontab at systemd-run": frozenset({"schedule", "create", "edit"}),
    "kill killall pkill": frozenset({"stop"}),
    "systemctl service docker podman supervisorctl": frozenset({"start", "stop", "delete", "create", "edit"}),
    "scp sftp twine": frozenset({"push", "move"}),
    "pytest tox nox ctest phpunit rspec jest vitest unittest": frozenset({"test", "tested"}),
    "apt apt-get brew dnf yum pacman apk pip pip3 pipx uv conda npm pnpm yarn gem cargo go poetry": frozenset({"install", "delete", "edit", "create"}),
    "ruff black isort prettier gofmt rustfmt eslint": frozenset({"edit"}),
    "sqlite3 psql mysql": frozenset({"save", "create", "edit", "delete", "remove"}),
}
_OF_PROGRAM = {name: acts for names, acts in _PROGRAMS.items() for name in names.split()}
_GIT: dict[str, frozenset[str]] = {
    "commit": frozenset({"commit", "save", "create"}),
    "merge": frozenset({"commit", "edit"}),
    "push": frozenset({"push", "delete", "send"}),
    "rm": frozenset({"delete"}),
    "clean": frozenset({"delete"}),
    "mv": frozenset({"move"}),
    "branch": frozenset({"create", "delete", "move"}),
    "tag": frozenset({"create", "delete"}),
    "init": frozenset({"create", "save"}),
    "clone": frozenset({"create", "save", "move"}),
    "checkout": frozenset({"create", "edit"}),
    "switch": frozenset({"create"}),
    "apply": _FILES | {"delete"},
}
_READING_PROGRAMS = frozenset(
    "echo printf cat ls head tail grep rg find wc stat file du df pwd cd true false test [ env which type date id uname ps sort uniq cut tr diff less more tree"
    " export set sleep".split()
)
_WRAPPERS = frozenset("sudo doas env timeout nice nohup time stdbuf exec command xargs setsid ionice".split())
_OPAQUE = frozenset({"run", "save", "create", "edit", "delete", "remove", "move"})
_OUTSIDE = ("send", "mail", "notify", "deploy", "publish", "push", "upload", "install", "test", "start", "stop", "submit", "schedule")
_FILE_OBJECT = re.compile(
    r"\b(?:files?|folders?|director(?:y|ies)|e-?mails?|messages?|branch(?:es)?|logs?|backups?|drafts?|photos?)\b|\b[\w-]+\.[a-z]{1,5}\b", re.IGNORECASE
)
_OPERATORS = frozenset({";", "&&", "||", "|", "&", "|&", "(", ")", "\n"})


def find_unbacked(text: str, calls: Iterable[CallState]) -> tuple[AnswerClaim, ...]:
    """The claims of an answer that no finished call of its turn backs."""
    claims = find_claims(text)
    if not claims:
        return ()
    ended = [call for call in calls if call.finished is not None and call.finished.ok]
    acts = frozenset[str]().union(*(_acts_of(call) for call in calls))
    return tuple(claim for claim in claims if not _backs(acts, claim) and not (claim.report and ended))


def _backs(acts: frozenset[str], claim: AnswerClaim) -> bool:
    if "*" in acts or claim.kind in acts:
        return True
    if claim.kind == "test":  # that the tests ran is true of tests that failed; that they pass is not
        return "tested" in acts and re.search(r"\bpass|\bgreen\b|\bsucceed", claim.text, re.IGNORECASE) is None
    if claim.kind == "delete":  # "removed the function" is an edit, "deleted the file" is none
        return "remove" in acts and _FILE_OBJECT.search(claim.text) is None
    return claim.kind == "edit" and bool(acts & {"move", "delete"}) and re.search(r"\bchang|\bupdat|\bappl", claim.text, re.IGNORECASE) is not None


def _acts_of(call: CallState) -> frozenset[str]:
    """What a call did. One that failed did nothing, but tests that failed were run."""
    if call.started is None or call.finished is None:
        return frozenset()
    name, arguments = call.started.name, call.started.arguments
    if not call.finished.ok:
        ran = name == "terminal" and isinstance(call.finished.metadata.get("exit_code"), int) and not call.finished.metadata.get("timed_out")
        return _of_line(str(arguments.get("command", ""))) & {"tested", "run"} if ran else frozenset()
    return _of_call(name, arguments, call.started.risk) | _of_changes(call)


def _of_call(name: str, arguments: dict[str, Any], risk: Risk) -> frozenset[str]:
    if name == "terminal":
        return _of_line(str(arguments.get("command", "")))
    if name == "git":
        return _GIT.get(str(arguments.get("action", "")), frozenset()) | {"run"}
    if name in _READERS:
        return frozenset()
    if name in _OF_TOOL:
        return _OF_TOOL[name]
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name.rpartition("::")[2]).lower())
    known = [_OF_WORD[word] for word in words if word in _OF_WORD]
    if _READING_WORDS & set(words[:1]):
        return frozenset({"save"}) if "download" in words else frozenset()
    if known:
        return frozenset[str]().union(*known)
    return ANYTHING if risk > Risk.LOW else frozenset()  # nothing tells what it does


def _of_changes(call: CallState) -> frozenset[str]:
    """What the changed files tell."""
    assert call.finished is not None, "only a call that ended changed files"
    acts: set[str] = set()
    for change in call.finished.changes:
        acts |= {"delete"} if change.after is None else _FILES if change.before is None else {"save", "edit", "remove"}
    return frozenset(acts)


def _of_line(line: str, depth: int = 0) -> frozenset[str]:
    """What a command line does, by its programs. A line that no lexer reads could do anything to files."""
    try:
        lexer = shlex.shlex(line.replace("\n", " ; "), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return _OPAQUE
    acts: set[str] = {"run"}
    command: list[str] = []
    for word in [*words, ";"]:
        if word in _OPERATORS or (word and set(word) <= set(";&|()")):
            acts |= _of_command(command, depth)
            command = []
        elif word in (">", ">>", ">|", "&>"):
            acts |= _FILES
        else:
            command.append(word)
    return frozenset(acts)


def _of_command(argv: Sequence[str], depth: int) -> frozenset[str]:
    argv = list(argv)
    while argv and (re.match(r"^\w+=", argv[0]) or PurePosixPath(argv[0]).name in _WRAPPERS or (argv[0][:1] in "-0123456789")):
        argv.pop(0)
    if not argv:
        return frozenset()
    program, rest = PurePosixPath(argv[0]).name, argv[1:]
    if program in ("bash", "sh", "zsh", "dash") and len(rest) > 1 and rest[0].startswith("-") and "c" in rest[0] and depth < 3:
        return _of_line(rest[1], depth + 1)
    if program == "git":
        return _GIT.get(next((word for word in rest if word in _GIT), ""), frozenset())
    if program == "find":
        return frozenset({"delete"}) if "-delete" in rest or "rm" in rest else frozenset()
    if program == "curl" and any(
        word.startswith(("-d", "--data", "-F", "--form", "-T", "--upload", "--json")) or word in ("POST", "PUT", "-XPOST", "-XPUT") for word in rest
    ):
        return frozenset({"send", "push", "submit", "create", "edit", "save"})
    if "DELETE" in rest and program == "curl":
        return frozenset({"delete", "stop"})
    if (program.startswith("python") and rest[:2] in (["-m", "pytest"], ["-m", "unittest"])) or (rest and rest[0] in ("test", "check") and program in _TESTERS):
        return frozenset({"test", "tested"})
    if program in ("npm", "pnpm", "yarn", "make", "uv", "poetry", "tox", "nox") and any("test" in word for word in rest):
        return frozenset({"test", "tested"})
    if program in _READING_PROGRAMS:
        return frozenset()
    if program in _OF_PROGRAM:
        return _OF_PROGRAM[program]
    text = " ".join(argv).lower()
    return _OPAQUE | {
        ("send" if word in ("mail", "notify") else "push" if word in ("deploy", "publish", "upload") else word) for word in _OUTSIDE if word in text
    }


_TESTERS = frozenset("cargo go make npm pnpm yarn mix dotnet gradle mvn swift bun deno just".split())
