"""From a provider's name to its service: the table, the settings over it, the environment over both."""

from typing import Any

import pytest

from neuralclaw.errors import ConfigError
from neuralclaw.providers.known_services import KNOWN, is_local, names, resolve, with_key
from neuralclaw.providers.model_service import ModelEndpoint
from neuralclaw.providers.models import info, refused_parameters
from neuralclaw.providers.service_errors import no_connection
from neuralclaw.types.messages import ModelInfo, Price

SECRET = "sk-secret"


@pytest.mark.parametrize("name", [name for name, known in KNOWN.items() if known.keys and not is_local(ModelEndpoint(name="", base_url=known.base_url).host)])
def test_a_known_service_needs_its_key_and_nothing_else(name: str) -> None:
    known = KNOWN[name]
    for variable in known.keys:
        service = resolve(name, {}, {variable: SECRET})
        assert (service.base_url, service.api_key, service.default_model, service.own) == (known.base_url, SECRET, known.model, True)
    for env in ({}, {known.keys[0]: ""}, {known.keys[0]: "  "}):
        with pytest.raises(ConfigError, match=known.keys[0]):
            resolve(name, {name: {"api_key": ""}}, env)


def test_settings_lie_over_the_table_and_the_environment_over_both() -> None:
    providers = {"openai": {"base_url": "http://file.example/v1/", "api_key": "from-file"}}
    told = resolve("openai", providers, {})
    assert (told.base_url, told.api_key, told.own, told.host) == ("http://file.example/v1", "from-file", False, "file.example")
    over = resolve("openai", providers, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "from-env"})
    assert (over.base_url, over.api_key, over.host) == ("http://127.0.0.1:9/v1", "from-env", "127.0.0.1:9")


def test_openai_speaks_responses_at_home_and_chat_elsewhere_unless_told_otherwise() -> None:
    key = {"OPENAI_API_KEY": SECRET}
    assert resolve("openai", {}, key).api == "responses"
    assert resolve("openai", {"openai": {"base_url": "https://api.openai.com/v1/"}}, key).api == "responses"
    assert resolve("openai", {"openai": {"api": "chat"}}, key).api == "chat"
    assert resolve("openai", {}, {**key, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}).api == "chat"
    assert resolve("openai", {"openai": {"base_url": "http://box.lan/v1", "api": "responses"}}, key).api == "responses"
    mine = resolve("mine", {"mine": {"base_url": "http://box.lan/v1/responses", "api": "responses"}}, {})
    assert (mine.api, mine.base_url) == ("responses", "http://box.lan/v1")


def test_a_server_on_this_machine_needs_no_key() -> None:
    for url in ("http://localhost:8080/v1", "http://127.0.0.1:8080/v1", "http://[::1]:8080/v1", "http://127.0.0.1/v1"):
        assert resolve("openai", {"openai": {"base_url": url}}, {}).api_key == ""
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        resolve("openai", {"openai": {"base_url": "https://localhost.evil.example/v1"}}, {})


def test_a_service_of_ones_own_needs_an_address() -> None:
    facts = {"big": {"context": 131072, "tools": False, "price": {"input": 0.5, "cached": 0.05, "output": 1.5}}}
    mine: dict[str, Any] = {"mine": {"api": "chat", "base_url": "http://box.lan:8000/v1", "models": facts}}
    service = resolve("mine", mine, {"MINE_API_KEY": SECRET})
    assert (service.api_key, service.key_name, service.default_model) == (SECRET, "MINE_API_KEY", "big")
    assert info(service, "big") == ModelInfo(context=131072, tools=False, price=Price(0.5, 1.5, 0.05))
    assert info(service, "other") == ModelInfo()
    assert resolve("mine", mine, {}).api_key == ""
    with pytest.raises(ConfigError, match="base_url"):
        resolve("mine", {"mine": {}}, {})
    with pytest.raises(ConfigError, match="URL"):
        resolve("mine", {"mine": {"base_url": "ftp://x"}}, {})
    with pytest.raises(ConfigError, match=r"mine\.models"):
        resolve("mine", {"mine": {"base_url": "http://x/v1", "models": {"m": {"context": "big"}}}}, {})
    with pytest.raises(ConfigError, match="telepathy"):
        resolve("mine", {"mine": {"base_url": "http://x/v1", "api": "telepathy"}}, {})


