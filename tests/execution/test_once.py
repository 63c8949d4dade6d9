"""Whatever goes wrong, refunds, cancellations and mails happen once: random schedules (S1 §4.2)."""

import json
import os
from collections import Counter
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.execution.executor import Executor, Retry, prepare
from labkit.execution.ledger import Answer, Ledger
from labkit.protocol.errors import Transient
from labkit.protocol.messages import ToolCall
from labkit.protocol.tools import CallContext, Toolbox
from labkit.shop.payments import Fault, Payments, lost_after, lost_before, throttled
from labkit.shop.tools import Desk, shop_tools
from labkit.shop.world import NOW, Shop, diff, snapshot

SCHEDULES = 10_000 if os.environ.get("LABKIT_LONG") else 500
OPERATIONS = (
    ("refund_order", {"order_id": "10001", "reason": "坏了"}),
    ("refund_order", {"order_id": "20002", "reason": "late"}),
    ("cancel_order", {"order_id": "10002", "reason": "不要了"}),
    (
        "send_email",
        {"to": "emma@example.com", "about": "20001", "topic": "order", "subject": "Hi", "body": "…"},
    ),
)
TOOLS, NUMBERS = shop_tools(Shop()), count(1)
WORDS = ("坏了", "I changed my mind", "请尽快", "")


class Killed(KeyboardInterrupt):
    """The process is gone: nothing that follows is written down."""


class MortalLedger(Ledger):
    alive = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._run("PRAGMA synchronous = OFF")  # processes die here, machines do not

    def settle(self, *args, **kwargs):
        if self.alive:
            super().settle(*args, **kwargs)


@dataclass(frozen=True)
class Schedule:
    """Which operation is asked for at each step and how it is worded; what befalls each service request."""

    steps: tuple[tuple[int, str, str], ...]
    trouble: tuple[str, ...]
    nets: str


schedules = st.builds(
    Schedule,
    st.lists(
        st.tuples(
            st.integers(0, len(OPERATIONS) - 1),
            st.sampled_from(WORDS),
            st.sampled_from(["call", "call", "reconcile", "duplicate", "restart"]),
        ),
        min_size=1,
        max_size=8,
    ).map(tuple),
    st.lists(
        st.sampled_from(["", "", "lost_before", "lost_after", "busy", "wait", "dies_before", "dies_after"]),
        max_size=16,
    ).map(tuple),
    st.sampled_from(["ledger and keys", "ledger alone", "keys alone"]),
)


def planned(trouble, die):
    make = {
        "lost_before": lost_before,
        "lost_after": lost_after,
        "busy": throttled,
        "wait": lambda at: throttled(at, 2.0),
        "dies_before": lambda at: Fault(at, "before", die),
        "dies_after": lambda at: Fault(at, "after", die),
    }
    return [make[name](at) for at, name in enumerate(trouble, 1) if name]


class Forgetful(Payments):
    """A service that takes a key and does the work again all the same; at least it can be asked."""

    def perform(self, operation_id, kind, work):
        return super().perform(f"{operation_id}#{next(NUMBERS)}", kind, work)

    def query(self, operation_id):
        with self._trouble(), self._transaction() as database:
            known = "SELECT result FROM operations WHERE id LIKE ? || '#%'"
            done = database.execute(known, (operation_id,)).fetchone()
            return Answer("happened", json.loads(done["result"])) if done else Answer("absent")


