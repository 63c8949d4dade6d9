"""Whatever goes wrong, and whenever: no write happens twice, none is lost, and the history never lies.

A schedule says which replies get lost, which requests are refused, when the process dies and what the model
repeats. 500 of them in a normal run, 10,000 with LABKIT_LONG=1. The articles' loop meets the same schedules.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from shutil import rmtree
from tempfile import mkdtemp
from threading import Event as Flag
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from labkit.connect import connect, sent
from labkit.execution.executor import Executor, Retry
from labkit.execution.ledger import Answer, Ledger
from labkit.execution.permission import Allow, AskPerson
from labkit.files import write_text
from labkit.protocol import chat, responses
from labkit.protocol.families import vendor
from labkit.protocol.messages import ToolCall, check_chain, user
from labkit.protocol.tools import CallContext, Toolbox
from labkit.runtime import Agent, Waiting, approvals, begin, dump, load, machine, run, states
from labkit.service.brains.scripted import call
from labkit.service.checks import CheckContext, check_chat, check_responses
from labkit.service.decide import Ask, Decision
from labkit.service.faults import lost_reply, server_error, throttle
from labkit.shop.payments import Fault, Payments, lost_after, lost_before, throttled
from labkit.shop.tools import Desk, shop_tools
from labkit.shop.world import Shop

LONG = os.environ.get("LABKIT_LONG") == "1"
MODEL = {"throttle": lambda at: throttle(at, retry_after=1), "error": server_error, "lost": lost_reply}
CONTRACTS = shop_tools(Shop())
WORDS = ("坏了", "broken", "客户很生气", "客户第二次来电")


DEAD = Flag()


class Died(KeyboardInterrupt):
    """The process is gone: while `DEAD` is set nothing is written down, not even by what tidies up."""


def times_out(at: int) -> Fault:
    def late() -> None:
        raise TimeoutError("the reply came too late")

    return Fault(at, "after", late)


def dies(at: int, moment: str) -> Fault:
    def die() -> None:
        DEAD.set()
        raise Died

    return Fault(at, moment, die)


PAYMENT = {
    "lost before": lost_before,
    "lost after": lost_after,
    "late": times_out,
    "busy": throttled,
    "dies before": lambda at: dies(at, "before"),
    "dies after": lambda at: dies(at, "after"),
}


@dataclass(frozen=True)
class Task:
    """A thing that the customer wants, how the model asks for it, and how often it has happened."""

    name: str
    order: str

    def wanted(self, words: str) -> ToolCall:
        if self.name == "mail":
            to, text = f"c{self.order}@example.com", {"subject": words, "body": words}
            return call("send_email", to=to, about=self.order, topic="order", **text)
        return call(f"{self.name}_order", order_id=self.order, reason=words)

    def happened(self, shop: Shop, before: dict[str, int]) -> int:
        if self.name == "refund":
            return len(
                shop.rows("SELECT 1 FROM payments WHERE kind = 'refund' AND reference = ?", self.order)
            )
        if self.name == "mail":
            return len(shop.rows("SELECT 1 FROM mail WHERE recipient = ?", f"c{self.order}@example.com"))
        (row,) = shop.rows(
            "SELECT p.stock, p.sku, o.quantity FROM orders o JOIN products p USING (sku) WHERE o.id = ?",
            self.order,
        )
        return (row["stock"] - before[row["sku"]]) // row["quantity"]


TASKS = [
    Task("refund", "10001"),
    Task("refund", "10003"),
    Task("cancel", "10002"),
    Task("mail", "10001"),
    Task("mail", "10003"),
]
BY_NAME = {f"{task.name} {task.order}": task for task in TASKS}


@dataclass(frozen=True)
class Schedule:
    tasks: tuple[str, ...]
    together: bool = False
    repeats: frozenset[int] = frozenset()
    payments: dict[int, str] = field(default_factory=dict)
    model: dict[int, str] = field(default_factory=dict)
    crashes: frozenset[int] = frozenset()
    cancelled_at: int | None = None
    asks: bool = False
    retries: bool = True
    wire: str = "chat"


SCHEDULES = st.builds(
    Schedule,
    tasks=st.lists(st.sampled_from(sorted(BY_NAME)), min_size=1, max_size=3, unique=True).map(tuple),
    together=st.booleans(),
    repeats=st.frozensets(st.integers(0, 5), max_size=2),
    payments=st.dictionaries(st.integers(1, 8), st.sampled_from(sorted(PAYMENT)), max_size=4),
    model=st.dictionaries(st.integers(1, 6), st.sampled_from(sorted(MODEL)), max_size=2),
    crashes=st.frozensets(st.integers(0, 30), max_size=3),
    cancelled_at=st.none() | st.integers(0, 20),
    asks=st.booleans(),
    retries=st.booleans(),
    wire=st.sampled_from(["chat", "responses"]),
)


def told(messages: Any) -> dict[tuple[str, str], list[str]]:
    """What the history says of each task: the statuses, in order."""
    calls = {c.id: c for message in messages for c in message.calls}
    statuses: dict[tuple[str, str], list[str]] = {}
    for message in messages:
        if message.role == "tool":
            made = json.loads(calls[message.call_id].arguments)
            key = calls[message.call_id].name.split("_")[0], made.get("order_id") or made["about"]
            statuses.setdefault(key, []).append(json.loads(message.content)["status"])
    return statuses


def key(task: Task) -> tuple[str, str]:
    return "send" if task.name == "mail" else task.name, task.order


def model_of(schedule: Schedule):
    """A model that wants what is not done yet, and now and then asks for it again in other words."""
    turns = iter(range(1000))

    def brain(ask: Ask) -> Decision:
        turn, done = next(turns), told(ask.messages)
        todo = [BY_NAME[name] for name in schedule.tasks if key(BY_NAME[name]) not in done]
        again = [BY_NAME[schedule.tasks[0]]] if turn in schedule.repeats and done else []
        wanted = again or (todo if schedule.together else todo[:1])
        if ask.mode == "none" or not wanted:
            return Decision(text="好了。")
        return Decision(calls=tuple(task.wanted(WORDS[turn % len(WORDS)]) for task in wanted))

    return brain


class World:
    """What outlives the process: the shop, the ledger's file, the saved state, the model."""

    def __init__(self, schedule: Schedule, place: Path):
        self.schedule, self.place, self.ledgers = schedule, Path(mkdtemp(dir=place)), []
        self.shop = Shop(faults=[PAYMENT[kind](at) for at, kind in schedule.payments.items()])
        self.stock = {row["sku"]: row["stock"] for row in self.shop.rows("SELECT sku, stock FROM products")}
        desk = Desk(self.shop)
        self.toolbox = Toolbox(replace(tool, run=getattr(desk, tool.name)) for tool in CONTRACTS)
        faults = [MODEL[kind](at) for at, kind in schedule.model.items()]
        self.client = connect("script", model_of(schedule), faults=faults)
        self.steps = 0
        DEAD.clear()

    def close(self) -> None:
        for ledger in self.ledgers:
            ledger.close()
        rmtree(self.place)

    def happened(self) -> dict[Task, int]:
        return {task: task.happened(self.shop, self.stock) for task in TASKS}

    def is_set(self) -> bool:
        return self.schedule.cancelled_at is not None and self.steps >= self.schedule.cancelled_at

    def keep(self, before: Any, after: Any, seconds: float) -> None:
        write_text(self.place / "state.json", dump(after))
        self.steps += 1
        if self.steps - 1 in self.schedule.crashes:
            raise Died

    def process(self) -> Agent:
        """A new process: a new ledger on the old file, a new executor, nothing remembered."""
        DEAD.clear()
        ledger = Ledger(self.place / "ledger.sqlite", owner="worker-1")
        self.ledgers.append(ledger)
        settle = ledger.settle

        def mortal(*arguments: Any) -> None:
            if DEAD.is_set():
                raise Died
            settle(*arguments)

        ledger.settle = mortal
        retry = Retry(frozenset({"read", "keyed_write"})) if self.schedule.retries else None
        hands = Executor(
            self.toolbox, ledger=ledger, ask=self.shop.payments.query, retry=retry, sleep=lambda seconds: None
        )
        return Agent(
            self.client,
            "gpt-4.1-mini",
            self.toolbox,
            hands,
            lambda request: AskPerson("money") if self.schedule.asks else Allow(),
            wire=self.schedule.wire,
            max_steps=12,
            on_step=self.keep,
            sleep=lambda seconds: None,
            random=lambda: 0.0,
        )


