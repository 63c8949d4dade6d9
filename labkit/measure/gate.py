"""The release gate: rules as data, a baseline and a candidate, a verdict that names the cases that decide.

A rule blocks on evidence: a drop that a paired test believes, or a limit that is passed (S1 §5.4).
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from labkit.files import dataset
from labkit.measure.metrics import METRICS, Row, scores
from labkit.measure.stats import paired, percentile, repeats_needed
from labkit.protocol.errors import BadFile


class Rule(BaseModel):
    """`not_worse` than the baseline, by a one-sided test at `alpha`; or `at_most`, `at_least`: a bound on the
    mean or, with `p`, on that percentile of all runs.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    metric: Literal[tuple(METRICS)]
    not_worse: bool = False
    alpha: float = 0.05
    at_most: float | None = None
    at_least: float | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule applied: `deciding` are the cases that moved, the strongest first."""

    rule: Rule
    passed: bool
    words: str
    deciding: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        return all(finding.passed for finding in self.findings)

    def __str__(self) -> str:
        lines = [f"{'pass ' if one.passed else 'BLOCK'} {one.words}" for one in self.findings]
        return "\n".join([*lines, f"gate: {'passed' if self.passed else 'blocked'}"])


def load_rules(path: Path | str | None = None) -> tuple[Rule, ...]:
    """The rules of a TOML file (`[[rule]]` tables), by default those of S1 §5.4; raises `BadFile`."""
    path = Path(path) if path else dataset("golden/gate.toml")
    try:
        return tuple(Rule(**row) for row in tomllib.loads(path.read_text(encoding="utf-8"))["rule"])
    except (tomllib.TOMLDecodeError, ValidationError, KeyError, TypeError) as error:
        raise BadFile(f"{path.name} is no list of gate rules: {error}") from None


def decide(
    rules: Sequence[Rule], baseline: Sequence[Row], candidate: Sequence[Row], *, seed: int = 0
) -> Verdict:
    """Apply every rule; grader errors block whatever the numbers say. Raises ValueError for unequal cases."""
    broken = [row["case"] for row in candidate if row.get("grader_error")]
    words = f"{len(broken)} grader errors" + (f": {', '.join(broken[:3])}" if broken else "")
    honest = Finding(Rule(metric="task_success"), not broken, words)
    return Verdict((honest, *(_apply(rule, baseline, candidate, seed) for rule in rules)))


def _apply(rule: Rule, baseline: Sequence[Row], candidate: Sequence[Row], seed: int) -> Finding:
    if rule.not_worse:
        return _not_worse(rule, baseline, candidate, seed)
    after = scores(candidate, rule.metric)
    values = [value for case in after.values() for value in case]
    value = percentile(values, rule.p) if rule.p else fmean(map(fmean, after.values()))
    low, high = rule.at_least, rule.at_most
    passed = (low is None or value >= low) and (high is None or value <= high)
    name = f"P{rule.p:g} of {rule.metric}" if rule.p else rule.metric
    bound = f"at most {high}" if low is None else f"at least {low}"
    return Finding(rule, passed, f"{name} {value:.4g}, {bound}")


def _not_worse(rule: Rule, baseline: Sequence[Row], candidate: Sequence[Row], seed: int) -> Finding:
    result = paired(scores(baseline, rule.metric), scores(candidate, rule.metric), seed=seed)
    down = METRICS[rule.metric].better == "higher"
    p = result.p_worse if down else result.p_better
    moved = tuple(case for case in result.deciding if (case[1] < 0) == down)
    sign = f"{rule.metric} {result.difference.value:+.3f}, p {p:.3f}"
    names = f"; decided by {', '.join(case for case, _ in moved[:5])}" if p < rule.alpha else ""
    return Finding(rule, p >= rule.alpha, f"{sign} (not worse at {rule.alpha}){names}", moved)


def repeats_for(rules: Sequence[Rule], baseline: Sequence[Row], drop: float) -> int | None:
    """Repeats a case that let the gate see `drop` in every rate 95 times of 100; None if too many."""
    needed = []
    for rule in rules:
        before = scores(baseline, rule.metric)
        if rule.not_worse and METRICS[rule.metric].better == "higher":
            rate = fmean(map(fmean, before.values()))
            needed.append(repeats_needed(drop, len(before), rate, alpha=rule.alpha))
    return None if None in needed else max(needed, default=1)
