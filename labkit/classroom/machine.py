"""What a lesson needs of this machine, found or not, each with its remedy. It looks, and changes nothing."""

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from jupyter_client.kernelspec import KernelSpecManager
from packaging.requirements import Requirement

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
        return f"{'look' if self.remedy else 'ok':5} {self.what}: {self.seen}" + f". {self.remedy}" * bool(
            self.remedy
        )


def examine(environment: dict[str, str]) -> Iterator[Sign]:
    """What may stop a learner, in the order in which to mend it; keys are named and never shown."""
    old = sys.version_info < (3, 11)
    yield Sign("Python", sys.version.split()[0], "Run: uv python install 3.12" if old else "")
    astray = list(_astray())
    yield Sign("packages", ", ".join(astray) or "as pinned", "Run: uv sync" if astray else "")
    found = "python3" in KernelSpecManager().find_kernel_specs()
    yield Sign(
        "kernel python3", "found" if found else "not found", "" if found else "Run: uv sync --reinstall"
    )
    yield _proxy({name.lower(): value for name, value in environment.items()})
    keys = [one.key_variable for one in VENDORS.values() if environment.get(one.key_variable)]
    yield Sign("keys", f"set: {', '.join(keys)}" if keys else "none, and none is needed")
    yield Sign("answers", f"LABKIT_CLIENT is {environment.get('LABKIT_CLIENT') or 'not set: simulated'}")
    yield Sign(
        "small local model", "installed" if find_spec("xllamacpp") else "not installed, and not needed"
    )


def _astray() -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for pin in map(Requirement, project["tool"]["uv"]["constraint-dependencies"]):
        try:
            installed = version(pin.name)
        except PackageNotFoundError:
            continue
        if (pin.marker is None or pin.marker.evaluate()) and installed not in pin.specifier:
            yield f"{pin.name} {installed} (pinned {pin.specifier})"


def _proxy(environment: dict[str, str]) -> Sign:
    proxies = [name for name in ("http_proxy", "https_proxy", "all_proxy") if environment.get(name)]
    direct = (
        not proxies or "127.0.0.1" in environment.get("no_proxy", "") or environment.get("no_proxy") == "*"
    )
    seen = f"{', '.join(proxies) or 'none'}" + ("" if direct else ", also for this machine itself")
    return Sign("proxy", seen, "" if direct else "Set NO_PROXY to localhost,127.0.0.1")
