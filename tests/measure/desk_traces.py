"""How the runs of `datasets/traces` were made: `uv run python tests/measure/desk_traces.py` does it again."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from math import log
from random import Random

from labkit.connect import connect
from labkit.execution.executor import Executor
from labkit.execution.permission import Allow
from labkit.files import ROOT
from labkit.measure import trace
from labkit.measure.quick import straight
from labkit.protocol.tools import Toolbox, make_tool
from labkit.runtime import Agent
from labkit.service.api import VirtualClock
from labkit.service.brains.simulated import simulated
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

FILE = ROOT / "datasets" / "traces" / "desk.jsonl.gz"
LABELS = {
    "北京今天天气怎么样？": "get_weather",
    "上海明天要带伞吗？": "get_weather",
    "Weather in Shanghai today?": "get_weather",
    "帮我查订单 10001": "get_order",
    "订单 10002 的金额是多少？": "get_order",
    "What is in order 20001?": "get_order",
    "读一下工单 T-1001": "get_ticket",
    "What does ticket T-1002 say?": "get_ticket",
    "2026-09-02 有什么会议？": "get_calendar_events",
    "What is on the calendar on 2026-09-02?": "get_calendar_events",
}


def track_parcel(order_id: str) -> dict:
    """查订单，看物流和是否送达。Look up an order and where its parcel is.

    Args:
        order_id: 订单号 order number
    """
    return {"order_id": order_id, "parcel": "on its way"}


def thousand() -> Iterator[trace.RunRecord]:
    """Ten sentences in turn, steps left out; after run 500 a fifth tool is there that sounds like another."""
    clock, draws, brain = VirtualClock(), Random(9), simulated(3)

    def thinking(ask):
        """Median and P95 as a leaderboard logged them for gpt-4o-mini in 2024, in steps of 1/64 s."""
        clock.sleep(round(64 * draws.lognormvariate(log(1.58), log(5.74 / 1.58) / 1.645)) / 64)
        return brain(ask)

    four = shop_tools(Shop()).subset(["get_weather", "get_order", "get_ticket", "get_calendar_events"])
    hints = {"use_when": "查订单、到哪里了 where is an order", "not_when": "天气 weather"}
    five = Toolbox([*four, make_tool(track_parcel, effect="read", **hints)])
    client, settings = connect("script", thinking, keep=1), {"clock": clock, "options": {"temperature": 1.0}}
    before, after = (
        Agent(
            client,
            "gpt-4.1-mini-2025-04-14",
            box,
            Executor(box, clock=clock),
            lambda _: Allow(),
            **settings,
            door=straight,
        )
        for box in (four, five)
    )
    for number in range(1000):
        sentence, agent = list(LABELS)[number % 10], before if number < 500 else after
        _, one = trace.traced(agent, sentence, run_id=f"run-{number:04}", prompt_version="desk-v3")
        yield replace(one, expected=LABELS[sentence], steps=())


if __name__ == "__main__":
    rows = (json.dumps(trace.plain(one), ensure_ascii=False) for one in thousand())
    FILE.write_bytes(gzip.compress("".join(f"{row}\n" for row in rows).encode(), mtime=0))
