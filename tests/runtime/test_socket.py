"""The same agent, unchanged, against the service on a socket; and a peer's client against it."""

import asyncio
import os
import re
import subprocess
import sys

import openai
import pytest

from labkit.connect import connect
from labkit.execution.executor import Executor
from labkit.execution.permission import Allow
from labkit.protocol.messages import check_chain
from labkit.runtime import Agent, run, stream
from labkit.service.api import Service
from labkit.service.brains.scripted import call, script
from labkit.service.server import serving
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

STEPS = (
    call("get_order", order_id="10001"),
    call("refund_order", order_id="10001", reason="坏了"),
    "订单 10001 已退款。",
)


def agent_for(client, shop: Shop, wire: str) -> Agent:
    toolbox = shop_tools(shop)
    hands = Executor(toolbox, ask=shop.payments.query)
    return Agent(
        client, "gpt-4.1-mini", toolbox, hands, lambda request: Allow(), wire=wire, new_id=lambda: "r"
    )


def refunds(shop: Shop) -> int:
    return len(shop.rows("SELECT 1 FROM payments WHERE kind = 'refund'"))


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_the_same_agent_runs_in_process_and_over_a_socket(wire):
    near, far = Shop(), Shop()
    here = run(agent_for(connect("script", script(*STEPS)), near, wire), "退款 10001")
    with serving(Service(script(*STEPS))) as url, connect(url) as client:
        there = run(agent_for(client, far, wire), "退款 10001")
    assert there.answer == here.answer == "订单 10001 已退款。"
    assert [message.content for message in there.chain] == [message.content for message in here.chain]
    assert there.usage == here.usage
    assert refunds(near) == refunds(far) == 1


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_a_run_streams_over_a_socket(wire):
    shop = Shop()
    with serving(Service(script(*STEPS))) as url, connect(url) as client:
        items = list(stream(agent_for(client, shop, wire), "退款 10001"))
    assert "".join(item for item in items if isinstance(item, str)) == "订单 10001 已退款。"
    assert items[-1].reason == "answered"


def test_the_agent_runs_against_labkit_serve_in_its_own_process():
    command = [sys.executable, "-m", "labkit.cli", "serve", "--port", "0"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, encoding="utf-8"
    ) as server:
        try:
            url = next(
                found[0]
                for line in server.stdout
                if (found := re.search(r"http://127\.0\.0\.1:\d+/v1", line))
            )
            with connect(url) as client:
                end = run(agent_for(client, Shop(), "chat"), "查订单 10001")
        finally:
            server.terminate()
    check_chain(end.chain)
    assert end.reason == "answered"
    assert end.observations[0].tool_name == "get_order"


def test_a_peers_client_runs_its_own_loop_against_the_service():
    """openai-agents (dependency group `peers`): its client, its loop and its tools, our wire."""
    agents = pytest.importorskip("agents")
    looked = []

    @agents.function_tool
    def get_order(order_id: str) -> str:
        """查询一个订单的状态。"""
        looked.append(order_id)
        return '{"state": "shipped"}'

    async def ask(client: openai.AsyncOpenAI) -> str:
        model = agents.OpenAIChatCompletionsModel("gpt-4.1-mini", client)
        peer = agents.Agent(name="desk", model=model, tools=[get_order])
        async with client:
            return (await agents.Runner.run(peer, "查订单 10001")).final_output

    agents.set_tracing_disabled(True)
    with serving(Service(script(call("get_order", order_id="10001"), "已发货。"))) as url:
        client = openai.AsyncOpenAI(api_key="sk-offline-no-key-needed", base_url=url)
        assert asyncio.run(ask(client)) == "已发货。"
    assert looked == ["10001"]
