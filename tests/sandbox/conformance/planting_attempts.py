"""Attempts, as in `attempts.py`, to change what code is later run from, in the workspace itself: it is read-only, or compared afterwards and put back."""

import os
from typing import Any

EVIL = "#!/bin/sh\necho evil\n"
RUNS = "[core]\n\teditor = ./evil\n"


def plant(path: str, text: str = EVIL, mode: str = "w") -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, mode) as file:
        file.write(text)
    os.chmod(path, 0o755)


def plant_a_hook(c: dict[str, Any]) -> None:
    plant(".git/hooks/pre-commit")


def change_a_hook(c: dict[str, Any]) -> None:
    plant(".git/hooks/post-commit")


def plant_a_hook_in_a_nested_repository(c: dict[str, Any]) -> None:
    plant("nested/deep/.git/hooks/post-checkout")


def plant_a_hook_in_a_submodule(c: dict[str, Any]) -> None:
    plant(".git/modules/module/hooks/pre-commit")


def plant_a_hook_in_a_bare_repository(c: dict[str, Any]) -> None:
    plant("bare/hooks/post-receive")


def make_a_file_that_is_run_on_entry(c: dict[str, Any]) -> None:
    plant(".envrc")
    plant("nested/.envrc")


def make_a_task_of_the_editor(c: dict[str, Any]) -> None:
    plant(".vscode/tasks.json")


def write_instructions_for_the_agent(c: dict[str, Any]) -> None:
    plant("AGENTS.md")


def include_settings_in_a_repository(c: dict[str, Any]) -> None:
    plant(".git/config", "[include]\n\tpath = ../evil.config\n", "a")


def lead_a_worktree_elsewhere(c: dict[str, Any]) -> None:
    plant("evil/HEAD", "ref: refs/heads/main\n")
    plant("evil/config", RUNS)
    plant("tree/.git", f"gitdir: {os.getcwd()}/evil\n")


def put_another_repository_in_its_place(c: dict[str, Any]) -> None:
    os.rename(".git", "moved")
    plant(".git/hooks/pre-commit")
    plant(".git/config", RUNS)


def write_a_hook_through_another_name(c: dict[str, Any]) -> None:
    plant("another-name")


def give_a_hook_another_name_and_write_it(c: dict[str, Any]) -> None:
    os.link(".git/hooks/post-commit", "own")
    plant("own")


def lead_hooks_elsewhere(c: dict[str, Any]) -> None:
    plant("evil/pre-commit")
    os.rename(".git/hooks", "hooks-before")
    os.symlink("../evil", ".git/hooks")


def change_what_a_link_leads_to(c: dict[str, Any]) -> None:
    plant("shared.envrc")


def make_a_repository_with_a_hook(c: dict[str, Any]) -> None:
    plant("fresh/.git/HEAD", "ref: refs/heads/main\n")
    os.makedirs("fresh/.git/objects")
    os.makedirs("fresh/.git/refs")
    plant("fresh/.git/hooks/pre-commit")
    plant("fresh/.git/config", RUNS)
