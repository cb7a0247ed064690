"""What a program sees: the tables, and the rules that put a view together."""

import os
from pathlib import Path

import pytest

from neuralclaw.sandbox.program_run import Program
from neuralclaw.sandbox.visible import View, places, toolchains, view
from neuralclaw.types.grants import Envelope


def seen(home: Path, workspace: Path, *, hidden: tuple[str, ...] = (), path: str = "/usr/bin", **envelope: tuple[str, ...]) -> View:
    program = Program(argv=("true",), file="/bin/true", real=os.path.realpath("/bin/true"), cwd=str(workspace), env={"PATH": path})
    return view(Envelope(execute=True, **envelope), str(workspace), program, home=str(home), hidden=hidden)


@pytest.fixture
def person(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "person"
    path.mkdir()
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "workspace"
    path.mkdir()
    return path


@pytest.mark.parametrize("name", toolchains())
def test_a_toolchain_in_a_home_is_seen_and_what_holds_keys_beside_it_is_not(person: Path, workspace: Path, name: str) -> None:
    row = toolchains()[name]
    for each in (*row.seen, *row.examples):
        place = person / each
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            place.touch() if each in row.examples else place.mkdir()
    found = seen(person, workspace)
    assert {example: found.shows(str(person / example)) for example in row.examples} == row.examples
    assert {True, False} <= set(row.examples.values())
    assert not any(found.changes(str(person / example)) for example in row.examples)


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        (".gitconfig", '[user]\n\tname = Ann\n[url "ssh://git@example.com/"]\n\tinsteadOf = https://example.com/\n[credential]\n\thelper = store\n', True),
        (".gitconfig", "# token = none is kept here\n[user]\n\tsigningkey = ABCD1234\n", True),
        (".gitconfig", '[url "https://oauth2:glpat-AAAA@gitlab.example/"]\n\tinsteadOf = https://gitlab.example/\n', False),
        (".gitconfig", '[url "https://AAAABBBBCCCCDDDDEEEE@github.com/"]\n\tinsteadOf = https://github.com/\n', False),
        (".gitconfig", '[http "https://git.example"]\n\textraheader = Authorization: Basic dXNlcjpodW50ZXIy\n', False),
        (".gitconfig", "[imap]\n\tuser = bob\n\tpass = hunter2hunter\n", False),
        (".gitconfig", '[url "ssh://jsmith2020@gerrit.example/"]\n\tinsteadOf = g:\n[alias]\n\tpwd = rev-parse --show-toplevel\n', True),
        (".gitconfig", "[advice]\n\tbypass = true\n[alias]\n\tst = status\n", True),
        (".gitconfig", '[url "https://abcdef12345@github.com/"]\n\tinsteadOf = https://github.com/\n', False),
        (".gitconfig", '[url "https://ann@bitbucket.org/"]\n\tinsteadOf = https://bitbucket.org/\n', True),
        (".gitconfig", "[http]\n\textraHeader = Author\\\nization: Basic dXNlcjpodW50ZXIy\n", False),
        (".gitconfig", f"[mine]\n\tpat = glpat-{'Ab1' * 7}\n", False),
        (".cargo/config.toml", '[env]\nAWS_SECRET_ACCESS_KEY = "x"\n', False),
        (".config/yarn/global/.yarnrc.yml", 'npmAuthIdent: "ann:hunter2"\n', False),
        (".pyenv/versions/3.12.1/pip.conf", "api_key = hunter2\n", False),
        (".pyenv/versions/3.12.1/pip.conf", "passphrase = hunter2\n", False),
        (".config/git/config", "[sendemail]\n\tsmtpPass = hunter2\n", False),
        (".config/git/config", '[credential]\n\thelper = "!f() { echo password=hunter2; }; f"\n', False),
        (".cargo/config.toml", '[build]\njobs = 2\n[registry]\nglobal-credential-providers = ["cargo:token"]\n', True),
        (".cargo/config.toml", '[registries.mine]\ntoken = "cio-1"\n', False),
        (".cargo/config.toml", '[http]\nproxy = "http://ann:hunter2@proxy.example:3128"\n', False),
        (".cargo/config.toml", '[registries]\nmine = { index = "sparse+https://x.example/", token = "cio-1" }\n', False),
        (".cargo/config.toml", '[registries.mine]\n"token" = "cio-1"\n', False),
        (".gitconfig", "[github] token = hunter2\n", False),
        (".nvm/versions/node/v20.1.0/etc/npmrc", "prefix=/home/ann/.npm-global\n", True),
        (".nvm/versions/node/v20.1.0/etc/npmrc", "//registry.npmjs.org/:_authToken=npm_1\n", False),
        (".config/yarn/global/.npmrc", "_auth=YW5uOmh1bnRlcjI=\n", False),
        ("miniconda3/.condarc", "channels:\n  - conda-forge\n", True),
        ("miniconda3/envs/a/.condarc", "channels: [https://conda.example/t/ab-12345678/x]\n", False),
        (".pyenv/versions/3.12.1/pip.conf", "[global]\nindex-url = https://ann:hunter2@pypi.example/simple\n", False),
    ],
)
def test_settings_that_hold_a_password_or_a_token_themselves_are_not_seen(person: Path, workspace: Path, name: str, text: str, shown: bool) -> None:
    (person / name).parent.mkdir(parents=True, exist_ok=True)
    (person / name).write_text(text)
    assert seen(person, workspace).shows(str(person / name)) is shown
    assert seen(person, workspace, read=(str(person / name),)).shows(str(person / name))


