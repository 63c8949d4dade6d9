"""Cases times repeats, each a pure function to a row; rows go to disk as they come.

A killed run goes on where it stopped: what is on disk is not run again. Memory does not grow with the rows.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from aiolimiter import AsyncLimiter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from labkit.files import append_jsonl, read_appended
from labkit.measure.cases import Case
from labkit.measure.metrics import grade
from labkit.measure.trace import traced
from labkit.runtime import Agent
from labkit.shop.payments import Fault, lost_after, lost_before, throttled
from labkit.shop.world import Shop, diff, snapshot

Row = dict[str, Any]
Unit = Callable[[Case, int], Row | Awaitable[Row]]
Build = Callable[[Shop, Case, int], Agent]
FAULTS: dict[str, Callable[[int], Fault]] = {
    "lost_before": lost_before, "lost_after": lost_after, "throttled": throttled
}  # fmt: skip


def desk_unit(build: Build, *, version: str = "") -> Callable[[Case, int], Row]:
    """The unit for the shop: a fresh shop, one traced run of the agent that `build` makes, one grade.

    A grader that breaks is not the model's fault: its row holds `grader_error` and no grade (E04).
    """

    def unit(case: Case, repeat: int) -> Row:
        shop = Shop(faults=[FAULTS[name](number) for number, name in enumerate(case.faults, 1)])
        before = snapshot(shop)
        agent = build(shop, case, repeat)
        run_id = f"{case.id}#{repeat}"
        state, record = traced(
            agent, case.input, identity=case.identity, run_id=run_id, prompt_version=version
        )
        changes = diff(before, snapshot(shop))
        shop.close()
        about = {"case": case.id, "repeat": repeat, "version": version}
        about |= {"kind": case.kind, "language": case.language}
        expected = case.calls[0].name if case.calls else "none"
        row = about | {"expected": expected, "called": list(record.tool_names), "trace": asdict(record)}
        return row | graded(lambda: asdict(grade(case, state, changes)))

    return unit


def graded(grader: Callable[[], Row]) -> Row:
    try:
        return {"grade": grader(), "grader_error": ""}
    except Exception as error:
        return {"grade": None, "grader_error": f"{type(error).__name__}: {error}"}


def pending(cases: Sequence[Case], repeats: int, path: Path | str) -> Iterator[tuple[Case, int]]:
    """What is not on disk yet, repeat by repeat, so that an early stop has seen every case alike."""
    position = {case.id: number for number, case in enumerate(cases)}
    done = bytearray(len(cases) * repeats)
    for row in read_appended(path):
        if row.get("case") in position and row["repeat"] < repeats:
            done[row["repeat"] * len(cases) + position[row["case"]]] = 1
    for number, finished in enumerate(done):
        if not finished:
            yield cases[number % len(cases)], number // len(cases)


def evaluate(cases: Sequence[Case], repeats: int, unit: Unit, path: Path | str, *, quiet: bool = True) -> int:
    """Run what is pending, one after the other; returns how many ran. For a real API use `aevaluate`."""
    rows = (unit(case, repeat) for case, repeat in pending(cases, repeats, path))
    return keep(rows, path, len(cases) * repeats, quiet)


async def aevaluate(
    cases: Sequence[Case],
    repeats: int,
    unit: Unit,
    path: Path | str,
    *,
    concurrency: int = 8,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    tokens_per_sample: float = 0.0,
    quiet: bool = True,
) -> int:
    """The same, `concurrency` samples at a time, within the provider's limits; Ctrl-C loses only those."""
    limits = [
        (AsyncLimiter(most), amount)
        for most, amount in ((requests_per_minute, 1.0), (tokens_per_minute, tokens_per_sample))
        if most
    ]
    todo, ran = pending(cases, repeats, path), 0
    with _bar(len(cases) * repeats, quiet) as tick:

        async def work() -> None:
            nonlocal ran
            for case, repeat in todo:
                for limiter, amount in limits:
                    await limiter.acquire(amount)
                row = unit(case, repeat)
                append_jsonl(path, [await row if inspect.isawaitable(row) else row])
                ran += 1
                tick()

        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work())
    return ran


def keep(rows: Iterable[Row], path: Path | str, total: int, quiet: bool) -> int:
    """Write rows as they come, with a progress bar unless `quiet`; returns how many."""
    ran = 0
    with _bar(total, quiet) as tick:
        for row in rows:
            append_jsonl(path, [row])
            ran += 1
            tick()
    return ran


@contextmanager
def _bar(total: int, quiet: bool) -> Iterator[Callable[[], None]]:
    if quiet:
        yield lambda: None
        return
    columns = (TextColumn("eval"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        yield partial(progress.advance, progress.add_task("eval", total=total))