def live(world: World) -> Any:
    """Runs until it ends; dies where the schedule says; each new process goes on from the saved state."""
    agent, state = world.process(), None
    for _ in range(60):
        try:
            if state is None:
                state = begin(agent, " ".join(world.schedule.tasks), run_id="run-1")
                world.keep(None, state, 0.0)
            said_yes = approvals(state, by="wang", at="now") if isinstance(state, Waiting) else ()
            state = run(agent, state, approvals=said_yes, cancel=world)
            if state.name == "Done" or state.reason == "cancelled":
                return state
        except Died:
            agent = world.process()
            state = load((world.place / "state.json").read_text(encoding="utf-8"), world.toolbox)
    raise AssertionError(f"the run does not end: {state.name} {state.reason}")


def accepted(chain: Any, wire: str) -> None:
    check_chain(chain)
    form, check = (chat, check_chat) if wire == "chat" else (responses, check_responses)
    body = form.request("gpt-4.1-mini", [*chain, user("谢谢")])
    assert check(body, CheckContext("strict", vendor("openai"), {})) is None


def check_history(world: World, state: Any) -> None:
    """What the history says of a task and how often it has happened fit together."""
    accepted(state.chain, world.schedule.wire)
    said = told(state.chain)
    for task, times in world.happened().items():
        statuses = said.get(key(task), [])
        assert times <= 1, f"{task} happened {times} times: {statuses}"
        assert times == 1 or "success" not in statuses, f"{task} is lost: {statuses}"
        assert times == 0 or {"success", "pending_reconciliation"} & {*statuses}, (
            f"{task} is hidden: {statuses}"
        )
        assert state.name != "Done" or statuses[-1:] != ["pending_reconciliation"], f"{task} is left open"
    assert not [seen.error for seen in sent(world.client) if seen.status == 400]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("process")


