"""A process that is killed at any point of a run: the next one goes on, and everything has happened once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = "50" if os.environ.get("LABKIT_LONG") == "1" else "10"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the kills are made in forked processes")
def test_a_run_killed_at_random_points_is_resumed_and_does_everything_once(tmp_path):
    script = Path(__file__).with_name("kills.py")
    command = [sys.executable, str(script), COUNT, "1", str(tmp_path / "desk")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    kills = [json.loads(line) for line in done.stdout.splitlines()]
    assert [kill["first"] for kill in kills] == ["killed"] * int(COUNT)
    assert [(kill["second"], kill["refunds"], kill["mails"]) for kill in kills] == [("answered", 1, 1)] * int(
        COUNT
    )
    assert len({kill["at"] for kill in kills}) > int(COUNT) // 2
