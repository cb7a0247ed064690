"""`fetch URL` through the whole program, from a real server on this machine that the owner opened, or did not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .program import Claw
from .services import Services

pytestmark = pytest.mark.anyio

PAGE = b"<!doctype html><title>News</title><nav><a href=/>Menu</a></nav><main><h1>News</h1><p>The mill is <b>open</b> again.</main>"
OPEN = "safety:\n  rules:\n    - {id: mine, decision: allow, host: 127.0.0.1}\n"


@pytest.fixture
def services() -> Iterator[Services]:
    services = Services()
    services.files["/news"] = lambda request: request.body(PAGE, "text/html; charset=utf-8")
    services.files["/old"] = lambda request: request.redirect("/news")
    services.files["/inside"] = lambda request: request.redirect("http://169.254.169.254/latest/meta-data/")
    with services.running():
        yield services


def settings(claw: Claw, text: str) -> None:
    Path(claw.home).mkdir(exist_ok=True)
    (claw.home / "config.yaml").write_text(text)


async def test_an_address_inside_is_refused_and_nothing_arrives(claw: Claw, services: Services) -> None:
    for sentence in (f"fetch {services.url}/news", f"check {services.url}/news", f"fetch http://localhost:{services.port}/news"):
        ran = await claw("run", sentence)
        assert ran.code == 5, ran
        assert "this machine" in ran.out + ran.err
    assert services.asked == []


async def test_a_page_that_the_owner_opened_is_read_and_checked(claw: Claw, services: Services) -> None:
    settings(claw, OPEN)
    ran = await claw("run", "--session", "news", f"fetch {services.url}/old")
    assert ran.code == 0, ran
    assert ran.out.startswith("# News\n\nThe mill is **open** again.")
    assert "Menu" not in ran.out
    shown = await claw("sessions", "show", "news", "--json")
    assert shown.json["labels"] == ["agent", "external:web/127.0.0.1", "owner", "private"]
    checked = await claw("run", f"check {services.url}/nothing")
    assert checked.code == 0, checked
    assert "answers with status 404 Not Found in" in checked.out
    missing = await claw("run", f"fetch {services.url}/nothing")
    assert (missing.code, "status 404 Not Found" in missing.out + missing.err) == (1, True), missing


async def test_a_redirect_to_where_clouds_hand_out_credentials_ends_the_fetch(claw: Claw, services: Services) -> None:
    settings(claw, OPEN)
    ran = await claw("run", f"fetch {services.url}/inside")
    assert ran.code == 1, ran
    assert "169.254.169.254, a link-local or cloud metadata address" in ran.out + ran.err


async def test_a_question_about_a_fetch_and_policy_explain_show_the_judged_address(claw: Claw, services: Services) -> None:
    settings(claw, f"{OPEN}    - {{id: asks, decision: ask, tool: web_fetch}}\n")
    explained = await claw("policy", "explain", "--url", f"{services.url}/news", "--json")
    assert (explained.json["decision"], explained.json["addresses"]) == ("ask", ["127.0.0.1"])
    names = await claw("policy", "explain", "--url", "https://a.example/", "--resolve", "a.example=93.184.216.34,1.1.1.1")
    assert "addresses 93.184.216.34, 1.1.1.1" in names.out
    parked = await claw("run", f"fetch {services.url}/news", "--approvals", "park")
    assert services.asked == []
    asked = await claw("approvals", "list", "--json")
    assert len(asked.json) == 1, (parked, asked)
    approved = await claw("approvals", "answer", asked.json[0]["approval_id"], "once")
    assert approved.code == 0, approved
    resumed = await claw("recover")
    assert services.asked == ["/news"], (approved, resumed)


async def test_every_tool_that_comes_with_the_program_is_marked_as_built_in(claw: Claw) -> None:
    tools = (await claw("tools", "list", "--json")).json
    assert {"web_fetch", "http_check", "terminal", "echo"} <= {tool["name"] for tool in tools}
    assert [tool["name"] for tool in tools if not tool["built_in"]] == []
