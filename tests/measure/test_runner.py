"""Samples reach the disk once, whatever happens on the way; async, sync and Ray write the same rows."""

import asyncio
import multiprocessing
import os
import random
import time
from collections import Counter

import pytest

from labkit.files import read_appended
from labkit.measure import report
from labkit.measure.cases import golden
from labkit.measure.metrics import scores
from labkit.measure.runner import (
    Desk,
    aevaluate,
    desk_unit,
    evaluate,
    graded,
    pending,
    spacing,
)
from tests.measure.desk import Marking, made_row

CASES = golden()[::25]
KILLS = 20 if os.environ.get("LABKIT_LONG") else 3


def _comparable(path):
    """The rows without what a clock wrote."""

    def still(value):
        if isinstance(value, dict):
            return {key: still(part) for key, part in value.items() if key != "seconds"}
        return [still(part) for part in value] if isinstance(value, list) else value

    return sorted((still(row) for row in read_appended(path)), key=lambda row: (row["case"], row["repeat"]))


@pytest.fixture(scope="module")
def rows_one_by_one(tmp_path_factory):
    path = tmp_path_factory.mktemp("eval") / "rows.jsonl"
    assert evaluate(CASES, 2, desk_unit(Desk("sim")), path) == 2 * len(CASES)
    return _comparable(path)


def test_async_samples_side_by_side_give_the_same_rows(rows_one_by_one, tmp_path):
    unit = desk_unit(Desk("sim", asynchronous=True))
    asyncio.run(aevaluate(CASES, 2, unit, tmp_path / "rows.jsonl", concurrency=5))
    assert _comparable(tmp_path / "rows.jsonl") == rows_one_by_one


def test_ray_with_two_workers_gives_the_same_rows(rows_one_by_one, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # what Ray calls: stay on 127.0.0.1
    ray = pytest.importorskip("ray", reason="the extra labkit[ray] is not installed")
    from labkit.measure.cluster import evaluate_on_ray

    try:
        evaluate_on_ray(CASES, 2, desk_unit(Desk("sim")), tmp_path / "rows.jsonl", workers=2)
    finally:
        ray.shutdown()
    assert _comparable(tmp_path / "rows.jsonl") == rows_one_by_one


def test_repeats_differ_where_the_model_is_undecided(rows_one_by_one):  # covers: 5.2 L13
    assert {row["repeat"] for row in rows_one_by_one} == {0, 1}


def test_a_finished_eval_runs_nothing_again(tmp_path):
    ledger, rows = tmp_path / "paid", tmp_path / "rows.jsonl"
    assert [evaluate(CASES, 2, Marking(ledger), rows) for _ in range(2)] == [2 * len(CASES), 0]
    assert len(ledger.read_text(encoding="utf-8").splitlines()) == 2 * len(CASES)


def test_more_repeats_add_only_what_is_new(tmp_path):
    rows = tmp_path / "rows.jsonl"
    evaluate(CASES, 1, Marking(tmp_path / "paid"), rows)
    assert {repeat for _, repeat in pending(CASES, 3, rows)} == {1, 2}


def test_an_early_stop_has_seen_every_case_alike(tmp_path):
    first = [case.id for case, _ in pending(CASES, 3, tmp_path / "none")][: len(CASES)]
    assert first == [case.id for case in CASES]


def test_kill_minus_nine_loses_no_sample_and_pays_none_on_disk_again(tmp_path):
    """What was on disk before a kill is never run again; at most the one in flight is."""
    ledger, rows, finished, kills = tmp_path / "paid", tmp_path / "rows.jsonl", [], 0
    arguments = (golden()[:60], 2, Marking(ledger, 0.005), rows)
    while len(finished) < 120:
        process = _processes().Process(target=evaluate, args=arguments)
        process.start()
        while kills < KILLS and process.is_alive():
            if rows.exists() and rows.read_bytes().count(b"\n") >= len(finished) + 3:
                process.kill()
                kills += 1
                break
            time.sleep(random.Random(kills).random() * 0.01)
        process.join()
        finished = list(read_appended(rows))
    samples = Counter((row["case"], row["repeat"]) for row in finished)
    starts = len(ledger.read_text(encoding="utf-8").splitlines())
    assert kills == KILLS and len(samples) == 120 and set(samples.values()) == {1}
    assert starts <= 120 + kills


def _processes():
    """Processes that have imported everything before they start, where the system can do that."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["labkit.measure.runner", "tests.measure.desk"])
    return context


class Hours:
    """A clock that goes on when all sleep: to the hour at which the first one wakes."""

    def __init__(self):
        self.now, self.wakes = 0.0, []

    async def sleep(self, seconds):
        wake = self.now + seconds
        self.wakes.append(wake)
        await asyncio.sleep(0)
        while wake > min(self.wakes):
            await asyncio.sleep(0)
        self.wakes.remove(wake)
        self.now = wake


@pytest.mark.parametrize(("gap", "starts"), [(3, [0, 3, 6, 9, 12, 15]), (0, [0, 0, 10, 10, 20, 20])])
def test_starts_keep_their_distance_and_only_so_many_run_at_a_time(tmp_path, gap, starts):
    """Samples of ten seconds, two at a time or, with a gap of three seconds, four."""
    hours, seen = Hours(), []

    async def unit(case, repeat):
        seen.append(hours.now)
        await hours.sleep(10)
        return {"case": case.id, "repeat": repeat}

    how = {"concurrency": 4 if gap else 2, "gap": gap, "clock": lambda: hours.now, "asleep": hours.sleep}
    asyncio.run(aevaluate(CASES[:6], 1, unit, tmp_path / "rows.jsonl", **how))
    assert seen == starts


def test_the_narrower_limit_sets_the_distance():
    assert spacing(2, 3000, requests_per_minute=600, tokens_per_minute=60_000) == 3.0
    assert spacing(2, 10, requests_per_minute=600, tokens_per_minute=60_000) == 0.2


def test_e04_a_broken_grader_is_a_bucket_of_its_own():
    """E04: a grader that raises on a third of the items costs the model nothing and fails the run."""

    def grader(number):
        return {} if number % 3 else {"success": {}["missing"]}

    rows = [made_row(f"c{n}") | graded(lambda n=n: made_row("x")["grade"] | grader(n)) for n in range(30)]
    broken = [row for row in rows if row["grader_error"]]
    assert len(broken) == 10 and all("KeyError" in row["grader_error"] for row in broken)
    assert len(scores(rows, "task_success")) == 20 and set(
        map(tuple, scores(rows, "task_success").values())
    ) == {(1,)}
    assert "10 grader errors" in report.text(rows)
