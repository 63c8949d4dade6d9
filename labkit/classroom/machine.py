"""What a lesson needs of this machine, found or not, each with its remedy. It looks, and changes nothing."""

import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from jupyter_client.kernelspec import KernelSpecManager
from packaging.requirements import Requirement

from labkit.classroom.plots import FONT
from labkit.files import ROOT
from labkit.protocol.families import VENDORS


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing looked at: what was seen, and what to do when something is missing.

    >>> print(Sign("kernel python3", "not found", "Run: uv sync --reinstall-package ipykernel"))
    look  kernel python3: not found. Run: uv sync --reinstall-package ipykernel
    """

    what: str
    seen: str
    remedy: str = ""

    def __str__(self) -> str:
        remedy = f". {self.remedy}" if self.remedy else ""
        return f"{'look' if remedy else 'ok':5} {self.what}: {self.seen}{remedy}"


def examine(environment: dict[str, str]) -> Iterator[Sign]:
    """What may stop a learner, in the order in which to mend it; keys are named and never shown."""
    old = sys.version_info < (3, 11)
    yield Sign("Python", sys.version.split()[0], "Run: uv python install 3.12" if old else "")
    astray = list(_astray())
    yield Sign("packages", ", ".join(astray) or "as pinned", "Run: uv sync" if astray else "")
    yield _kernel()
    yield _ports()
    yield _fonts()
    yield _console(environment)
    yield _proxy({name.lower(): value for name, value in environment.items()})
    keys = [one.key_variable for one in VENDORS.values() if environment.get(one.key_variable)]
    yield Sign("keys", f"set: {', '.join(keys)}" if keys else "none, and none is needed")
    yield _answers(environment, keys)


def _astray() -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {Requirement(one).name for one in project["project"]["dependencies"]}
    for pin in map(Requirement, project["tool"]["uv"]["constraint-dependencies"]):
        if pin.marker is None or pin.marker.evaluate():
            try:
                installed = version(pin.name)
            except PackageNotFoundError:
                installed = "is missing" if pin.name in needed else ""
            if installed and (installed == "is missing" or installed not in pin.specifier):
                yield f"{pin.name} {installed} (pinned {pin.specifier})"


def _kernel() -> Sign:
    """A kernel of another Python would import another labkit, or none."""
    specs = KernelSpecManager()
    if "python3" not in specs.find_kernel_specs():
        return Sign("kernel python3", "not found", "Run: uv sync --reinstall-package ipykernel")
    starts = Path(specs.get_kernel_spec("python3").argv[0])
    if starts.name == str(starts) or starts.parent == Path(sys.executable).parent:
        return Sign("kernel python3", "starts this Python")
    return Sign("kernel python3", f"starts {starts}", "Run: uv run jupyter kernelspec remove python3")


def _ports() -> Sign:
    try:
        with socket.create_server(("127.0.0.1", 0)):
            return Sign("ports", "free ones on 127.0.0.1")
    except OSError as error:
        return Sign("ports", str(error), "Let programs listen on 127.0.0.1 (firewall, sandbox, container).")


def _fonts() -> Sign:
    """Figures have a font of the course; a browser on a bare Linux may have none for Chinese."""
    if not FONT.exists():
        return Sign("fonts", f"{FONT.name} is gone", "Run: git checkout labkit/classroom/fonts")
    lister = shutil.which("fc-list")
    if lister and not subprocess.run([lister, ":lang=zh"], capture_output=True).stdout.strip():
        return Sign("fonts", "none for Chinese in the browser", "Run: sudo apt install fonts-wqy-microhei")
    return Sign("fonts", "Chinese in figures and in the browser" if lister else "Chinese in figures")


def _console(environment: dict[str, str]) -> Sign:
    encoding = (environment.get("PYTHONIOENCODING") or sys.stdout.encoding or "ascii").split(":")[0]
    try:
        "中文".encode(encoding)
    except (LookupError, UnicodeError):
        return Sign("console", f"{encoding} has no Chinese characters", "Set PYTHONUTF8=1 in this terminal")
    return Sign("console", encoding)


def _answers(environment: dict[str, str], keys: list[str]) -> Sign:
    """Who answers in the lessons, and whether what that needs is there."""
    which, extra = environment.get("LABKIT_CLIENT", ""), find_spec("xllamacpp") is not None
    if which == "local" and not extra:
        return Sign("answers", "local, which is not installed", "Run: uv sync --extra local")
    if which in VENDORS and VENDORS[which].key_variable not in keys:
        key = VENDORS[which].key_variable
        return Sign("answers", f"{which}, whose key is not set", f"Set {key}, or unset LABKIT_CLIENT")
    model = "installed" if extra else "not installed, and not needed"
    return Sign("answers", f"{which or 'simulated'}; small local model {model}")


def _proxy(environment: dict[str, str]) -> Sign:
    proxies = [name for name in ("http_proxy", "https_proxy", "all_proxy") if environment.get(name)]
    spared = environment.get("no_proxy", "")
    direct = not proxies or spared == "*" or "127.0.0.1" in spared
    seen = f"{', '.join(proxies) or 'none'}" + ("" if direct else ", also for this machine itself")
    return Sign("proxy", seen, "" if direct else "Set NO_PROXY to localhost,127.0.0.1")
