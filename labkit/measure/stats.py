"""Honest uncertainty: intervals for rates and means, a paired comparison, and how many repeats see a drop.

An eval repeats each case, so its samples come in clusters. Every function here that takes `scores` takes one
sequence per case and lets only the cases count as independent.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

Scores = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate between its bounds, `n` independent units behind it."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}], n={self.n}"


def wilson(successes: float, n: int, confidence: float = 0.95) -> Interval:
    """Interval of a rate from n independent trials (Wilson 1927); stays inside 0..1 at the edges.

    >>> print(wilson(10, 10))
    1.000 [0.722, 1.000], n=10
    """
    if not 0 <= successes <= n or n < 1:
        raise ValueError(f"{successes} successes of {n} trials is not a rate")
    return _wilson(successes / n, n, confidence, n)


def percentile(values: Sequence[float], q: float) -> float:
    """The q-th percentile (0..100), linear between neighbours.

    >>> percentile([100, 200, 300], 75)
    250.0
    """
    return float(np.percentile(np.asarray(values, dtype=float), q))


def cluster_interval(scores: Scores, confidence: float = 0.95) -> Interval:
    """Interval of the mean score over cases that were each repeated.

    The cases are drawn, the repeats belong to them. The effective number of trials is what makes the
    binomial variance equal to the variance seen between case means; Wilson's interval does the rest.

    >>> print(cluster_interval({"a": [1, 1], "b": [0, 1], "c": [1, 1]}))
    0.833 [0.403, 0.974], n=3
    """
    means = _case_means(scores)
    rate, n = float(means.mean()), len(means)
    spread = float(means.var(ddof=1)) / n if n > 1 else 0.0
    binary = rate * (1 - rate)
    trials = n if spread == 0 or binary == 0 else binary / spread
    return _wilson(rate, trials, confidence, n)


def bootstrap(scores: Scores, *, seed: int, confidence: float = 0.95, draws: int = 2000) -> Interval:
    """Percentile bootstrap of the mean over cases; for scores that are not rates (tokens, seconds).

    >>> print(bootstrap({"a": [100.0], "b": [120.0], "c": [110.0]}, seed=1))
    110.000 [100.000, 120.000], n=3
    """
    means = _case_means(scores)
    low, high = _bootstrap_bounds(means, seed, confidence, draws)
    return Interval(float(means.mean()), low, high, len(means))


@dataclass(frozen=True, slots=True)
class Comparison:
    """B against A on the same cases: `difference` is B − A; `p_worse` and `p_better` are one-sided."""

    difference: Interval
    p_worse: float
    p_better: float
    deciding: tuple[tuple[str, float], ...]


def paired(a: Scores, b: Scores, *, seed: int, confidence: float = 0.95, draws: int = 4000) -> Comparison:
    """Compare two versions case by case; raises ValueError unless both ran the same cases.

    The p-values come from flipping the signs of the per-case differences at random (a permutation test).

    >>> result = paired({"x": [1, 1], "y": [1, 1]}, {"x": [0, 0], "y": [1, 1]}, seed=1)
    >>> result.difference.value, result.deciding
    (-0.5, (('x', -1.0),))
    """
    if a.keys() != b.keys():
        only = sorted(a.keys() ^ b.keys())
        raise ValueError(f"the two versions did not run the same cases; only in one: {', '.join(only[:5])}")
    names = sorted(a)
    deltas = np.array([np.mean(b[name]) - np.mean(a[name]) for name in names])
    low, high = _bootstrap_bounds(deltas, seed, confidence, draws)
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=(draws, len(deltas)))
    flipped = (signs * deltas).mean(axis=1)
    observed, slack = deltas.mean(), 1e-12
    p_worse = (1 + np.count_nonzero(flipped <= observed + slack)) / (draws + 1)
    p_better = (1 + np.count_nonzero(flipped >= observed - slack)) / (draws + 1)
    moved = sorted(((n, float(d)) for n, d in zip(names, deltas, strict=True) if d), key=lambda m: -abs(m[1]))
    return Comparison(
        Interval(float(observed), low, high, len(names)), float(p_worse), float(p_better), tuple(moved)
    )


def repeats_needed(
    drop: float, cases: int, rate: float, *, power: float = 0.95, alpha: float = 0.05, most: int = 200
) -> int | None:
    """Repeats a case that let a one-sided paired test see `drop` with `power`; None when `most` is too few.

    Worst case: every repeat is an independent trial at the pooled rate, in both versions.

    >>> repeats_needed(0.10, cases=60, rate=0.9)
    5
    """
    z = NormalDist().inv_cdf(1 - alpha) + NormalDist().inv_cdf(power)
    after = max(0.0, rate - drop)
    variance = rate * (1 - rate) + after * (1 - after)
    needed = math.ceil(variance * (z / drop) ** 2 / cases)
    return needed if needed <= most else None


def _case_means(scores: Scores) -> np.ndarray:
    if not scores or any(len(values) == 0 for values in scores.values()):
        raise ValueError("an interval needs at least one case, and one score for every case")
    return np.array([float(np.mean(values)) for values in scores.values()])


def _bootstrap_bounds(means: np.ndarray, seed: int, confidence: float, draws: int) -> tuple[float, float]:
    picks = np.random.default_rng(seed).integers(0, len(means), size=(draws, len(means)))
    tail = 50 * (1 - confidence)
    low, high = np.percentile(means[picks].mean(axis=1), [tail, 100 - tail])
    return float(low), float(high)


def _wilson(rate: float, trials: float, confidence: float, n: int) -> Interval:
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = z * z / trials
    centre = (rate + share / 2) / (1 + share)
    half = z * math.sqrt(rate * (1 - rate) / trials + share / (4 * trials)) / (1 + share)
    return Interval(rate, max(0.0, centre - half), min(1.0, centre + half), n)
