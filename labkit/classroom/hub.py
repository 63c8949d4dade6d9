"""A room of learners on one machine: JupyterHub with real passwords, set up in docs/workshop."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from labkit.files import ROOT
from labkit.protocol.errors import BadSetup

CONFIG = ROOT / "docs" / "workshop" / "jupyterhub_config.py"
PROXY, GROUP = "configurable-http-proxy", "Run: uv run --group hub labkit hub --admin NAME"


def missing() -> str:
    """What the hub lacks on this machine, with its remedy; empty when nothing does."""
    if sys.platform == "win32":
        return "JupyterHub does not run on Windows. Use WSL, or .devcontainer."
    for package in ("jupyterhub", "nativeauthenticator"):
        if not find_spec(package):
            return f"{package} is not installed. {GROUP}"
    if not shutil.which(PROXY):
        return f"{PROXY} is not on PATH. Install Node.js, then run: npm install --global {PROXY}"
    return ""


def serve(admin: str, host: str, port: int, state: Path) -> int:
    """Run the hub until Ctrl-C and return its exit code; raises `BadSetup` when something is missing."""
    if trouble := missing():
        raise BadSetup(trouble)
    state.mkdir(parents=True, exist_ok=True)
    url = f"http://{host}:{port}"
    print(f"{url}/hub/signup: everybody signs up; {admin} lets them in at {url}/hub/authorize", flush=True)
    settings = {"LABKIT_HUB": str(state.resolve()), "LABKIT_ADMIN": admin.lower(), "LABKIT_HUB_URL": url}
    command = [sys.executable, "-m", "jupyterhub", f"--config={CONFIG}"]
    hub = subprocess.Popen(command, cwd=state, env=os.environ | settings)
    while True:
        try:
            return hub.wait()
        except KeyboardInterrupt:
            continue
