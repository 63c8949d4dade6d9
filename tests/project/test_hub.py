"""A hub that lacks something says what, and how to get it, before anything starts."""

import pytest

from labkit.classroom import hub
from labkit.protocol.errors import BadSetup


@pytest.fixture
def complete(monkeypatch, tmp_path):
    """A machine with everything; what would start is written down instead."""
    started = []

    class Started:
        def __init__(self, command, **options):
            started.append((command, options))

        def wait(self):
            return 0

    monkeypatch.setattr(hub.sys, "platform", "linux")
    monkeypatch.setattr(hub, "find_spec", lambda name: name)
    monkeypatch.setattr(hub.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(hub.subprocess, "Popen", Started)
    return started


@pytest.mark.parametrize("package", ["jupyterhub", "nativeauthenticator"])
def test_a_missing_package_is_named_with_the_command_that_brings_it(package, complete, monkeypatch, tmp_path):
    monkeypatch.setattr(hub, "find_spec", lambda name: None if name == package else name)
    with pytest.raises(BadSetup, match=f"{package} is not installed. Run: uv run --group hub"):
        hub.serve("teacher", "127.0.0.1", 8000, tmp_path / "hub")
    assert not (tmp_path / "hub").exists() and not complete


def test_a_missing_proxy_is_named_with_its_remedy(complete, monkeypatch, tmp_path):
    monkeypatch.setattr(hub.shutil, "which", lambda name: None)
    with pytest.raises(BadSetup, match="npm install --global configurable-http-proxy"):
        hub.serve("teacher", "127.0.0.1", 8000, tmp_path)


def test_windows_is_told_at_once(complete, monkeypatch, tmp_path):
    monkeypatch.setattr(hub.sys, "platform", "win32")
    with pytest.raises(BadSetup, match="WSL"):
        hub.serve("teacher", "127.0.0.1", 8000, tmp_path)


def test_the_hub_gets_its_settings_and_a_folder_of_its_own(complete, tmp_path, capsys):
    assert hub.serve("Teacher", "127.0.0.1", 8123, tmp_path / "房间 1") == 0
    [(command, options)] = complete
    assert command[1:3] == ["-m", "jupyterhub"] and hub.CONFIG.exists()
    assert options["env"]["LABKIT_HUB"] == str(tmp_path / "房间 1")
    assert options["env"]["LABKIT_ADMIN"] == "teacher" and options["env"]["LABKIT_HUB_URL"].endswith(":8123")
    assert "http://127.0.0.1:8123/hub/signup" in capsys.readouterr().out
