"""What a report says of rows: intervals that do not pretend, and the time that runs took."""

from labkit.measure import report
from tests.measure.desk import made_row


def test_a_rate_without_a_failure_is_not_reported_as_certain():
    rates = report.summary([made_row(f"c{n}", repeat) for n in range(20) for repeat in range(3)])
    assert rates["task_success"].value == 1.0 and 0.8 < rates["task_success"].low < 0.9


def test_the_latency_is_that_of_the_runs_that_could_be_graded():
    rows = [made_row(f"c{n}", trace={"seconds": 2.0}) for n in range(20)]
    hung = {"case": "c20", "trace": {"seconds": 900.0}, "grade": None, "grader_error": "TimeoutError"}
    assert "P95 latency     2.000 s" in report.text([*rows, made_row("c20") | hung])


def test_the_page_lists_the_runs_that_failed_and_no_others():
    page = report.page([made_row("right"), made_row("wrong", grade={"success": False})], "Desk")
    failed = page.partition("What failed")[2]
    assert "wrong" in failed and "right" not in failed
