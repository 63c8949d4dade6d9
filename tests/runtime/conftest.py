"""A support desk with an agent at it: every scenario runs in both wire forms and under all three drivers."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from labkit.connect import connect, sent
from labkit.execution.executor import Executor
from labkit.execution.ledger import Ledger
from labkit.execution.permission import Allow
from labkit.protocol import chat, responses
from labkit.protocol.families import vendor
from labkit.protocol.messages import check_chain, user
from labkit.protocol.tools import Identity
from labkit.runtime import Agent, State, arun, run, stream
from labkit.service.brains.scripted import script
from labkit.service.checks import CheckContext, check_chat, check_responses
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

LI = Identity("li", "xinghe", frozenset({"refund:write"}))


def accepted(state: State, wire: str) -> None:
    """The history that a state leaves is one to which the API would say yes; so is the next question."""
    chain = [*state.chain, user("谢谢")]
    check_chain(chain)
    context = CheckContext("strict", vendor("openai"), {})
    for form, check in ((chat, check_chat), (responses, check_responses)):
        body = form.request("gpt-4.1-mini", chain)
        assert check(body, context) is None, f"{form.PATH}: {check(body, context)}"


@dataclass
class Desk:
    """What a scenario looks at: the world, the wire, the path of the run, how long it would have waited."""

    shop: Shop
    wire: str
    driver: str
    agent: Agent = None
    client: Any = None
    path: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def go(self, start: Any, **who: Any) -> State:
        who.setdefault("identity", LI)
        state = self._drive(start, who)
        accepted(state, self.wire)
        return state

    def _drive(self, start: Any, who: Any) -> State:
        if self.driver == "run":
            return run(self.agent, start, **who)
        if self.driver == "arun":
            return asyncio.run(arun(self.agent, start, **who))
        for item in stream(self.agent, start, **who):
            if isinstance(item, str):
                self.texts.append(item)
            else:
                state = item
        return state

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [seen.body for seen in sent(self.client)]

    @property
    def told(self) -> list[str]:
        """What the model was told by the tools in the last request."""
        items = self.bodies[-1].get("messages") or self.bodies[-1]["input"]
        return [
            item.get("content") or item["output"]
            for item in items
            if "output" in item or item.get("role") == "tool"
        ]

    def refunds(self, order: str = "10001") -> int:
        return len(self.shop.rows("SELECT 1 FROM payments WHERE kind = 'refund' AND reference = ?", order))


@pytest.fixture(
    params=[f"{wire}-{driver}" for wire in ("chat", "responses") for driver in ("run", "arun", "stream")]
)
def way(request):
    return request.param.split("-")


@pytest.fixture
def desk(way):
    """`desk(step, step, …)`: a desk whose model follows a script; the other options are the agent's."""

    def make(
        *steps,
        shop_faults=(),
        faults=(),
        max_retries=2,
        policy=lambda request: Allow(),
        executor=None,
        **options,
    ):
        wire, driver = way
        shop = Shop(faults=shop_faults)
        made = Desk(shop, wire, driver)
        made.client = connect(
            "script", script(*steps), faults=faults, max_retries=max_retries, asynchronous=driver == "arun"
        )

        async def asleep(seconds):
            made.waits.append(seconds)

        toolbox = options.pop("toolbox", None) or shop_tools(shop)
        hands = Executor(
            toolbox,
            ledger=Ledger(),
            ask=shop.payments.query,
            sleep=made.waits.append,
            asleep=asleep,
            **(executor or {}),
        )
        made.agent = Agent(
            made.client,
            options.pop("model", "gpt-4.1-mini"),
            toolbox,
            hands,
            policy,
            wire=wire,
            on_step=lambda before, after, seconds: made.path.append(f"{before.name}>{after.name}"),
            sleep=made.waits.append,
            asleep=asleep,
            random=lambda: 0.0,
            new_id=lambda: "run-1",
            **options,
        )
        return made

    return make