def test_an_unknown_name_gets_those_there_are_and_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve("opnai", {"mine": {}}, {})
    assert all(name in caught.value.text for name in ("opnai", "openai", "groq", "mine", "offline", "ollama"))
    assert "openai" in caught.value.hint
    assert names({"mine": {}}) == sorted([*KNOWN, "mine", "local", "offline"])


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://localhost:11434"),
        ("box", "http://box:11434"),
        ("127.0.0.1:5", "http://127.0.0.1:5"),
        ("::1", "http://[::1]:11434"),
        ("[::1]:5", "http://[::1]:5"),
        ("http://box:5", "http://box:5"),
        ("http://box:5/", "http://box:5"),
        ("http://box", "http://box"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("http://0.0.0.0:5", "http://127.0.0.1:5"),
        ("https://ollama.example", "https://ollama.example"),
        ("ollama.com", "https://ollama.com"),
        ("http://box:5/v1", "http://box:5"),
        ("http://box:5/behind/api/chat", "http://box:5/behind"),
    ],
)
def test_ollamas_host_comes_with_or_without_scheme(host: str, url: str) -> None:
    assert resolve("ollama", {}, {"OLLAMA_HOST": host}).base_url == url


@pytest.mark.parametrize("url", ["http://box:5", "http://box:5/", "http://box:5/v1", "http://box:5/v1/", "http://box:5/v1/messages"])
def test_the_address_of_a_service_that_speaks_messages_carries_no_version(url: str) -> None:
    for service in (
        resolve("anthropic", {}, {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": SECRET}),
        resolve("mine", {"mine": {"api": "messages", "base_url": url}}, {}),
    ):
        assert (service.base_url, service.api, service.own) == ("http://box:5", "messages", False)


def test_what_a_service_speaks_at_home_and_what_the_owner_says() -> None:
    assert resolve("anthropic", {}, {"ANTHROPIC_API_KEY": SECRET}).api == "messages"
    assert resolve("anthropic", {"anthropic": {"api": "chat", "base_url": "http://127.0.0.1/v1"}}, {}).api == "chat"
    assert resolve("groq", {}, {"GROQ_API_KEY": SECRET}).api == "chat"


def test_the_windows_that_the_owner_gave_are_known_by_name() -> None:
    facts = {"big": {"context": 65536}, "plain": {"tools": False}, "none": None}
    assert resolve("ollama", {"ollama": {"models": facts}}, {}).windows == {"big"}
    assert resolve("ollama", {"ollama": {"api": "chat", "base_url": "http://127.0.0.1:5/v1"}}, {}).base_url == "http://127.0.0.1:5/v1"


def test_the_address_of_the_endpoint_itself_is_understood() -> None:
    assert resolve("mine", {"mine": {"base_url": "http://x/v1/chat/completions"}}, {}).base_url == "http://x/v1"


def test_services_with_a_key_are_found_in_order() -> None:
    assert with_key({}, {}) == []
    assert with_key({"groq": {}, "ollama": {}}, {"XAI_API_KEY": "x", "GROQ_API_KEY": ""}) == ["xai"]
    assert with_key({"mine": {"base_url": "http://x"}, "groq": {}}, {"XAI_API_KEY": "x", "OPENAI_API_KEY": "o", "GROQ_API_KEY": "g"}) == [
        "openai",
        "mine",
        "groq",
        "xai",
    ]


def test_a_key_is_in_no_repr() -> None:
    assert SECRET not in repr(resolve("groq", {}, {"GROQ_API_KEY": SECRET}))


def test_facts_of_models_are_found_by_their_longest_name_at_the_services_own_address() -> None:
    service = resolve("openai", {}, {"OPENAI_API_KEY": SECRET})
    assert info(service, "gpt-4o-2024-11-20").price == Price(2.5, 10, 1.25)
    assert info(service, "gpt-4o-mini-2024-07-18").price == Price(0.15, 0.6, 0.075)
    assert info(service, "gpt-4other") == ModelInfo()
    elsewhere = resolve("openai", {"openai": {"base_url": "http://127.0.0.1:1/v1"}}, {})
    assert info(elsewhere, "gpt-4o").price is None
    assert "max_tokens" in refused_parameters(service, "o3-mini")
    assert refused_parameters(service, "gpt-4o") == {"include"}
    assert not refused_parameters(elsewhere, "o3-mini")


def test_a_proxy_of_the_environment_is_named_where_a_service_elsewhere_is_not_reached() -> None:
    env = {"OPENAI_API_KEY": SECRET, "HTTPS_PROXY": "http://u:p@10.0.0.1:3128"}
    assert no_connection(resolve("openai", {}, env), "x failed: y").hint.endswith("HTTPS_PROXY is set, but no connection of this program uses a proxy.")
    assert "PROXY" not in no_connection(resolve("ollama", {}, env), "x failed: y").hint
    assert "PROXY" not in no_connection(resolve("openai", {}, {"OPENAI_API_KEY": SECRET}), "x failed: y").hint


@pytest.mark.parametrize(
    ("api", "path", "address"),
    [
        ("chat", "/chat/completions", "http://box.lan/v1/chat/completions?api-version=1"),
        ("messages", "/v1/models?limit=1", "http://box.lan/v1/models?limit=1&api-version=1"),
    ],
)
def test_a_query_of_the_address_is_sent_behind_each_path(api: str, path: str, address: str) -> None:
    end = "" if api == "messages" else "/chat/completions"
    service = resolve("mine", {"mine": {"base_url": f"http://box.lan/v1{end}?api-version=1", "api": api}}, {})
    assert service.at(path) == address
    assert resolve("mine", {"mine": {"base_url": "http://box.lan/v1"}}, {}).at("/models") == "http://box.lan/v1/models"


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://127.0.0.1:99999/v1", "http://127.0.0.1:0/v1", "http://127.0.0.1:/v1", "//x/v1", "http://", "http://x y/v1", "ftp://x/v1"]
)
def test_an_address_that_nothing_can_be_asked_at_is_wrong_configuration(url: str) -> None:
    with pytest.raises(ConfigError, match=r"llm\.providers\.mine\.base_url is not an http or https URL"):
        resolve("mine", {"mine": {"base_url": url}}, {})


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:8000/v1#frag", "has a part behind #, which is not sent"),
        ("http://..../v1", "names no host (.... is not a valid host name)"),
        ("http://127.1/v1", "names no host (127.1 is an unusual spelling of the network address 127.0.0.1)"),
        ("http://me:pass@box.lan/v1", "holds a name or password, and llm.providers.mine.api_key is set"),
    ],
)
def test_an_address_whose_request_would_go_astray_is_wrong_configuration(url: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve("mine", {"mine": {"base_url": url, "api_key": "k"}}, {})
    assert f"llm.providers.mine.base_url {words}" in caught.value.text
    assert ":pass" not in caught.value.text


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("HTTP://box.lan/v1", "http://box.lan/v1"),
        ("http://0.0.0.0:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://0.0.0.0.example.com/v1", "http://0.0.0.0.example.com/v1"),
        ("http://me:pass@box.lan/v1", "http://me:pass@box.lan/v1"),
        ("http://[fe80::1%25eth0]:8000/v1", "http://[fe80::1%25eth0]:8000/v1"),
    ],
)
def test_an_address_is_taken_as_it_is_meant(url: str, address: str) -> None:
    assert resolve("mine", {"mine": {"base_url": url}}, {}).base_url == address


def test_a_key_of_few_characters_shreds_no_text() -> None:
    assert ModelEndpoint(name="mine", base_url="http://box.lan", api_key="k").redact("Name not known") == "Name not known"
    assert "long-key" not in ModelEndpoint(name="mine", base_url="http://box.lan", api_key="long-key").redact("said long-key")
