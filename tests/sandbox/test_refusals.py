"""A command that failed because of its sandbox says so, with what to do next; one that failed by itself does not."""

import socket
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest

from neuralclaw.ports import Sandbox

from .grants import command_grant
from .processes import PATH, sandbox

pytestmark = [pytest.mark.anyio, pytest.mark.full]


@pytest.fixture(params=["landlock", "bubblewrap"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def person(tmp_path: Path) -> Path:
    """A home with a workspace in it, and things beside that."""
    home = tmp_path.resolve() / "person"
    (home / "project").mkdir(parents=True)
    (home / "other").mkdir()
    (home / "other" / "notes.txt").write_text("text")
    (home / "project" / "own").write_text("x")
    return home


async def said(kind: str, person: Path, command: str, **envelope: object) -> str:
    box: Sandbox = sandbox(kind, home=str(person))
    env = {"PATH": PATH, "HOME": str(person)}
    work = person / "project"
    return (await box.exec(command_grant(work, **envelope), ["bash", "-c", command], cwd=str(work), env=env, timeout=20, max_bytes=100_000)).refused


READ = [
    "cat {0}",
    "cat ../other/notes.txt",
    "grep -q text {0}",
    "cp {0} here",
    "python3 -c 'open(\"{0}\")'",
    "python3 -c 'import pathlib; pathlib.Path(\"{0}\").read_text()' 2>&1 | tail -1",
    "bash -c 'source {0}'",
    'perl -e \'open(F, "{0}") or die "{0}: $!"\'',
]


@pytest.mark.parametrize("command", READ)
async def test_a_file_that_is_hidden_is_named_with_the_way_to_open_it(kind: str, person: Path, command: str) -> None:
    place = str(person / "other" / "notes.txt")
    text = await said(kind, person, command.format(place))
    assert text.startswith(f"[The sandbox refused this: {place} is outside of what this command may use. ")
    assert text.endswith(f'To ask the person for it, call the same command again with access ["read {place}"].]')


@pytest.mark.parametrize("command", ["echo x > {0}/new", "touch {0}/new", "mkdir {0}/new", "tee {0}/new < own", 'python3 -c \'open("{0}/new", "w")\''])
async def test_a_place_that_cannot_be_written_is_named(kind: str, person: Path, command: str) -> None:
    text = await said(kind, person, command.format(person / "other"))
    assert f"{person}/other/new is outside" in text
    assert f"To make {person}/other/new, write it in the workspace and copy it there" in text


@pytest.mark.parametrize("command", ["git worktree add ../other/new", "git init -q ../other/new/deep", "git init -q ../new/deep"])
async def test_a_directory_that_would_be_made_first_is_named(kind: str, command: str) -> None:
    new = command.split("../")[1].removesuffix("/deep")
    setup = "git init -q . && git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m a && "
    with TemporaryDirectory(dir="/var/tmp") as place:  # what is around a workspace in /tmp is a directory of the command's own in bubblewrap
        person = Path(place).resolve()
        (person / "project").mkdir()
        (person / "other").mkdir()
        text = await said(kind, person, setup + command)
    assert f"{person}/{new} is outside" in text
    assert f"To make {person}/{new}, write it in the workspace and copy it there by a line of its own (cp), or make the directory so (mkdir)" in text


@pytest.mark.parametrize("command", ["ls {0}", "ls {0}/..", "cat {0}/.netrc", "cat {0}/other/.pgpass", "ls {0}/.ssh"])
async def test_what_no_call_is_given_is_named_and_not_offered(kind: str, person: Path, command: str) -> None:
    (person / ".ssh").mkdir()
    (person / ".netrc").touch()
    (person / "other/.pgpass").touch()
    text = await said(kind, person, command.format(person))
    shown_empty = kind == "bubblewrap" and command in ("ls {0}", "ls {0}/..")
    assert ("which no command is given" in text) is not shown_empty
    assert "access [" not in text


async def test_a_home_in_which_something_would_be_made_is_not_called_closed(person: Path) -> None:
    text = await said("landlock", person, f"touch {person}/new")
    assert f"To make {person}/new, write it in the workspace and copy it there by a line of its own (cp)" in text
    assert "which no command is given" not in text


async def test_what_may_be_read_only_is_said_to_be_so(kind: str, person: Path) -> None:
    (person / "other").chmod(0o777)
    text = await said(kind, person, f"echo x >> {person}/other/notes.txt", read=(str(person / "other"),))
    assert f"{person}/other/notes.txt may be read by this command and not changed" in text
    assert f'access ["write {person}/other/notes.txt"]' in text


NETWORK = [
    "python3 -c 'import urllib.request as u; u.urlopen(\"http://example.org\")'",
    "python3 -c 'import socket; socket.getaddrinfo(\"example.org\", 80)'",
    "bash -c 'curl http://1.1.1.1/'",
]


@pytest.mark.parametrize("command", NETWORK)
async def test_a_command_without_network_says_so(kind: str, person: Path, command: str) -> None:
    text = await said(kind, person, command)
    assert "This command has no network" in text
    assert 'access ["connect HOST:PORT"]' in text
    assert "outside" not in text


async def test_a_home_that_is_the_workspace_keeps_its_caches_and_hides_its_keys(kind: str, person: Path) -> None:
    for name in (".cache", ".ssh", ".cargo/bin"):
        (person / name).mkdir(parents=True)
    (person / ".ssh" / "id").write_text("secret")
    box = sandbox(kind, home=str(person), hidden=(str(person / ".ssh"),))
    script = "echo x > .cache/kept; echo x > .cargo/bin/tool; cat .ssh/id; ls -A | grep -c other"
    result = await box.exec(command_grant(person), ["bash", "-c", script], cwd=str(person), env={"PATH": PATH, "HOME": str(person)}, timeout=20, max_bytes=1000)
    assert result.stdout == b"1\n"
    assert (person / ".cache" / "kept").exists()
    assert (person / ".cargo" / "bin" / "tool").exists()


async def test_what_is_hidden_deep_in_the_workspace_is_not_moved_to_where_the_next_command_reads_it(kind: str, person: Path) -> None:
    keys = person / "a" / "b" / ".keys"
    keys.mkdir(parents=True)
    (keys / "id").write_text("secret")
    box = sandbox(kind, home=str(person), hidden=(str(keys), str(person / "none" / ".keys")))
    for script in ("mv a moved; mv a/b moved; mv a/b/.keys moved; ln a/b/.keys/id moved; mkdir -p a/own && mv a/own a/own2", "find . -name id -exec cat {} +"):
        env = {"PATH": PATH, "HOME": str(person)}
        result = await box.exec(command_grant(person), ["bash", "-c", script], cwd=str(person), env=env, timeout=20, max_bytes=1000)
        assert b"secret" not in result.stdout
    assert (keys / "id").read_text() == "secret"


async def test_calls_that_are_closed_to_every_command_are_said_to_be_so(kind: str, person: Path) -> None:
    assert "closed to commands" in await said(kind, person, "unshare -U true")


async def test_temporary_files_are_said_to_belong_elsewhere_where_tmp_is_closed(person: Path) -> None:
    assert "Temporary files belong in $TMPDIR." in await said("landlock", person, "echo x > /tmp/neuralclaw-test-file")


OWN_FAULTS = [
    "false",
    "cat not-there",
    "cat /not/there",
    "cat {0}/project/not-there",
    "cat {0}/project/own/not-a-directory",
    "ls /usr/not-there",
    "echo 'no network is needed to say permission'; exit 3",
    "cat /usr/bin/env > /dev/null; exit 1",
    "no-such-program",
    "python3 -c 'import not_there'",
    "grep -q absent own",
    "echo fine",
]


@pytest.mark.parametrize("command", OWN_FAULTS)
async def test_a_command_that_failed_by_itself_says_nothing_of_the_sandbox(kind: str, person: Path, command: str) -> None:
    assert await said(kind, person, command.format(person)) == ""


async def test_a_file_that_the_person_may_not_use_either_is_no_matter_of_the_sandbox(kind: str, person: Path) -> None:
    assert await said(kind, person, "cat /proc/1/mem; echo x > /proc/version; cat /sys/kernel/debug/x") == ""


NO_FAULTS_OF_THE_SANDBOX = [
    "cat build.log; exit 1",
    "grep -n unreachable build.log && false",
    "python3 -c 'print(\"mount: operation not permitted\")'; exit 2",
    "cat /var/log/not-there",
    "head -1 ../other/not-there",
    "kill 4194299",
    "python3 -c 'print(\"npm error ERESOLVE could not resolve\")'; exit 1",
    "python3 -c 'print(\"fatal: could not resolve upstream branch\")'; exit 1",
    "python3 -c 'print(\"Could not resolve react; Unable to resolve path to module; DNS error expected\")'; exit 1",
    "kill -9 $$",
    "python3 -c 'print(\"GET /v1/users/7: permission denied\")'; exit 1",
]


@pytest.mark.parametrize("command", NO_FAULTS_OF_THE_SANDBOX)
async def test_what_only_reads_like_a_refusal_is_none(kind: str, person: Path, command: str) -> None:
    log = "OSError: [Errno 101] Network is unreachable\nmount: permission denied\n"
    (person / "project" / "build.log").write_text(log)
    assert await said(kind, person, command) == ""


@pytest.mark.parametrize("name", ["/proc/1/ns/mnt", "a\\0/b", "/" + "x" * 5000 + "/y", "\\xff/\\xfe"])
async def test_a_path_that_cannot_be_looked_at_costs_no_result(kind: str, person: Path, name: str) -> None:
    script = f"printf \"x: cannot open '{name}': Permission denied\\n\" >&2; printf 'cannot open {name}: Permission denied\\n' >&2; false"
    assert await said(kind, person, script) == ""


CLOSED = {
    "sh -c \"echo 'ping: socket: Operation not permitted' >&2; false\"": "Raw and netlink",
    'sh -c \'echo "sudo: The \\"no new privileges\\" flag is set, which prevents sudo from running as root." >&2; false\'': "administrator's rights",
    "chmod u+s own": "administrator's rights",
    "ssh-add -l": "agents",
    "sh -c \"echo 'strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted' >&2\"": "Tracing",
}


@pytest.mark.parametrize("command", CLOSED)
async def test_what_no_command_has_is_named(kind: str, person: Path, command: str) -> None:
    assert CLOSED[command] in await said(kind, person, command)


async def test_a_service_of_this_machine_is_named_where_it_is_there(kind: str, person: Path) -> None:
    place = person / "run.sock"
    said_by_docker = f"Cannot connect to the Docker daemon at unix://{place}. Is the docker daemon running?"
    asked = f"import socket, sys\ntry: socket.socket(1).connect('{place}')\nexcept OSError: sys.exit('{said_by_docker}')"
    (person / "project" / "ask.py").write_text(asked)
    assert await said(kind, person, "python3 ask.py") == ""
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(place))
        service.listen()
        text = await said(kind, person, "python3 ask.py")
    assert "Services of this machine" in text
    assert "access [" not in text


async def test_a_port_of_this_machine_is_named_where_somebody_listens(kind: str, person: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as service:
        port = service.getsockname()[1]
        script = f"sh -c \"echo 'Error: connect ECONNREFUSED 127.0.0.1:{port}' >&2; false\""
        assert "Services of this machine" in await said(kind, person, script)
    assert await said(kind, person, script) == ""


async def test_a_process_that_the_command_did_not_start_is_out_of_its_reach(kind: str, person: Path) -> None:
    async with await anyio.open_process(["sleep", "100"]) as other:
        assert "Processes that a command did not start" in await said(kind, person, f"kill {other.pid}")
        other.kill()


@pytest.mark.parametrize("command", ["curl -s http://example.org", "wget -q http://example.org", "pip download --retries 0 nothing-of-that-name"])
async def test_a_download_that_says_little_is_told_that_there_is_no_network(kind: str, person: Path, command: str) -> None:
    assert "This command has no network" in await said(kind, person, command)


async def test_a_place_that_code_is_later_run_from_is_named_by_its_relative_path(person: Path) -> None:
    (person / "project" / ".git" / "hooks").mkdir(parents=True)
    (person / "project" / ".git" / "config").touch()
    for command, place in (("echo x > .git/hooks/post-commit", ".git/hooks/post-commit"), ("mv own .git/config", ".git/config")):
        assert f"{person}/project/{place} may be read by this command and not changed" in await said("bubblewrap", person, command)
