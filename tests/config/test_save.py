"""`init`'s writing: for the person alone, whole or not at all, and the former file kept."""

import json
import stat
from pathlib import Path

import pytest

from neuralclaw import config
from neuralclaw.config.save import save
from neuralclaw.errors import ConfigError

CHOSEN = {"llm.default_provider": "groq"}


def everything(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_a_new_file_names_the_schema_that_lies_beside_it(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    written = save(str(home / "config.yaml"), CHOSEN, {"GROQ_API_KEY": "k"})
    assert written == [str(home / name) for name in ("config.schema.json", ".env", "config.yaml")]
    assert (home / "config.yaml").read_text().startswith("# yaml-language-server: $schema=./config.schema.json\n")
    assert json.loads((home / "config.schema.json").read_text()) == json.loads(json.dumps(config.schema()))
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()} == {0o600}
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    loaded = config.load(home=str(home), environ={})
    assert loaded.settings.llm.default_provider == "groq"
    assert loaded.variable_origin("GROQ_API_KEY") == ".env:1"


def test_where_one_file_cannot_be_replaced_all_stay_as_they_are(home: Path) -> None:
    (home / "config.yaml").write_text("agent: {name: x}\n")
    (home / ".env").write_text("A=1\n")
    (home / "config.yaml.bak").mkdir()
    before = everything(home)
    with pytest.raises(ConfigError, match="nothing was changed"):
        save(str(home / "config.yaml"), CHOSEN, {"GROQ_API_KEY": "k"})
    assert everything(home) == before
    with pytest.raises(ConfigError, match="cannot be written"):
        save("/dev/null/home/config.yaml", CHOSEN, {})


def test_a_file_that_cannot_be_changed_alone_is_left(home: Path) -> None:
    (home / "config.yaml").write_text("a: &b {top_p: 1}\nllm: *b\n")
    before = everything(home)
    with pytest.raises(ConfigError, match="nothing was changed"):
        save(str(home / "config.yaml"), CHOSEN, {"GROQ_API_KEY": "k"})
    assert everything(home) == before


def test_a_link_to_the_file_is_followed_and_stays_a_link(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.yaml"
    real.write_text("# in git\nagent: {name: x}\n")
    (home / "config.yaml").symlink_to(real)
    save(str(home / "config.yaml"), CHOSEN, {})
    assert (home / "config.yaml").is_symlink()
    assert real.read_text() == "# in git\nagent: {name: x}\nllm:\n  default_provider: groq\n"
    assert (home / "config.yaml.bak").read_text() == "# in git\nagent: {name: x}\n"


def test_the_file_stands_where_it_is_or_beside_the_env_file_or_in_the_data_directory(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    data, settings = tmp_path / ".local/share/neuralclaw", tmp_path / ".config/neuralclaw"
    assert config.target(None, environ) == (str(data / "config.yaml"), False)
    settings.mkdir(parents=True)
    (settings / ".env").write_text("GROQ_API_KEY=k\n")
    assert config.target(None, environ) == (str(settings / "config.yaml"), False)
    (settings / "config.json").write_text("{}")
    assert config.target(None, environ) == (str(settings / "config.json"), True)
    assert config.target(str(data), environ) == (str(data / "config.yaml"), False)