class World:
    """A shop, and a support process that dies and is started again on the same ledger file."""

    def __init__(self, schedule, folder):
        self.shop, self.nets = Shop(faults=planned(schedule.trouble, self.die)), schedule.nets
        if self.nets == "ledger alone":
            self.shop.payments = Forgetful(self.shop.transaction, self.shop.payments.faults, NOW)
        desk = Desk(self.shop)
        self.tools = Toolbox(replace(tool, run=getattr(desk, tool.name)) for tool in TOOLS)
        self.before, self.ids, self.ledger, self.path = (
            snapshot(self.shop),
            count(1),
            None,
            folder / "ledger.db",
        )

    def start(self):
        if self.ledger:
            self.ledger.close()
        self.ledger = MortalLedger(":memory:" if self.nets == "keys alone" else self.path, owner="desk")
        retry = Retry(frozenset({"read", "keyed_write"}), attempts=2)
        ask, still = self.shop.payments.query, lambda seconds: None
        self.executor = Executor(self.tools, ledger=self.ledger, ask=ask, retry=retry, sleep=still)

    def die(self):
        if self.ledger:
            self.ledger.alive = False
        raise Killed

    def prepared(self, operation, words=""):
        name, arguments = OPERATIONS[operation]
        free = "body" if name == "send_email" else "reason"
        worded = json.dumps(arguments | {free: words}, ensure_ascii=False)
        return prepare(ToolCall(f"call_{next(self.ids)}", name, worded), self.tools, run_id="run")

    def done(self):
        """How often each operation has happened, by the rows it left."""
        after, done = snapshot(self.shop), Counter()
        for change in diff(self.before, after):
            if change.table == "payments" and change.before is None:
                done["refund_order", change.after["reference"]] += 1
            if change.table == "products":
                done["cancel_order", "10002"] += change.after["stock"] - change.before["stock"]
            if change.table == "mail":
                done["send_email", "20001"] += 1
        return done


def name_of(operation):
    name, arguments = OPERATIONS[operation]
    return name, arguments.get("order_id", "20001")


def carry_out(world, step):
    operation, words, action = step
    if action == "restart":
        world.start()
    prepared = world.prepared(operation, words)
    try:
        if action == "duplicate":
            world.executor.execute(prepared)
        carry = world.executor.reconcile if action == "reconcile" else world.executor.execute
        return carry(prepared)
    except Killed:
        world.start()
        return None


def settled(world, operation):
    """What a careful desk does at last: ask until it is known. Three faultless rounds must be enough."""
    world.shop.payments.faults = ()
    for _ in range(3):
        observation = world.executor.reconcile(world.prepared(operation, "again"))
        if observation.status == "success":
            return True
    return False


def naive(world, step):
    """The loop of S2 §4.3 as it is usually written: any exception means try again, and nobody keeps a key."""
    operation, words, _ = step
    prepared = world.prepared(operation, words)
    arguments = {name: getattr(prepared.arguments, name) for name in type(prepared.arguments).model_fields}
    for _ in range(3):
        try:
            return prepared.tool.run(**arguments, context=CallContext())
        except Killed:
            return None
        except Exception as error:
            failure = error
    return failure


def run_careful(schedule, folder):
    world = World(schedule, folder)
    world.start()
    for step in schedule.steps:
        observation, name = carry_out(world, step), name_of(step[0])
        if observation and observation.status == "success":
            assert world.done()[name] == 1, "reported done, but it is not"
        remembers = schedule.nets != "keys alone"
        if remembers and observation and isinstance(observation.error, Transient):
            assert world.done()[name] == 0, "reported undone, but it is done"
    asked = {step[0] for step in schedule.steps}
    assert all(settled(world, operation) for operation in asked), "an operation was never settled"
    assert world.done() == {name_of(operation): 1 for operation in asked}
    assert not world.ledger.unsettled()
    world.ledger.close()


def run_naive(schedule):
    world, damage = World(schedule, Path()), Counter()
    for step in schedule.steps:
        name, before = name_of(step[0]), world.done()
        failed = isinstance(naive(world, step), Exception)
        done = world.done()[name]
        damage["told failed, but done"] += failed and done > 0
        damage["twice in one call"] += done - before[name] > 1
    for operation in {step[0] for step in schedule.steps}:
        times = world.done()[name_of(operation)]
        damage["done again"] += max(0, times - 1)
        damage["never done"] += times == 0
    return damage


def test_every_operation_happens_once_under_any_schedule_and_the_naive_loop_does_damage(tmp_path, caplog):
    """Bug case R04: 500 schedules, 10,000 with LABKIT_LONG; the naive loop on the same ones does damage."""
    folders, damage = count(), Counter()
    caplog.set_level("CRITICAL", "labkit.execution.outcome")  # or pytest keeps 100,000 records

    @settings(
        max_examples=SCHEDULES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(schedules)
    def holds(schedule):
        folder = tmp_path / str(next(folders))
        folder.mkdir()
        run_careful(schedule, folder)
        damage.update(run_naive(schedule))

    holds()
    print(f"naive loop, {SCHEDULES} schedules: {dict(damage)}")
    kinds = ("twice in one call", "done again", "never done", "told failed, but done")
    assert all(damage[kind] > 0 for kind in kinds)
