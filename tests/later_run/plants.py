"""A workspace with places that code is later run from, and attempts to change what is run from there."""

import hashlib
import os
import subprocess
from pathlib import Path

HOOK = "#!/bin/sh\necho own\n"
EVIL = "#!/bin/sh\\necho evil\\n"
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"], "HOME": "/nonexistent"}
NAMED = ["-c", "safe.directory=*", "-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"]


def git(place: Path, *arguments: str) -> None:
    subprocess.run(["git", *NAMED, *arguments], cwd=place, env=GIT, check=True, capture_output=True)


def made(work: Path) -> Path:
    """A repository with a hook, one nested in it, a worktree, a submodule, a bare one, a linked place, and directories without any."""
    work.mkdir(parents=True, exist_ok=True)
    git(work, "init", "-q", ".")
    (work / "a.txt").write_text("a\n")
    (work / "d").mkdir()
    (work / "d" / "f.txt").write_text("f\n")
    git(work, "add", "a.txt", "d")
    git(work, "commit", "-q", "-m", "first")
    (work / "nested" / "deep").mkdir(parents=True)
    git(work / "nested" / "deep", "init", "-q", ".")
    git(work, "config", "extensions.worktreeConfig", "true")
    git(work, "worktree", "add", "-q", "tree")
    git(work, "init", "-q", "--bare", "bare")
    git(work, "clone", "-q", str(work), "library")
    git(work, "submodule", "add", "-q", "./library", "module")
    (work / ".githooks").mkdir()
    (work / ".githooks" / "pre-push").write_text(HOOK)
    git(work / "library", "config", "core.hooksPath", "../.githooks")
    (work / "shared.envrc").write_text("export A=1\n")
    (work / "d" / ".envrc").symlink_to("../shared.envrc")
    (work / ".vscode").mkdir()
    (work / ".vscode" / "tasks.json").write_text("{}\n")
    for place in (work / ".git" / "hooks" / "post-commit", work / "nested" / "deep" / ".git" / "hooks" / "pre-commit"):
        place.write_text(HOOK)
        place.chmod(0o755)
    os.link(work / ".git" / "hooks" / "post-commit", work / "another-name")
    return work


