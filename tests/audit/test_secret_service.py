"""The keyring of the system, for real: gnome-keyring behind a session bus of its own keeps the key of the secret store and that of the signed anchor."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

SESSION = """
printf pw | gnome-keyring-daemon --unlock --components=secrets --control-directory="$XDG_RUNTIME_DIR" >/dev/null
printf stored-Value-12345 | "$PYTHON" -m neuralclaw secrets set DEMO_TOKEN >/dev/null
"$PYTHON" -m neuralclaw run "calculate 6*7" >/dev/null
"$PYTHON" -m neuralclaw audit verify --json
"$PYTHON" -m neuralclaw doctor --json
"""


@pytest.mark.full
def test_a_secret_service_keeps_the_keys_of_the_store_and_of_the_signed_anchor(tmp_path: Path) -> None:
    names = ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "NEURALCLAW_HOME")
    folders = {name: str(tmp_path / name.lower()) for name in names}
    for folder in folders.values():
        Path(folder).mkdir(mode=0o700)
    env = {"PATH": os.environ["PATH"], "PYTHON": sys.executable, "LC_ALL": "C.UTF-8", **folders}
    command = ["dbus-run-session", "--", "bash", "-e", "-c", SESSION]
    session = subprocess.Popen(command, env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = session.communicate(timeout=60)
    finally:
        try:
            os.killpg(session.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    assert session.returncode == 0, err.decode()
    verified, checks = (msgspec.json.decode(line) for line in out.splitlines())
    assert [(one["place"].endswith(" (signed)"), one["ok"], one["note"]) for one in verified["anchors"]] == [(True, True, "")]
    told = {check["check"]: check["text"] for check in checks}
    assert told["secrets"].endswith("the key is in the keyring of the system")
    assert list(Path(folders["XDG_STATE_HOME"]).rglob("secrets-*.key")) == []
    away = subprocess.run(
        [sys.executable, "-m", "neuralclaw", "secrets", "list"], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False
    )
    assert away.returncode == 78
    assert "stored-Value-12345" not in away.stdout + away.stderr
