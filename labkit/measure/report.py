"""What an eval says, for people: a table with intervals, the cases that failed, and one HTML page."""

import html
from collections import Counter
from collections.abc import Sequence

from labkit.measure.metrics import METRICS, Row, confusion, scores
from labkit.measure.stats import Interval, bootstrap, cluster_interval, percentile

RATES = {name for name, metric in METRICS.items() if metric.better == "higher"}


def summary(rows: Sequence[Row], *, seed: int = 0) -> dict[str, Interval]:
    """Each metric with its interval, cases as the independent units; metrics without a case are left out."""
    by_metric = {name: scores(rows, name) for name in METRICS}
    return {
        name: cluster_interval(found) if name in RATES else bootstrap(found, seed=seed)
        for name, found in by_metric.items()
        if found
    }


def by_kind(rows: Sequence[Row], metric: str = "task_success") -> dict[str, Interval]:
    """One metric for every kind of case."""
    kinds = dict.fromkeys(row["kind"] for row in rows)
    return {
        kind: cluster_interval(found)
        for kind in kinds
        if (found := scores((row for row in rows if row["kind"] == kind), metric))
    }


def text(rows: Sequence[Row]) -> str:
    """The summary as lines for a terminal; says first how many rows could not be graded."""
    broken = sum(bool(row.get("grader_error")) for row in rows)
    lines = [f"{len(rows)} rows, {len({row['case'] for row in rows})} cases, {broken} grader errors"]
    for name, interval in summary(rows).items():
        lines.append(f"{name:15} {interval}   {METRICS[name].words}")
    seconds = [row["trace"]["seconds"] for row in rows if row.get("grade")]
    if seconds:
        lines.append(f"{'P95 latency':15} {percentile(seconds, 95):.3f} s")
    mixed = mistakes(rows)
    return "\n".join([*lines, *(f"mixed up: {want} -> {got}, {n} runs" for (want, got), n in mixed)])


def mistakes(rows: Sequence[Row], most: int = 5) -> list[tuple[tuple[str, str], int]]:
    """The commonest confusions of a tool with another, or with none."""
    wrong = Counter({pair: n for pair, n in confusion(rows).items() if pair[0] != pair[1]})
    return wrong.most_common(most)


def page(rows: Sequence[Row], title: str) -> str:
    """One HTML page without scripts or links: metrics, kinds, and every run that failed."""
    metrics = [(name, *_bounds(i), METRICS[name].words) for name, i in summary(rows).items()]
    kinds = [(kind, *_bounds(i), i.n) for kind, i in by_kind(rows).items()]
    failed = [
        (row["case"], row["repeat"], row["expected"], ", ".join(row["called"]), row["trace"]["final_answer"])
        for row in rows
        if row.get("grade") and not row["grade"]["success"]
    ]
    return _PAGE.format(
        title=html.escape(title),
        metrics=_table(("metric", "value", "95% interval", "how it is counted"), metrics),
        kinds=_table(("kind", "task success", "95% interval", "cases"), kinds),
        failed=_table(("case", "repeat", "expected", "called", "answer"), failed),
    )


def _bounds(interval: Interval) -> tuple[str, str]:
    return f"{interval.value:.3f}", f"{interval.low:.3f} to {interval.high:.3f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    cells = ["".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><tr>{''.join(f'<th>{name}</th>' for name in head)}</tr>{body}</table>"


_PAGE = """<!doctype html><meta charset="utf-8"><title>{title}</title>
<style>body{{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;color:#222}}
table{{border-collapse:collapse;margin:1em 0}}
td,th{{border-bottom:1px solid #ddd;padding:.3em .8em;text-align:left}}
</style><h1>{title}</h1>{metrics}<h2>By kind of case</h2>{kinds}<h2>What failed</h2>{failed}"""
