"""The tables of services and of withdrawn models, as they are shipped."""

import json
from pathlib import Path

import pytest

from neuralclaw.errors import ConfigError
from neuralclaw.providers import models
from neuralclaw.providers.known_services import KNOWN, KnownServices
from neuralclaw.providers.models import successor
from neuralclaw.providers.withdrawn import WithdrawnModels, withdrawn
from neuralclaw.types.datafile import decode_table

PLACE = Path(models.__file__).parent
ROWS = [row for rows in withdrawn().values() for row in rows.values()]


def damaged(row: dict[str, object]) -> str:
    data = {"source": "x", "models": [{"service": "openai", "model": "a", "since": "2026-01-01", "use": "b"}, row]}
    with pytest.raises(ConfigError) as caught:
        decode_table("providers/withdrawn.json", json.dumps(data).encode(), WithdrawnModels)
    return caught.value.text


@pytest.mark.parametrize(("service", "model", "use"), [(row.service, name, row.use) for row in ROWS for name in (row.examples or (row.model,))])
def test_a_withdrawn_model_has_its_successor_from_its_day_on(service: str, model: str, use: str) -> None:
    assert successor(service, model, "9999-12-31") == use
    assert successor(service, model, "2000-01-01") is None


def test_every_service_of_the_table_is_a_known_one() -> None:
    assert {row.service for row in ROWS} <= set(KNOWN)


def test_a_damaged_row_is_refused_by_file_and_row() -> None:
    good = {"service": "openai", "model": "gpt-x", "since": "2026-01-01", "use": "gpt-y"}
    assert damaged({**good, "since": "soon"}).startswith('providers/withdrawn.json, models[1].since ("openai"): invalid')
    assert "gpt-* has no examples" in damaged({**good, "model": "gpt-*"})
    assert "not every example is one of gpt-*" in damaged({**good, "model": "gpt-*", "examples": ["o1"]})
    assert "not every example is one of gpt-x" in damaged({**good, "examples": ["gpt-x-1"]})
    assert "unknown field" in damaged({**good, "until": "2027-01-01"})
    with pytest.raises(ConfigError, match=r"services\[0\] .*ftp://x is not an http or https address"):
        decode_table("providers/services.json", b'{"services": [{"name": "x", "base_url": "ftp://x", "model": "m"}]}', KnownServices)


def test_a_damaged_fact_of_a_model_is_refused_by_service_and_model() -> None:
    data = json.loads((PLACE / "models.json").read_text())
    data["openai"]["gpt-4"][1] = "wide"
    with pytest.raises(ConfigError, match=r"providers/models\.json, openai/gpt-4: expected `int`, got `str`"):
        decode_table("providers/models.json", json.dumps(data).encode(), models.TABLE_TYPE)
