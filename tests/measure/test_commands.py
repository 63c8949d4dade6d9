"""The harness at a terminal: results go on where they stopped, the gate's exit status is for CI."""

import json

import pytest
from typer.testing import CliRunner

from labkit.files import dataset
from labkit.measure.commands import evals, traces
from labkit.protocol.errors import BadFile, BadSetup
from tests.measure.desk import made_row


def call(app, *words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=True)


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def results(tmp_path):
    prompt = tmp_path / "v1.txt"
    prompt.write_text("你是客服。", encoding="utf-8")
    path = tmp_path / "rows.jsonl"
    assert call(evals, "run", path, "--prompt", prompt, "--every", 60).exit_code == 0
    return path


def test_a_run_writes_rows_and_a_second_one_adds_none(results):
    before = results.read_bytes()
    again = call(evals, "run", results, "--prompt", results.with_name("v1.txt"), "--every", 60)
    assert again.exit_code == 0 and results.read_bytes() == before and len(before.splitlines()) == 6


def test_rows_of_another_prompt_are_not_mixed_in(results):
    results.with_name("v1.txt").write_text("You are somebody else.", encoding="utf-8")
    mixed = call(evals, "run", results, "--prompt", results.with_name("v1.txt"), "--every", 60)
    assert isinstance(mixed.exception, BadSetup)


def test_the_gate_says_with_its_exit_status_what_ci_should_do(tmp_path):
    good = written(tmp_path / "good.jsonl", [made_row(f"c{n}") for n in range(30)])
    bad = [made_row(f"c{n}", called=["get_weather" if n < 8 else "get_order"]) for n in range(30)]
    bad = written(tmp_path / "bad.jsonl", bad)
    assert call(evals, "gate", good, good).exit_code == 0
    blocked = call(evals, "gate", good, bad)
    assert blocked.exit_code == 1 and "decided by c0" in blocked.output


def test_a_report_is_a_page_without_scripts(results, tmp_path):
    assert call(evals, "report", results, "--html", tmp_path / "page.html").exit_code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "task_success" in page and "<script" not in page


def test_two_files_are_compared_metric_by_metric(results):
    said = call(evals, "compare", results, results)
    assert said.exit_code == 0 and "task_success" in said.output and "0.000 [0.000, 0.000]" in said.output


def test_traces_answer_from_the_same_file(results):
    assert "6 runs" in call(traces, "summary", results).output
    assert len(call(traces, "worst", results, "--by", "usd", "--most", 2).output.splitlines()) == 2
    assert call(traces, "mixed", results).exit_code == 0


@pytest.mark.parametrize("words", [("gate", "none", "none"), ("report", "none"), ("compare", "none", "none")])
def test_a_file_that_is_not_there_is_said(tmp_path, words):
    assert isinstance(call(evals, *words).exception, BadFile)


def test_rows_of_another_kind_are_no_traces():
    said = call(traces, "summary", dataset("golden/cases.jsonl")).exception
    assert "row 1 is not the trace of a run" in str(said)


def test_a_column_that_no_run_has_is_said(results):
    assert isinstance(call(traces, "worst", results, "--by", "usd; DROP").exception, BadSetup)


@pytest.mark.parametrize("what", [b"\x7fELF\xd0\n\x00end", b"notes\nnot ours", b"\x1f\x8bno gzip"])
@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz"])
@pytest.mark.parametrize(
    "app, words", [(traces, ["summary"]), (traces, ["mixed"]), (evals, ["report"]), (evals, ["run"])]
)
def test_a_file_that_is_none_of_ours_is_refused_and_left_alone(tmp_path, app, words, name, what):
    path = tmp_path / name
    path.write_bytes(what)
    assert isinstance(call(app, *words, path).exception, BadFile)
    assert path.read_bytes() == what
