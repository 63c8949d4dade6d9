"""The doctor: each thing that may be wrong with a machine, seen, and with a remedy that can be typed."""

import socket
import subprocess

import pytest

from labkit.classroom import machine
from labkit.classroom.machine import examine


def sign(what, **environment):
    return next(sign for sign in examine(environment) if sign.what == what)


def test_every_sign_is_one_line_that_any_console_can_print():
    for seen in examine({}):
        assert str(seen).isascii() and "\n" not in str(seen)


def test_a_package_astray_is_named_with_its_pin(monkeypatch):
    real = machine.version
    monkeypatch.setattr(machine, "version", lambda name: "0.0.1" if name == "openai" else real(name))
    assert "openai 0.0.1 (pinned ==" in sign("packages").seen
    assert sign("packages").remedy == "Run: uv sync"


def test_a_package_that_is_missing_is_named(monkeypatch):
    def version(name):
        raise machine.PackageNotFoundError(name)

    monkeypatch.setattr(machine, "version", version)
    assert "openai is missing" in sign("packages").seen and "ruff" not in sign("packages").seen


@pytest.mark.parametrize(
    ("starts", "well"), [("python", True), (machine.sys.executable, True), ("/elsewhere/bin/python", False)]
)
def test_a_kernel_of_another_python_is_found_out(starts, well, monkeypatch):
    spec = type("Spec", (), {"argv": [starts]})
    specs = type(
        "Specs", (), {"find_kernel_specs": lambda s: {"python3"}, "get_kernel_spec": lambda s, n: spec}
    )
    monkeypatch.setattr(machine, "KernelSpecManager", specs)
    assert bool(sign("kernel python3").remedy) is not well


def test_no_kernel_at_all(monkeypatch):
    monkeypatch.setattr(machine, "KernelSpecManager", type("Specs", (), {"find_kernel_specs": lambda s: {}}))
    assert sign("kernel python3").seen == "not found" and "ipykernel" in sign("kernel python3").remedy


def test_a_machine_that_forbids_ports(monkeypatch):
    def refuse(address):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket, "create_server", refuse)
    assert "Permission denied" in sign("ports").seen and "127.0.0.1" in sign("ports").remedy


def test_a_font_that_is_gone(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "FONT", tmp_path / "font.ttf")
    assert sign("fonts").remedy == "Run: git checkout labkit/classroom/fonts"


def test_a_browser_without_chinese(monkeypatch):
    nothing = subprocess.CompletedProcess([], 0, b"", b"")
    monkeypatch.setattr(machine.shutil, "which", lambda name: name)
    monkeypatch.setattr(machine.subprocess, "run", lambda *_, **__: nothing)
    assert "fonts-wqy-microhei" in sign("fonts").remedy


@pytest.mark.parametrize(
    ("encoding", "well"),
    [("utf-8", True), ("cp936", True), ("gbk:replace", True), ("ascii", False), ("no such", False)],
)
def test_a_console_without_chinese(encoding, well):
    assert bool(sign("console", PYTHONIOENCODING=encoding).remedy) is not well


@pytest.mark.parametrize("vendor", ["openai", "deepseek", "qwen", "kimi"])
def test_a_vendor_without_its_key(vendor):
    missing = sign("answers", LABKIT_CLIENT=vendor)
    assert machine.VENDORS[vendor].key_variable in missing.remedy
    assert sign("answers", LABKIT_CLIENT=vendor, **{machine.VENDORS[vendor].key_variable: "k"}).remedy == ""


def test_a_local_model_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(machine, "find_spec", lambda name: None)
    assert sign("answers", LABKIT_CLIENT="local").remedy == "Run: uv sync --extra local"


def test_no_secret_is_ever_printed():
    secret = {one.key_variable: "sk-secret" for one in machine.VENDORS.values()}
    secret |= {"HTTPS_PROXY": "http://me:sk-secret@proxy:3128", "LABKIT_API_KEY": "sk-secret"}
    assert "sk-secret" not in "\n".join(map(str, examine(secret)))
