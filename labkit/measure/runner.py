"""Cases times repeats, each a pure function to a row; rows go to disk as they come.

A killed run goes on where it stopped: what is on disk is not run again. Memory does not grow with the rows.
"""

import asyncio
import inspect
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI
from pydantic import TypeAdapter
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from labkit.connect import OFFLINE, Client, connect, model_for
from labkit.execution.executor import Executor
from labkit.execution.patience import Retry
from labkit.files import appending, read_appended
from labkit.measure.cases import Case
from labkit.measure.metrics import Grade, grade
from labkit.measure.quick import quick, straight
from labkit.measure.trace import plain, record, watch
from labkit.protocol.families import family
from labkit.protocol.tools import Toolbox
from labkit.runtime import Agent, State, arun, run
from labkit.shop.payments import lost_after, lost_before, throttled
from labkit.shop.tools import desk_policy, shop_tools
from labkit.shop.world import Shop, diff, snapshot

Row = dict[str, Any]
Unit = Callable[[Case, int], Row | Awaitable[Row]]
Build = Callable[[Shop, Case, int], Agent]
FAULTS = {fault.__name__: fault for fault in (lost_before, lost_after, throttled)}
_GRADE = TypeAdapter(Grade)
RETRY = Retry(frozenset({"read", "keyed_write"}))


@dataclass(frozen=True, slots=True)
class Desk:
    """Builds the shop's agent for one sample; plain data, so that it can travel to another machine.

    Offline every sample has a client of its own, so that its row does not depend on which ran before.
    """

    which: str | None = None
    model: str = ""
    rules: str = ""
    tools: Callable[[Shop], Toolbox] = shop_tools
    temperature: float = 0.2
    clock: Callable[[], float] = time.perf_counter
    asynchronous: bool = False

    def __call__(self, shop: Shop, case: Case, repeat: int) -> Agent:
        which = self.which or os.environ.get("LABKIT_CLIENT") or "sim"
        offline = which in OFFLINE
        client = (connect if offline else _online)(which, asynchronous=self.asynchronous)
        model = self.model or model_for(client, sampling=True)
        sampling = family(model) and family(model).sampling
        options = {"temperature": self.temperature, "seed": repeat} if sampling else {}
        tools = self.tools(shop)
        # the shop of an eval is not really busy: nothing is gained by waiting for it
        waits = {"sleep": lambda _: None, "asleep": lambda _: asyncio.sleep(0), "clock": self.clock}
        executor = Executor(tools, ask=shop.payments.query, retry=RETRY, **waits)
        door = straight if offline and not self.asynchronous else quick
        chosen = {"system": self.rules, "options": options, "clock": self.clock, "door": door}
        return Agent(client, model, tools, executor, desk_policy(shop), **chosen)


@lru_cache(maxsize=8)
def _online(which: str, asynchronous: bool) -> Client:
    return connect(which, asynchronous=asynchronous)


class Sample:
    """One case in a shop of its own: the agent before its run, the row after it.

    An agent with an `AsyncOpenAI` waits for the network side by side with others: its row is awaited.
    """

    def __init__(self, build: Build, case: Case, repeat: int, version: str = ""):
        self.case, self.version = case, version
        self.about = {"case": case.id, "repeat": repeat, "version": version, "kind": case.kind}
        self.shop = Shop(faults=[FAULTS[name](number) for number, name in enumerate(case.faults, 1)])
        self.before = snapshot(self.shop)
        self.agent, self.arrows = watch(build(self.shop, case, repeat))
        self.who = {"identity": case.identity, "run_id": f"{case.id}#{repeat}"}

    def row(self, state: State) -> Row:
        trace = record(self.agent, state, self.arrows, prompt_version=self.version)
        changes = diff(self.before, snapshot(self.shop))
        self.shop.close()
        expected = self.case.calls[0].name if self.case.calls else "none"
        seen = {"expected": expected, "called": list(trace.tool_names), "trace": plain(trace)}
        return self.about | seen | graded(lambda: _GRADE.dump_python(grade(self.case, state, changes)))

    def run(self) -> Row | Awaitable[Row]:
        if isinstance(self.agent.client, AsyncOpenAI):
            return self._arun()
        return self.row(run(self.agent, self.case.input, **self.who))

    async def _arun(self) -> Row:
        return self.row(await arun(self.agent, self.case.input, **self.who))


def desk_unit(build: Build, *, version: str = "") -> Unit:
    """The unit for the shop: a fresh shop, one traced run of the agent that `build` makes, one grade."""
    return lambda case, repeat: Sample(build, case, repeat, version).run()


def graded(grader: Callable[[], Row]) -> Row:
    """A grader that breaks is not the model's fault: the row says so and has no grade (E04)."""
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
    gap: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
    asleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    quiet: bool = True,
) -> int:
    """The same, `concurrency` samples at a time, `gap` seconds between starts; Ctrl-C loses only those."""
    todo, ran, start = pending(cases, repeats, path), 0, clock() - gap
    with _bar(len(cases) * repeats, quiet) as tick, appending(path) as write:

        async def work() -> None:
            nonlocal ran, start
            for case, repeat in todo:
                start = max(start + gap, clock())
                await asleep(start - clock())
                row = unit(case, repeat)
                write(await row if inspect.isawaitable(row) else row)
                ran += 1
                tick()

        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work())
    return ran


def spacing(requests: float, tokens: float, requests_per_minute: float, tokens_per_minute: float) -> float:
    """Seconds between two samples of so many requests and tokens that keep a provider's limits.

    >>> spacing(2, 2600, requests_per_minute=500, tokens_per_minute=200_000)
    0.78
    """
    return max(60 * requests / requests_per_minute, 60 * tokens / tokens_per_minute)


def keep(rows: Iterable[Row], path: Path | str, total: int, quiet: bool) -> int:
    """Write rows as they come, with a progress bar unless `quiet`; returns how many."""
    ran = 0
    with _bar(total, quiet) as tick, appending(path) as write:
        for ran, row in enumerate(rows, 1):  # noqa: B007
            write(row)
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