PLANTS = {
    "plant_a_hook": f"printf '{EVIL}' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    "change_a_hook": f"printf '{EVIL}' > .git/hooks/post-commit",
    "take_a_hook_away": "rm -f .git/hooks/post-commit",
    "let_nobody_run_a_hook": "chmod -x .git/hooks/post-commit",
    "replace_all_hooks": f"rm -rf .git/hooks; mkdir .git/hooks; printf '{EVIL}' > .git/hooks/pre-commit",
    "plant_a_hook_in_a_nested_repository": f"printf '{EVIL}' > nested/deep/.git/hooks/post-checkout; chmod +x nested/deep/.git/hooks/post-checkout",
    "plant_a_hook_in_a_submodule": f"mkdir -p .git/modules/module/hooks; printf '{EVIL}' > .git/modules/module/hooks/pre-commit",
    "plant_a_hook_in_a_bare_repository": f"printf '{EVIL}' > bare/hooks/post-receive",
    "plant_a_hook_where_settings_lead": f"printf '{EVIL}' > .githooks/pre-push; printf '{EVIL}' > .githooks/pre-commit",
    "make_a_file_that_is_run_on_entry": "echo evil > .envrc",
    "make_one_in_a_directory": "echo evil > nested/.envrc; echo evil > mise.toml",
    "change_it_through_a_link": "echo evil > shared.envrc",
    "turn_a_link": "echo evil > other.envrc; ln -sfn ../other.envrc d/.envrc",
    "set_a_program": "git config core.fsmonitor ./evil || printf '[core]\\n\\tfsmonitor = ./evil\\n' >> .git/config",
    "set_an_alias": "printf '[alias]\\n\\tst = !./evil\\n' >> .git/config",
    "include_settings": "printf '[include]\\n\\tpath = ../evil.config\\n' >> .git/config",
    "set_it_for_a_worktree": "printf '[core]\\n\\thooksPath = /tmp\\n' > .git/worktrees/tree/config.worktree",
    "replace_the_settings": "cp .git/config c; printf '[core]\\n\\teditor = ./evil\\n' >> c; mv -f c .git/config",
    "turn_a_worktree": (
        "mkdir -p evil; cp -r .git/. evil/ 2>/dev/null; printf '[core]\\n\\teditor = ./evil\\n' >> evil/config; echo \"gitdir: $PWD/evil\" > tree/.git"
    ),
    "lead_a_worktree_elsewhere": "echo ../../../evil > .git/worktrees/tree/commondir",
    "put_another_repository_in_its_place": (
        f"mv .git moved; git init -q . || mkdir -p .git/hooks; printf '{EVIL}' > .git/hooks/pre-commit; printf '[core]\\n\\teditor = ./evil\\n' >> .git/config"
    ),
    "put_a_link_to_another_in_its_place": (
        f"mv .git moved; cp -r moved evil; printf '{EVIL}' > evil/hooks/pre-commit; printf '[core]\\n\\teditor = ./evil\\n' >> evil/config; ln -s evil .git"
    ),
    "make_a_repository_with_a_hook": (
        f"git init -q fresh; printf '{EVIL}' > fresh/.git/hooks/pre-commit; printf '[core]\\n\\tpager = ./evil\\n' >> fresh/.git/config"
    ),
    "write_through_another_name": f"printf '{EVIL}' > another-name",
    "give_a_hook_another_name": f"ln .git/hooks/post-commit own; printf '{EVIL}' > own",
    "move_a_directory_and_plant": "mv d d2; mkdir d2/.vscode; git init -q d2; echo evil > d2/.vscode/tasks.json; mkdir -p d; echo evil > d/.envrc",
    "make_a_task_of_the_editor": "echo evil > .vscode/tasks.json; mkdir .idea; echo evil > .idea/x.xml",
    "make_it_a_directory": "rm -f .envrc; mkdir .envrc; rm -rf .vscode; echo evil > .vscode",
    "tell_the_agent": "echo evil > AGENTS.md; echo evil > nested/agents.md",
    "write_a_start_up_file": "echo evil > .bashrc; mkdir -p .config/autostart; echo evil > .config/autostart/evil.desktop",
    "lead_hooks_elsewhere": f"mkdir evil; printf '{EVIL}' > evil/pre-commit; rm -rf .git/hooks; ln -s ../evil .git/hooks",
}
"""Scripts for `sh`, in the workspace of `made`."""


def run_later(work: Path) -> dict[str, str]:
    """Everything in a workspace that something outside would run, by path; found by a walk of its own, and by asking git. What was not there before and is
    harmless (settings that run nothing) is not in it."""
    found: dict[str, str] = {}
    for directory, names, files in os.walk(work):
        for name in (*names, *files):
            path = Path(directory, name)
            short = str(path.relative_to(work))
            if (
                (path.parent.name in ("hooks", ".githooks") and not name.endswith(".sample"))
                or name in ("commondir", "hooks")
                or (name == ".git" and name in files)
            ):
                found[short] = _about(path)
            if name.lower() in {".envrc", "agents.md", "mise.toml", ".bashrc", "tasks.json", "x.xml", "evil.desktop", "shared.envrc"}:
                found[short] = _about(path)
        if "HEAD" in files and ("objects" in names or "commondir" in files):
            found |= {f"{os.path.relpath(directory, work)}: {line}": "" for line in _settings(Path(directory))}
    return found


def planted(before: dict[str, str], now: dict[str, str]) -> dict[str, str]:
    """What is run now and was not before; what moved with its directory was."""
    known = {(about, path.rpartition("/")[2]) for path, about in before.items()}
    return {path: about for path, about in now.items() if before.get(path) != about and (about, path.rpartition("/")[2]) not in known}


def _about(path: Path) -> str:
    if path.is_symlink():
        return f"link {path.readlink()}"
    if not path.is_file():
        return "directory" if path.is_dir() else "gone"
    return f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"


def _settings(gitdir: Path) -> list[str]:
    done = subprocess.run(["git", *NAMED[:2], f"--git-dir={gitdir}", "config", "--list"], env=GIT, capture_output=True, text=True, check=False)
    risky = ("fsmonitor", "alias", "include", "hookspath", "editor", "pager")
    return [line for line in done.stdout.splitlines() if any(word in line for word in risky)]
