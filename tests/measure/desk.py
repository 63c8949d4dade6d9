"""What the tests of evals share: reference agents, made rows, a unit that leaves a mark when it runs."""

import os
import time
from pathlib import Path

from labkit.connect import connect
from labkit.execution.executor import Executor
from labkit.measure.runner import RETRY
from labkit.protocol.messages import ToolCall
from labkit.runtime import Agent
from labkit.service.brains.scripted import script
from labkit.shop.tools import desk_policy, shop_tools


def scripted_build(steps):
    """An agent whose model says `steps(case)`."""

    def build(shop, case, repeat):
        tools = shop_tools(shop)
        executor = Executor(tools, ask=shop.payments.query, retry=RETRY, sleep=lambda seconds: None)
        client = connect("script", script(*steps(case)))
        return Agent(client, "gpt-4.1-mini", tools, executor, desk_policy(shop))

    return build


def reference(case):
    """The steps of a model that does all that its case expects."""
    calls = [ToolCall("", call.name, call.reference()) for call in case.calls]
    turns = [[call] for call in calls] if case.ordered else [calls]
    return [*(turn for turn in turns if turn), case.answer]


def made_row(case, repeat=0, *, expected="get_order", called=("get_order",), grade=None, trace=None, **more):
    """A result row as the runner writes it, all in order unless said otherwise."""
    right = {
        "selected": list(called) == [expected], "arguments": [1, 1], "valid": [1, 1], "business": [1, 1],
        "complete": True, "faithful": [1, 1], "harm": 0, "action": "call", "success": True,
    }  # fmt: skip
    spent = {"retry_count": 0, "seconds": 1.0, "input_tokens": 100, "output_tokens": 10, "final_answer": ""}
    about = {"case": case, "repeat": repeat, "kind": "happy", "expected": expected, "called": list(called)}
    return about | {"grade": right | (grade or {}), "trace": spent | (trace or {}), "grader_error": ""} | more


class Marking:
    """A unit that pays: one line in `ledger` when it starts, then some work. It pickles."""

    def __init__(self, ledger: Path, seconds: float = 0.0):
        self.ledger, self.seconds = ledger, seconds

    def __call__(self, case, repeat):
        with open(self.ledger, "a", encoding="utf-8") as file:
            file.write(f"{case.id}#{repeat} {os.getpid()}\n")
        time.sleep(self.seconds)
        return {"case": case.id, "repeat": repeat, "paid": 1}
