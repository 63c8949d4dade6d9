"""Two hundred runs at once in one process, one reply in fifty in trouble: each ends in a word we know."""

import asyncio
import gc
from collections import Counter
from dataclasses import replace

import httpx2
import openai
import pytest

from labkit.connect import connect
from labkit.execution.executor import Executor, Retry
from labkit.execution.permission import Allow
from labkit.protocol.messages import Message, check_chain
from labkit.runtime import Agent, arun
from labkit.service.brains.scripted import call
from labkit.service.decide import Ask, Decision
from labkit.service.faults import lost_reply, server_error, throttle
from labkit.shop.payments import lost_after, lost_before
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

RUNS = 200
KINDS = (lambda at: throttle(at, retry_after=0.01), server_error, lost_reply)
TROUBLE = [KINDS[at % 3](at) for at in range(25, 8000, 50)]
LOST = [(lost_after if at % 100 else lost_before)(at) for at in range(25, 2000, 50)]


def model(ask: Ask) -> Decision:
    """Looks an order up, writes to the customer, says so."""
    customer = ask.messages[0].content.split()[-1]
    done = sum(message.role == "tool" for message in ask.messages)
    mail = {"about": "10001", "topic": "order", "subject": "订单", "body": "已发货"}
    wanted = [call("get_order", order_id="10001"), call("send_email", to=f"{customer}@example.com", **mail)]
    return Decision(calls=(wanted[done],)) if done < 2 else Decision(text=f"已写信给 {customer}")


async def no_wait(seconds: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture
def agent():
    shop = Shop(faults=LOST)
    toolbox = shop_tools(shop)
    retry = Retry(frozenset({"read", "keyed_write"}))
    hands = Executor(toolbox, ask=shop.payments.query, retry=retry, asleep=no_wait)
    client = connect("script", model, asynchronous=True, faults=TROUBLE, keep=10)
    return Agent(client, "gpt-4.1-mini", toolbox, hands, lambda request: Allow(), asleep=no_wait), shop


async def many(agent) -> list:
    return await asyncio.gather(*(arun(agent, f"写信给 c{number}") for number in range(RUNS)))


def test_two_hundred_runs_at_once_all_end_in_a_named_outcome(agent):
    agent, shop = agent
    ends = asyncio.run(many(agent))
    assert set(Counter(end.reason for end in ends)) <= {
        "answered",
        "provider_error",
        "pending_reconciliation",
    }
    assert sum(end.reason == "answered" for end in ends) > 0.95 * RUNS
    for end in ends:
        check_chain(end.chain)
    mails = shop.rows(
        "SELECT count(*) AS times FROM mail WHERE box = 'out' AND recipient LIKE 'c%' GROUP BY recipient"
    )
    assert {row["times"] for row in mails} == {1}
    assert len(mails) >= sum(end.reason == "answered" for end in ends)


async def door(client, path, body, *, stream=False):
    """The model without the service, whose own caches take long to fill; for some runs it is away."""
    messages = body["messages"]
    if messages[0]["content"].endswith("0"):
        raise openai.APIConnectionError(request=httpx2.Request("POST", "http://mock"))
    said = model(Ask("m", tuple(Message(message["role"], message["content"] or "") for message in messages)))
    wanted = [{"id": "c1", "function": {"name": c.name, "arguments": c.arguments}} for c in said.calls]
    return {"choices": [{"message": {"content": said.text, "tool_calls": wanted}}]}


def test_memory_stays_flat_over_thousands_of_calls(agent):
    """What lives on after 600 more runs is less than one object for each ten of them."""
    agent, _ = agent

    async def rounds() -> list[int]:
        alive = []
        for _ in range(5):
            ends = await many(replace(agent, door=door))
            assert {end.reason for end in ends} == {"answered", "provider_error"}
            del ends
            gc.collect()
            alive.append(len(gc.get_objects()))
        return alive

    alive = asyncio.run(rounds())
    assert alive[-1] - alive[1] < RUNS * 3 / 10
