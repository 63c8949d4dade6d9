"""Every test run is offline and leaves no trace of lessons, also one not started by `labkit test`."""

import os
import runpy
from pathlib import Path

os.environ.setdefault("LABKIT_PROGRESS", "off")
OFFLINE = Path(__file__).parent / "tests" / "offline"

if str(OFFLINE) not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
    runpy.run_path(str(OFFLINE / "sitecustomize.py"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(OFFLINE), os.environ.get("PYTHONPATH")]))
