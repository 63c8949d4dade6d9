"""The same notebooks against another answer: a server that speaks the wire, named by LABKIT_CLIENT alone."""

import nbformat
import pytest

from labkit.classroom.workbook import execute, quiet_environment
from labkit.files import ROOT
from labkit.service.api import Service
from labkit.service.brains.simulated import simulated
from labkit.service.server import serving


@pytest.mark.parametrize("name", ["00_start_here", "01_tool_call_loop"])
def test_a_lesson_runs_against_a_server(name, tmp_path):
    service = Service(simulated())
    lesson = nbformat.read(ROOT / "solutions" / f"{name}.ipynb", as_version=4)
    with serving(service) as url:
        ran = execute(lesson, tmp_path, quiet_environment(LABKIT_CLIENT=url, LABKIT_CHECK="strict"))
    assert len(service.seen) >= 3
    assert "（模拟模型）" in str([cell.get("outputs") for cell in ran.cells][-6:])