def test_the_rest_of_a_home_is_not_seen(person: Path, workspace: Path) -> None:
    (person / ".local/bin").mkdir(parents=True)
    found = seen(person, workspace)
    assert [found.shows(str(person / name)) for name in ("", "notes.txt", ".ssh/id", ".bashrc", ".local/share/x", ".local/bin/tool")] == [False] * 5 + [True]


def test_a_link_out_of_a_home_shows_where_it_leads_and_no_more(person: Path, workspace: Path, tmp_path: Path) -> None:
    place = tmp_path.resolve() / "elsewhere" / "cargo-bin"
    place.mkdir(parents=True)
    (person / ".cargo").mkdir()
    (person / ".cargo/bin").symlink_to(place)
    (person / ".rustup").symlink_to(person)
    found = seen(person, workspace)
    assert found.shows(str(place))
    assert not found.shows(str(place.parent))
    assert not found.shows(str(person))


def test_programs_are_found_on_the_search_path_with_what_belongs_to_them(person: Path, workspace: Path, tmp_path: Path) -> None:
    (person / "apps/node/bin").mkdir(parents=True)
    (person / "apps/node/lib").mkdir()
    (person / "scripts").mkdir()
    (person / "bin").mkdir()
    (person / "lib").mkdir()
    path = f"{person}/apps/node/bin:{person}/scripts:{person}/bin:{person}:/:relative"
    found = seen(person, workspace, path=path)
    shown = [found.shows(str(person / name)) for name in ("apps/node/lib/x", "apps/other", "scripts/x", "bin/x", "lib/x", "notes", "")]
    assert shown == [True, False, True, True, False, False, False]


def test_a_search_path_never_opens_a_place_that_holds_something_hidden(person: Path, workspace: Path) -> None:
    (person / "tools/bin").mkdir(parents=True)
    (person / "tools/lib/keys").mkdir(parents=True)
    found = seen(person, workspace, hidden=(str(person / "tools/lib/keys"),), path=f"{person}/tools/bin")
    assert [found.shows(str(person / name)) for name in ("tools/bin/x", "tools/lib/x", "tools/lib/keys/x")] == [True, False, False]


def test_the_grant_opens_places_and_the_nearest_place_decides(person: Path, workspace: Path) -> None:
    for name in ("open/keys", "data/mine"):
        (person / name).mkdir(parents=True)
    hidden = (str(person / "open/keys"), str(person / "data"))
    found = seen(person, workspace, hidden=hidden, read=(str(person / "open"),), write=(str(workspace), str(person / "data/mine")))
    assert [found.shows(str(person / name)) for name in ("open/x", "open/keys/x", "data/x", "data/mine/x")] == [True, False, False, True]
    assert [found.changes(place) for place in (f"{workspace}/x", f"{person}/open/x", f"{person}/data/mine/x", "/usr/x")] == [True, False, True, False]


def test_a_home_that_was_granted_is_granted_with_its_toolchains(person: Path, workspace: Path) -> None:
    (person / ".cargo/bin").mkdir(parents=True)
    (person / ".ssh").mkdir()
    found = seen(person, workspace, hidden=(str(person / ".ssh"),), write=(str(person),))
    assert [found.changes(str(person / name)) for name in ("notes", ".cargo/bin/x", ".ssh/id")] == [True, True, False]


def test_public_places_show_what_everybody_may_read(person: Path, workspace: Path) -> None:
    found = seen(person, workspace)
    assert [found.shows(path) for path in ("/usr/bin/env", "/etc/passwd", "/", "/var/log/x", "/root", "/home", "/run/x", "/tmp/x", "/mnt/x")] == [True] * 2 + [
        False
    ] * 7
    if os.geteuid() == 0:  # an ordinary user is held off by the file's mode
        assert not found.shows("/etc/shadow")
    assert not any(found.changes(path) for path in places().public)
