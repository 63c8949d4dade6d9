"""What one executed call costs beside the bare function and beside a bare thread pool; CPU time, one process.

    python tests/bench/bench_executor.py [rounds]

Every figure is the best of the rounds, in µs; ratios are to sides measured in the same run.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from labkit.execution.executor import Breaker, Executor, Retry, prepare
from labkit.execution.ledger import Ledger
from labkit.execution.outcome import success_result
from labkit.execution.permission import Allow, PermissionRequest, authorise, compose
from labkit.protocol.messages import ToolCall
from labkit.protocol.tools import CallContext, Toolbox, make_tool

EACH = 400
NUMBERS = count(1)


def get_weather(city: str) -> dict[str, Any]:
    """查询城市天气。Weather in a city.

    Args:
        city: 城市名称
    """
    return {"city": city, "celsius": 24, "condition": "晴"}


async def aget_weather(city: str) -> dict[str, Any]:
    """查询城市天气。Weather in a city, asynchronously.

    Args:
        city: 城市名称
    """
    return get_weather(city)


def pay(bill: str, *, context: CallContext) -> dict[str, Any]:
    """付一张账单。Pay a bill.

    Args:
        bill: 账单号
    """
    return {"bill": bill, "paid": context.operation_id}


TEXTS = {"use_when": "the bench asks", "not_when": "any other time"}
TOOLS = Toolbox(
    [
        make_tool(get_weather, effect="read", **TEXTS),
        make_tool(aget_weather, effect="read", **TEXTS),
        make_tool(pay, effect="write", operation=lambda arguments: f"pay:{arguments.bill}", **TEXTS),
    ]
)


def cpu(unit: Callable[[], Any], rounds: int) -> float:
    unit()
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(EACH):
            unit()
        best = min(best, time.process_time() - began)
    return best / EACH * 1e6


def acpu(unit: Callable[[], Any], rounds: int) -> float:
    async def main() -> float:
        best = float("inf")
        for _ in range(rounds):
            began = time.process_time()
            for _ in range(EACH):
                await unit()
            best = min(best, time.process_time() - began)
        return best / EACH * 1e6

    return asyncio.run(main())


def stalled(ledger: Ledger) -> float:
    """Milliseconds, by the clock on the wall, in which one write stops a loop: its claim and its end."""
    taken = []
    for _ in range(EACH):
        began = time.perf_counter()
        entry, _ = ledger.claim(f"bill:{next(NUMBERS)}")
        ledger.settle(entry, "committed", {"paid": 1})
        taken.append(time.perf_counter() - began)
    return 1000 * median(taken)


def read(name: str, **arguments: Any) -> Any:
    return prepare(ToolCall("call_1", name, json.dumps(arguments)), TOOLS, run_id="run")


def main(rounds: int, folder: Path) -> None:
    plain, pool = Executor(TOOLS), ThreadPoolExecutor(2)
    careful = Executor(
        TOOLS, retry=Retry(frozenset({"read"})), breaker=Breaker(), observe=[lambda _, seen: seen]
    )
    disk = Executor(TOOLS, ledger=Ledger(folder / "ledger.db"))
    weather, call = read("get_weather", city="北京"), ToolCall("call_1", "get_weather", '{"city":"北京"}')
    request, policy = PermissionRequest(None, weather.tool, weather.arguments, ""), compose(lambda _: Allow())
    repeated = read("pay", bill="0")
    rows = {
        "the function itself": cpu(lambda: get_weather("北京"), rounds),
        "the function in a thread pool, with a timeout": cpu(
            lambda: pool.submit(get_weather, "北京").result(10), rounds
        ),
        "prepare (parse, validate, name)": cpu(lambda: prepare(call, TOOLS, run_id="run"), rounds),
        "authorise": cpu(lambda: authorise(request, policy), rounds),
        "result to JSON": cpu(lambda: success_result(get_weather("北京")), rounds),
        "execute a read": cpu(lambda: plain.execute(weather), rounds),
        "execute a read, with retry, breaker, observer": cpu(lambda: careful.execute(weather), rounds),
        "aexecute a read": acpu(lambda: plain.aexecute(weather), rounds),
        "aexecute a coroutine": acpu(lambda: plain.aexecute(read("aget_weather", city="北京")), rounds),
        "execute a write, ledger in memory": cpu(
            lambda: plain.execute(read("pay", bill=str(next(NUMBERS)))), rounds
        ),
        "execute a write, ledger on disk": cpu(
            lambda: disk.execute(read("pay", bill=str(next(NUMBERS)))), rounds
        ),
        "the same write again": cpu(lambda: plain.execute(repeated), rounds),
    }
    for name, microseconds in rows.items():
        print(f"{name:48} {microseconds:8.1f} µs")
    still = {name: stalled(one.ledger) for name, one in (("memory", plain), ("disk", disk))}
    print("a loop stands still a write, ms:", ", ".join(f"{name} {ms:.2f}" for name, ms in still.items()))
    bare, ours = rows["the function in a thread pool, with a timeout"], rows["execute a read"]
    print(f"execute / bare thread pool: {ours / bare:.2f}; beyond it: {ours - bare:.1f} µs a call")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, Path(folder))
