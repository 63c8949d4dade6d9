"""Choosing among N tools with the simulated model: cost a decision and a tool, 10 to 1,000 tools, one run.

Also the doctor on a request with 13 tools, and the shop's tools offered under a choice.
"""

import json
import time

from labkit.classroom.doctor import diagnose
from labkit.control.choice import allowed, parameters
from labkit.files import dataset, read_jsonl
from labkit.protocol.messages import user
from labkit.service.brains.simulated import probabilities
from labkit.service.decide import Ask, ToolSpec
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

QUESTIONS = ("Close issue 42 in the repository octo/shop", "List my unread e-mails", "上海今天需要带伞吗？")


def seconds(work, repeats=20):
    """The least CPU time of one call, which a busy machine disturbs least."""
    work()
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def catalog():
    files = ("github_mcp_tools.jsonl", "injecagent_tools.jsonl")
    rows = [row["function"] for name in files for row in read_jsonl(dataset(f"tool_catalogs/{name}"))]
    tools = [ToolSpec(row["name"], row.get("description", ""), row.get("parameters") or {}) for row in rows]
    return tools + [ToolSpec(f"{tool.name}_2", tool.description, tool.parameters) for tool in tools]


def choosing():
    every, base = catalog(), None
    for number in (10, 30, 100, 300, 800):
        asks = [Ask("m", (user(text),), tuple(every[:number]), tuple(every[:number])) for text in QUESTIONS]
        cost = seconds(lambda asks=asks: [probabilities(ask) for ask in asks]) / len(asks)
        base = base or cost / number
        print(
            f"{number:5} tools: {cost * 1e3:6.2f} ms a decision, {cost / number * 1e6:5.1f} us a tool,",
            end=" ",
        )
        print(f"{cost / number / base:4.2f} of the cost a tool at 10")


def others():
    box = shop_tools(Shop())
    chosen = allowed(["get_order"])
    print(f"parameters of a choice: {seconds(lambda: parameters(chosen, box)) * 1e6:.0f} us")
    body = {"messages": [{"role": "user", "content": QUESTIONS[2]}], "tools": box.chat(), "temperature": 0.2}
    body = json.loads(json.dumps(body))
    print(f"doctor on {len(box)} tools: {seconds(lambda: diagnose(body)) * 1e3:.1f} ms")


if __name__ == "__main__":
    choosing()
    others()