@given(schedule=SCHEDULES)
@settings(
    max_examples=10_000 if LONG else 500,
    deadline=None,
    derandomize=not LONG,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
def test_no_schedule_of_faults_makes_a_write_happen_twice_or_get_lost(place, schedule):
    with closing(World(schedule, place)) as world:
        state = live(world)
        check_history(world, state)
        if state.name == "Done" and not schedule.payments:
            assert all(world.happened()[BY_NAME[name]] == 1 for name in schedule.tasks)


BREAK = {
    "payments forget what they have done": (
        Payments,
        "perform",
        lambda self, key, kind, work: DONE(self, "", kind, work),
    ),
    "an unknown outcome passes for an error": (machine, "is_unknown", lambda result: False),
    "asking always hears that it happened": (Payments, "query", lambda self, key: Answer("happened", {})),
    "one result of a turn is dropped": (
        states,
        "told",
        lambda run, results, *rest, **kw: TOLD(run, results[1:], "{}"),
    ),
}
DONE, TOLD = Payments.perform, states.told


@pytest.mark.parametrize("broken", BREAK)
def test_the_schedules_notice_when_a_part_is_broken(place, monkeypatch, broken):
    """A check that cannot fail proves nothing: each of these makes one of the first schedules red."""
    monkeypatch.setattr(*BREAK[broken])

    @given(schedule=SCHEDULES)
    @settings(max_examples=150, deadline=None, derandomize=True, database=None, phases=(Phase.generate,))
    def red(schedule):
        with closing(World(schedule, place)) as world:
            check_history(world, live(world))

    with pytest.raises(
        BaseException, match=r"happened|lost|hidden|left open|does not end|order|Flaky|distinct"
    ):
        red()


def some_schedules(count: int) -> Iterator[Schedule]:
    """Schedules for the comparison: refunds and mails, one or two replies lost; drawn with a fixed seed."""
    random = Random(7)
    for _ in range(count):
        tasks = tuple(random.sample([name for name in sorted(BY_NAME) if "cancel" not in name], 2))
        kinds = ["lost before", "lost after", "late"]
        yield Schedule(
            tasks, payments={random.randint(1, 4): random.choice(kinds) for _ in range(2)}, asks=False
        )


def naive(world: World) -> None:
    """The loop of the articles (S2 §4.3): what fails is tried twice again, and no operation has a name."""
    for name in world.schedule.tasks:
        wanted = BY_NAME[name].wanted(WORDS[0])
        function, arguments = world.toolbox[wanted.name].run, json.loads(wanted.arguments)
        for _ in range(3):
            with suppress(ConnectionError, TimeoutError):
                function(**arguments, context=CallContext())
                break


def test_the_loop_of_the_articles_does_damage_on_schedules_that_ours_survives(place):
    damage, ours = Counter(), Counter()
    for schedule in some_schedules(100):
        with closing(World(schedule, place)) as world:
            naive(world)
            damage.update(times for times in world.happened().values() if times > 1)
        with closing(World(schedule, place)) as world:
            check_history(world, live(world))
            ours.update(times for times in world.happened().values() if times > 1)
    assert sum(damage.values()) > 20
    assert not ours
