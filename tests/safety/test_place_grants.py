"""Grants for a place: which calls they cover, for how long and how often, and how they are narrowed."""

from typing import Any

import msgspec
import pytest

from neuralclaw.types.actions import Action
from neuralclaw.types.grants import Scope, StandingGrant
from neuralclaw.types.questions import Answers
from neuralclaw.types.risk import Decision
from neuralclaw.types.signals import Denied, Parked

from .parts import DELETE, POLICY, TERMINAL, WORKSPACE, FakeFacts, action, gate
from .test_scopes import ASKS_ALWAYS

pytestmark = pytest.mark.anyio

DOCS = "/home/ann/docs"


def grant(op: str = "write", place: str = DOCS, **more: Any) -> StandingGrant:
    scopes = (Scope("below", place, op),)
    given = {"lasts": "always", "session": "home", "turn": 0, "workspace": WORKSPACE, "tool": "", "covers": f"{op} below {place}", "by": "owner"}
    return StandingGrant(**(given | {"grant_id": "G1", "since": "2026-01-01T00:00:00.000Z", "scopes": scopes, "given": True} | more))  # type: ignore[arg-type]


def command(text: str, **more: Any) -> Action:
    return action(TERMINAL, command=text, **more)


async def covered(call: Action, *grants: StandingGrant, facts: FakeFacts | None = None) -> bool:
    try:
        made = await gate(POLICY, facts).authorize(call, Answers(standing=grants))
    except (Parked, Denied):
        return False
    assert made.verdict is not None
    assert made.verdict.decision is Decision.ALLOW
    return made.verdict.rule_ids[0].startswith("grant.")


@pytest.mark.invariant("gate.covers")
async def test_a_grant_for_a_place_covers_what_is_changed_below_it_and_nothing_else() -> None:
    for text in (f"touch {DOCS}/a", f"mkdir -p {DOCS}/x/y", f"cp a {DOCS}/b", f"cd . && touch {DOCS}/a; true", f"tee {DOCS}/a", "mkdir ~/docs/x"):
        assert await covered(command(text), grant()), text
    refused = [
        *(f"touch {DOCS}x/a", f"touch {DOCS}/../a", "touch /home/ann/a", f"rm {DOCS}/a", f"chmod 777 {DOCS}", f"cp /home/ann/b {DOCS}/a", f"mkdir {DOCS}"),
        *(
            f"touch {DOCS}/a /home/ann/b",
            f"touch {DOCS}/a && make",
            f"cat a; touch {DOCS}/a",
            f"python x.py > {DOCS}/a",
            f"touch {DOCS}/*",
            f"X=1 touch {DOCS}/a",
        ),
        *(f"sed -i s/a/b/e {DOCS}/a", f"make -C {DOCS}", f"nice touch {DOCS}/a", f"touch {DOCS}/.envrc", f"./touch {DOCS}/a", "frobnicate", "rm junk.txt"),
        f"echo x | xargs touch {DOCS}/a",
    ]
    for text in refused:
        assert not await covered(command(text), grant()), text


async def test_where_a_link_leads_counts_and_each_operation_is_its_own() -> None:
    assert not await covered(command(f"touch {DOCS}/link/a"), grant(), facts=FakeFacts(links={f"{DOCS}/link": "/home/ann/.config"}))
    assert await covered(command("touch link/a"), grant(), facts=FakeFacts(links={f"{WORKSPACE}/link": DOCS}))
    assert await covered(command(f"rm {DOCS}/a"), grant("delete"))
    assert not await covered(command(f"rm -r {DOCS}"), grant("delete"))
    assert await covered(action(DELETE, path="tmp/a"), grant("delete", f"{WORKSPACE}/tmp"))
    assert not await covered(action(DELETE, path="other/a"), grant("delete", f"{WORKSPACE}/tmp"))
    both = (grant(), msgspec.structs.replace(grant("read", "/home/ann/in"), grant_id="G2"))
    assert await covered(command(f"cp /home/ann/in/a {DOCS}/a"), *both)
    assert not await covered(command(f"cp /home/ann/in/a {DOCS}/a"), both[0])


async def test_a_grant_that_ran_out_or_was_used_up_covers_nothing() -> None:
    call = command(f"touch {DOCS}/a")
    assert await covered(call, grant(until=1000.5))
    assert not await covered(call, grant(until=1000.0)), "the clock stands at 1,000"
    assert await covered(call, grant(uses=2, used=("s/1/c/1",)))
    assert not await covered(call, grant(uses=2, used=("s/1/c/1", "s/1/d/1")))
    spent = grant(uses=1, used=("s/1/c1/1",))
    assert await covered(call, spent.without("s/1/c1/1")), "the use of this very call"


async def test_what_is_asked_for_another_reason_is_asked_in_spite_of_a_grant() -> None:
    assert ASKS_ALWAYS.require_confirmation_for
    for path in (".git/hooks/pre-commit", "AGENTS.md", ".ssh/config"):
        assert not await covered(command(f"touch {DOCS}/{path}"), grant()), path


def test_what_is_given_on_is_never_wider() -> None:
    mine = grant(until=2000.0, uses=5, used=("a", "b"))
    child = mine.narrowed("C1", "child", scopes=(Scope("below", f"{DOCS}/x", "write"),), until=3000.0, uses=9)
    assert (child.until, child.uses, child.used, child.session, child.lasts, child.parent) == (2000.0, 3, (), "child", "session", "G1")
    assert mine.narrowed("C2", "child", until=1500.0, uses=1).until == 1500.0
    for scope in (Scope("below", "/home/ann", "write"), Scope("below", DOCS, "delete"), Scope("below", f"{DOCS}x", "write"), Scope("directory", DOCS, "write")):
        with pytest.raises(ValueError, match="does not cover"):
            mine.narrowed("C3", "child", scopes=(scope,))
