"""A word of a command that names a place of keys is refused whatever program it is given to: where no sandbox holds, the words are all there is."""

import pytest

from neuralclaw.types.risk import Decision

from .parts import FakeFacts, judge

pytestmark = pytest.mark.anyio

KEY = "/home/ann/.ssh/id_rsa"
NAMED = (
    f"less {KEY}",
    f"perl -ne print {KEY}",
    f"vim -es -c %p -c q {KEY}",
    f"openssl enc -base64 -in {KEY}",
    f"mytool --file={KEY}",
    f"mytool -f{KEY}",
    f"bash {KEY}",
    f"date -f {KEY}",
    f"file -f {KEY}",
    f"ssh -i {KEY} example.com",
    "cd ~/.ssh && less id_rsa",
    f"""node -p "require('fs').readFileSync('{KEY}')" """,
    f"""python3 -c "print(open('{KEY}').read())" """,
    """python3 -c "import os; print(open(os.path.expanduser('~/.ssh/id_rsa')).read())" """,
    f"""sqlite3 :memory: "select readfile('{KEY}')" """,
    f"""awk 'BEGIN{{while((getline l < "{KEY}")>0) print l}}'""",
    "env -C ~/.ssh cat id_rsa",
    "env -iC/home/ann/.ssh cat id_rsa",
    "env --chdir=/home/ann/.ssh cat id_rsa",
    "env --chd /home/ann cat .ssh/id_rsa",
    "env -C ~/.ssh -S 'cat id_rsa'",
    "less /home/ann/.local/share/neuralclaw/agent.db",
)


@pytest.mark.parametrize("command", NAMED)
async def test_what_names_a_place_of_keys_is_refused_whatever_the_program(command: str) -> None:
    verdict = await judge(command)
    assert verdict.decision is Decision.FORBID, verdict
    assert {rule.id for rule in verdict.rules if rule.decision is Decision.FORBID} <= {"path.secrets", "path.protected"}


@pytest.mark.parametrize(
    "command",
    [
        "echo ~/.ssh/id_rsa",
        'git commit -m "keys are read from /home/ann/.ssh/id_rsa"',
        "grep -r /home/ann/.ssh/id_rsa docs",
        "less notes.txt",
        "mytool --out=/home/ann/notes.txt",
        "test -e ~/.ssh/id_rsa",
        "env -C sub cat notes.txt",
        f"python3 -c '{'x = 1; ' * 2_000}'",
    ],
)
async def test_what_only_speaks_of_it_or_names_something_else_is_judged_as_before(command: str) -> None:
    verdict = await judge(command)
    assert verdict.decision is not Decision.FORBID, verdict.rules


async def test_a_link_that_leads_to_keys_is_followed_for_a_program_that_is_not_known() -> None:
    verdict = await judge("mytool link/id_rsa", facts=FakeFacts(links={"/home/ann/project/link": "/home/ann/.ssh"}))
    assert verdict.decision is Decision.FORBID, verdict.rules
