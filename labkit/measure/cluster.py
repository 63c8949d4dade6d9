"""The same eval on a Ray cluster: the unit stays `(case, repeat) -> row`, the rows land in the same file.

The extra `labkit[ray]` brings Ray; the unit must pickle, so give it plain functions and data.
"""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import ray

from labkit.measure.cases import Case
from labkit.measure.runner import Row, Unit, keep, pending


def evaluate_on_ray(
    cases: Sequence[Case], repeats: int, unit: Unit, path: Path | str, *, workers: int = 2, quiet: bool = True
) -> int:
    """Run what is pending on `workers` processes of this machine, or on the cluster that is connected."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if not ray.is_initialized():
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    remote = ray.remote(unit)
    todo = pending(cases, repeats, path)

    def rows() -> Iterator[Row]:
        running = [remote.remote(*sample) for sample in islice(todo, 2 * workers)]
        while running:
            ready, running = ray.wait(running)
            running += [remote.remote(*sample) for sample in islice(todo, len(ready))]
            yield from ray.get(ready)

    return keep(rows(), path, len(cases) * repeats, quiet)
