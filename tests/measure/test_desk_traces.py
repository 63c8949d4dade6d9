"""The traces that notebook 9 asks are what the agent of labkit leaves today."""

from labkit.files import read_jsonl
from labkit.measure import trace
from tests.measure.desk_traces import FILE, thousand

AGAIN = "the desk's runs are others now: uv run python tests/measure/desk_traces.py, then labkit build 09"


def test_the_thousand_runs_on_disk_are_those_that_are_made():
    kept = [trace.from_json(row) for row in read_jsonl(FILE)]
    assert len(kept) == 1000
    assert kept == list(thousand()), AGAIN
