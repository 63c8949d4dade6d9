# %% [markdown]
# # 7. Make side effects happen once
#
# You will be able to
# - name an operation so that whoever repeats it, model, program or person, repeats nothing,
# - kill a process between commit and reply, and bring the work to its end with exactly one refund,
# - bind a person's yes to what that person has seen.
#
# Before this: [6. Turn errors into states](06_error_state_machine.ipynb) · 45 minutes · network: none · sources: S1 §4.2, L9, figure 1
#
# ```mermaid
# sequenceDiagram
#     participant R as runtime
#     participant L as ledger
#     participant P as payments
#     R->>L: refund:10001 begins (7.3)
#     R->>P: refund, key refund:10001 (7.2)
#     P-->>P: commit
#     P--xR: reply lost (7.1)
#     R->>L: unknown
#     R->>P: what became of refund:10001? (7.4)
#     P->>R: it happened
#     R->>L: reconciled
# ```

# %%
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from logging import getLogger
from pathlib import Path
from random import Random
from labkit.classroom.check import check
from labkit.classroom.machine_plot import draw
from labkit.connect import connect, model_for
from labkit.execution.executor import Executor, prepare
from labkit.execution.ledger import Answer, Ledger
from labkit.execution.permission import Allow, AskPerson
from labkit.protocol.tools import CallContext, Tool
from labkit.runtime import TRANSITIONS, Agent, approvals, dump, load, reject, run
from labkit.service.brains.scripted import call, script
from labkit.shop.payments import lost_after, lost_before
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop, diff, snapshot
getLogger("labkit").setLevel("CRITICAL")

# %% [markdown]
# ## 7.1 A lost reply looks like a lost request
#
# Two shops. One loses the request, the other the reply. What does the caller see, and what does the database?

# %%
REFUND = {"order_id": "10001", "reason": "坏了 broken"}

def refunds(shop: Shop, order: str = "10001") -> int:
    return len(shop.rows("SELECT 1 FROM payments WHERE kind = 'refund' AND reference = ?", order))

def pay(tool: Tool, key: str = "", **changes) -> str:
    try:
        tool.run(**REFUND | changes, context=CallContext(operation_id=key))
    except ConnectionError as error:
        return f"{type(error).__name__}: {error}"
    return "ok"

seen = []
for name, fault in {"request lost": lost_before(1), "reply lost": lost_after(1)}.items():
    tool = shop_tools(shop := Shop(faults=[fault]))["refund_order"]
    before = snapshot(shop)
    seen += [(pay(tool), len(diff(before, snapshot(shop))))]
    print(f"{name:13}", *seen[-1], "row(s) changed")
assert seen[0][0] == seen[1][0] and (seen[0][1], seen[1][1]) == (0, 1)

# %% [markdown]
# The same exception, two worlds. No `try` and no reading of the message can tell them apart; only the payment service
# knows. So we need two things: a *name* under which to ask it, and a *memory* of what we were about to do.
#
# ## 7.2 A key names the operation, not the attempt
# <!-- covers: L9 -->
#
# An **idempotency key** is that name: the service does the work once for each key, and gives the old result to
# everybody who comes with the same key again. Everything hangs on what the key is made of. The model asks for one refund three
# times, each time in other words and with a new call id, as models do.

# %%
ATTEMPTS = [("call_a", "坏了"), ("call_b", "客户说坏了"), ("call_c", "broken, customer is angry")]
KEYS = {
    "none": lambda call_id, reason: "",
    "call id": lambda call_id, reason: call_id,
    "digest of arguments": lambda call_id, reason: f"10001 {reason}",
    "order": lambda call_id, reason: "refund:10001",
}
counted = {}
for name, key in KEYS.items():
    tool = shop_tools(shop := Shop())["refund_order"]
    for call_id, reason in ATTEMPTS:
        pay(tool, key(call_id, reason), reason=reason)
    counted[name] = refunds(shop)
print(counted)
assert counted == {"none": 3, "call id": 3, "digest of arguments": 3, "order": 1}

# %% [markdown]
# Only the last key survives. It says what the *business* means by "the same": one refund for one order, whatever the
# reason is called. That is a decision, so labkit has you write it: `operation=` of a write tool.

# %%
print(tool.operation(tool.arguments(**REFUND)), "|", tool.effect)

# %% [markdown] task 7.1
# **7.1 Name the operation.** The shop will get a tool `send_voucher(order_id, amount, text)`: at most one voucher of each
# amount for an order. Write `voucher_key(arguments)`, where `arguments` is a dict. The model writes amounts as `"5"`, `"5.00"`
# or `5`, and the text as it likes.
#
# <details><summary>Hint 1</summary>What does the business call the same? Only that goes into the key.</details>
# <details><summary>Hint 2</summary>"5" and "5.00" are one amount: turn it into a number first.</details>
# <details><summary>Hint 3</summary>f"voucher:{order}:{float(amount):.2f}", and a prefix, for a refund has keys too.</details>

# %% exercise 7.1
def voucher_key(arguments: dict) -> str:
    ### BEGIN SOLUTION
    return f"voucher:{arguments['order_id']}:{float(arguments['amount']):.2f}"
    ### END SOLUTION

# %% check 7.1
with check("7.1", voucher_key):
    same = [dict(order_id="10001", amount=a, text=t) for a, t in (("5", "抱歉"), ("5.00", "sorry"), (5, ""))]
    keys = [voucher_key(arguments) for arguments in same]
    assert all(isinstance(key, str) and key for key in keys), "a key is a text that is not empty"
    assert len(set(keys)) == 1, f"one voucher, {len(set(keys))} keys: what differs does not matter to the business"
    assert voucher_key(same[0] | {"amount": "8"}) != keys[0], "a voucher of 8 is another operation"
    assert voucher_key(same[0] | {"order_id": "10002"}) != keys[0], "another order is another operation"
    assert voucher_key(same[0]) == keys[0], "the same key tomorrow: no clock, no random number"
    assert not keys[0].startswith("10001"), "begin with the kind: refund and voucher 10001 must not collide"

# %% wrong 7.1 a random name
def voucher_key(arguments):
    return f"voucher:{Random().random()}"

# %% wrong 7.1 everything that was said
def voucher_key(arguments):
    return "voucher:" + json.dumps(arguments, sort_keys=True)

# %% wrong 7.1 the amount as it was written
def voucher_key(arguments):
    return f"voucher:{arguments['order_id']}:{arguments['amount']}"

# %% wrong 7.1 the order alone
def voucher_key(arguments):
    return f"voucher:{arguments['order_id']}"

# %% wrong 7.1 no kind
def voucher_key(arguments):
    return f"{arguments['order_id']}:{float(arguments['amount']):.2f}"

# %% right 7.1 in cents
def voucher_key(arguments):
    cents = round(float(arguments["amount"]) * 100)
    return "/".join(["voucher", arguments["order_id"], str(cents)])

# %% [markdown]
# ## 7.3 A process can die between commit and reply
#
# The key protects the service from us. What protects us from forgetting? A **ledger**: before a write begins, its name
# goes to disk as *pending*; after it, as *committed*. The executor does that. We give it a process of its own, with shop
# and ledger as files, and kill it. The ledger has an *owner*, so that a worker that comes back finds what it left.

# %%
WORKER = """
import sys
from pathlib import Path
from labkit.execution.executor import Executor, prepare
from labkit.execution.ledger import Ledger
from labkit.protocol.messages import ToolCall
from labkit.shop.payments import killed
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop
folder, moment = Path(sys.argv[1]), sys.argv[2]
shop = Shop(folder / "shop.sqlite", faults=[killed(1, moment)] if moment else [])
box, ledger = shop_tools(shop), Ledger(folder / "ledger.sqlite", owner="worker-1")
hands = Executor(box, ledger=ledger, ask=shop.payments.query)
wanted = ToolCall("call_1", "refund_order", '{"order_id": "10001", "reason": "broken"}')
refund = prepare(wanted, box, run_id="run-1")
print("begin    ", refund.operation_id, flush=True)
seen = hands.execute(refund)
print("execute  ", seen.status, seen.error or "")
if seen.error:
    print("reconcile", hands.reconcile(refund).content)
"""

# %% [markdown]
# `killed(1, "after")` ends the process on the spot, at the first request to the payment service, after the commit. No
# `except`, no `finally` runs. What will stand in the ledger, and in `payments`?

# %%
FILES = Path(tempfile.mkdtemp())

def start(files: Path, moment: str = "") -> str:
    command = [sys.executable, "-c", WORKER, str(files), moment]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    return f"{done.stdout}exit status {done.returncode}"

def look(files: Path) -> tuple[int, str]:
    shop, ledger = Shop(files / "shop.sqlite"), Ledger(files / "ledger.sqlite", owner="someone else")
    seen = refunds(shop), ledger.entry("refund:10001").state
    shop.close(), ledger.close()
    return seen

print(start(FILES, "after"))
print("refunds, ledger:", look(FILES))

# %% [markdown]
# The money has moved, nobody was told, and the ledger says *pending*. A program that starts again and simply does
# what it was about to do pays a second time, unless there is a key. Start the same worker once more, without a kill:

# %%
print(start(FILES))
print("refunds, ledger:", look(FILES))
assert look(FILES) == (1, "reconciled")
shutil.rmtree(FILES, ignore_errors=True)

# %% [markdown]
# Read the three lines. The ledger of `worker-1` was opened again, so its *pending* operation turned into *unknown*; the
# executor refused to begin it a second time; `reconcile` asked the payment service, and heard "it happened".

# %% [markdown] task 7.2
# **7.2 Predict the other death.** Now the process dies *before* the commit. Give, for this case,
# `(refunds after the kill, state in the ledger after the kill, refunds after the restart)`.
#
# <details><summary>Hint 1</summary>The ledger is written before the request leaves the house.</details>
# <details><summary>Hint 2</summary>The dead write nothing: what was pending stays so.</details>
# <details><summary>Hint 3</summary>After the restart the payment service says "absent". Then it is safe to do it.</details>

# %% exercise 7.2
### BEGIN SOLUTION
# blank: predicted = ...  # your turn
predicted = (0, "pending", 1)
### END SOLUTION

# %% check 7.2
with check("7.2", predicted), tempfile.TemporaryDirectory() as place:
    assert len(predicted) == 3, "three predictions: two numbers of refunds, and a state between them"
    start(Path(place), "before")
    seen, shop = look(Path(place)), Shop(Path(place, "shop.sqlite"))
    ledger = Ledger(Path(place, "ledger.sqlite"), owner="worker-1")
    again = Executor(shop_tools(shop), ledger=ledger, ask=shop.payments.query)
    again.reconcile(prepare(call("refund_order", **REFUND), again.toolbox, run_id="run-1"))
    seen += (refunds(shop),)
    ledger.close(), shop.close()
    for said, was, what in zip(predicted, seen, ("after the kill", "in the ledger", "after the restart")):
        assert said == was, f"{what}: you said {said}; who could have written what by then?"

# %% wrong 7.2 the dead have tidied up
predicted = (0, "failed", 1)

# %% wrong 7.2 nothing had begun
predicted = (0, "unknown", 0)

# %% wrong 7.2 it was paid
predicted = (1, "pending", 1)

# %% right 7.2 as a list
predicted = [0, "pending", 1]

# %% [markdown]
# ## 7.4 Ask before you act
# <!-- covers: L9 F1 -->
#
# To **reconcile** is to ask the service about the key. It can say three things. What does labkit do with each?

# %%
def after_losing(reply: Answer) -> tuple[str, int]:
    shop = Shop(faults=[lost_after(1) if reply.state == "happened" else lost_before(1)])
    box = shop_tools(shop)
    hands = Executor(box, ask=lambda operation_id: reply)
    hands.execute(lost := prepare(call("refund_order", **REFUND), box, run_id="lesson"))
    return json.loads(hands.reconcile(lost).content)["status"], refunds(shop)

for reply in (Answer("happened", {"refunded": "256.00"}), Answer("absent"), Answer("unknown")):
    print(f"{reply.state:9}", *after_losing(reply))
assert after_losing(Answer("absent")) == ("success", 1)

# %% [markdown]
# *Happened*: the result is taken over. *Absent*: now it is safe to do it. *Unknown*, or no answer at all: neither; it stays
# pending, and the model is told so. The first article's listing 9 knows the first and the third; the second it leaves
# pending for ever, and that refund is lost.

# %%
def listing_9(operation_id, query, execute):
    state = query(operation_id)
    if state == "happened":
        return "done"
    return "pending"

print(listing_9("refund:10001", lambda key: "absent", print), "- and nobody will ever pay")

# %% [markdown] task 7.3
# **7.3 Find the bug.** Write `settle(operation_id, query, execute)`: `query(id)` gives "happened", "absent" or "unknown",
# or raises; `execute(id)` pays, or raises. Return "done" or "pending". Never pay when it may have been paid; pay when it
# was not; a payment that raises is unknown again.
#
# <details><summary>Hint 1</summary>Which of the three answers, and only that one, permits to pay?</details>
# <details><summary>Hint 2</summary>A query that raises says nothing: that is "unknown", not "absent".</details>
# <details><summary>Hint 3</summary>One try around both; any exception means "pending". Hand the same id to execute.</details>

# %% exercise 7.3
def settle(operation_id, query, execute) -> str:
    ### BEGIN SOLUTION
    try:
        state = query(operation_id)
        if state == "absent":
            execute(operation_id)
            return "done"
    except Exception:
        return "pending"
    return "done" if state == "happened" else "pending"
    ### END SOLUTION

# %% check 7.3
class Bank:
    def __init__(self, says, fails=False):
        self.says, self.fails, self.paid = says, fails, []
    def query(self, key):
        if not self.says:
            raise ConnectionError("the bank does not answer the question")
        return self.says
    def execute(self, key):
        self.paid.append(key)
        if self.fails:
            raise ConnectionError("the reply is lost")

with check("7.3", settle):
    for bank, said, paid in (
        (Bank("happened"), "done", 0), (Bank("absent"), "done", 1), (Bank("unknown"), "pending", 0),
        (Bank(""), "pending", 0), (Bank("absent", fails=True), "pending", 1),
    ):
        case = f"the bank says {bank.says or 'nothing (it raises)'}{', then loses its reply' * bank.fails}"
        assert settle("refund:1", bank.query, bank.execute) == said, f"{case}: that is {said}"
        assert bank.paid == ["refund:1"] * paid, f"{case}: {len(bank.paid)} payments, keys {bank.paid}"

# %% wrong 7.3 listing 9
def settle(operation_id, query, execute):
    return listing_9(operation_id, lambda key: query(key), execute)

# %% wrong 7.3 whatever did not happen is paid
def settle(operation_id, query, execute):
    if query(operation_id) != "happened":
        execute(operation_id)
    return "done"

# %% wrong 7.3 no answer means absent
def settle(operation_id, query, execute):
    try:
        state = query(operation_id)
    except Exception:
        state = "absent"
    if state == "absent":
        execute(operation_id)
    return "pending" if state == "unknown" else "done"

# %% wrong 7.3 a new key for the second try
def settle(operation_id, query, execute):
    try:
        state = query(operation_id)
        if state == "absent":
            execute(operation_id + ":2")
            return "done"
    except Exception:
        return "pending"
    return "done" if state == "happened" else "pending"

# %% right 7.3 with match
def settle(operation_id, query, execute):
    try:
        match query(operation_id):
            case "happened":
                return "done"
            case "absent":
                return execute(operation_id) or "done"
    except ArithmeticError:
        raise
    except Exception:
        pass
    return "pending"

# %% [markdown]
# What does a whole run do while nobody can say? Here the reply is lost and the bank does not answer the question
# either. The run stops with a word of its own, and its history is one that the API accepts.

# %%
def desk(*said, faults=(), policy=lambda request: Allow()):
    shop, path = Shop(faults=faults), []
    box = shop_tools(shop)
    hands = Executor(box, ask=shop.payments.query)
    client = connect("script", script(*said))
    keep = lambda before, after, seconds: path.append((before.name, after.name))
    return Agent(client, "gpt-4.1-mini", box, hands, policy, on_step=keep), shop, path

WANTS = call("refund_order", **REFUND)
agent, shop, path = desk(WANTS, "已退款。", faults=[lost_after(1), lost_before(2)])
end = run(agent, "退款 10001")
print(end.reason, "|", json.loads(end.chain[-1].content)["status"], "| refunds:", refunds(shop))

# %% [markdown]
# An hour later the bank is back. A run that stopped like this can be *reopened*: it asks again, and goes on.

# %%
end = run(agent, end)
print(end.reason, end.answer, "| refunds:", refunds(shop))
draw(TRANSITIONS, path)

# %% [markdown]
# ## 7.5 A yes is bound to what was seen
#
# Some writes a person must allow. The run waits, perhaps for days: `dump` makes JSON of it, and `load` makes a run of that,
# in any process. What is the person asked?

# %%
def manager(request):
    return AskPerson("money leaves the shop") if request.tool.effect == "write" else Allow()

agent, shop, path = desk(WANTS, "已退款。", policy=manager)
saved = dump(run(agent, "退款 10001"))
waiting = load(saved, agent.toolbox)
yes = approvals(waiting, by="wang", at="2026-09-01")
print(waiting.name, "|", yes[0].tool_name, yes[0].arguments_digest, "|", *waiting.asks.values())
end = run(agent, waiting, approvals=yes)
print(end.answer, "| refunds:", refunds(shop))

# %% [markdown]
# The yes holds a *digest of the arguments*. Naively, one remembers "wang has approved refund_order". Then the model,
# or a customer who talks to it, changes the order number:

# %%
other = call("refund_order", order_id="20002", reason="坏了 broken")
names = {one.tool_name for one in yes}
by_name = lambda request: Allow() if request.tool.name in names else manager(request)
for name, policy in {"by tool name": by_name, "by arguments": manager}.items():
    agent, shop, _ = desk(other, "已退款。", policy=policy)
    end = run(agent, "退款", approvals=yes)
    print(f"{name:13} {end.name:8} refunds of 20002: {refunds(shop, '20002')}")
assert end.name == "Waiting" and not refunds(shop, "20002")

# %% [markdown]
# Approved was 256.00 for order 10001; paid was order 20002. Bound to its arguments, the yes is worth nothing for another refund,
# and the run waits again.

# %% [markdown] task 7.4
# **7.4 Say no.** `half_yes(agent, waiting)` takes a run that waits for *two* refunds, 10001 and 10003. Approve the first,
# refuse the second, and return the state in which the run ends. The model's last words are scripted.
#
# <details><summary>Hint 1</summary>approvals(waiting, …) gives one yes for each call, in order; take one of them.</details>
# <details><summary>Hint 2</summary>With one yes, the run waits again, for the other call. What can you do with a waiting state?</details>
# <details><summary>Hint 3</summary>still = run(agent, waiting, approvals=[first]); then run(agent, reject(still, "…")).</details>

# %% exercise 7.4
def half_yes(agent, waiting):
    ### BEGIN SOLUTION
    first, _ = approvals(waiting, by="wang", at="2026-09-01")
    still = run(agent, waiting, approvals=[first])
    return run(agent, reject(still, "order 10003 is too old"))
    ### END SOLUTION

# %% check 7.4
with check("7.4", half_yes):
    two = [WANTS, call("refund_order", order_id="10003", reason="坏了")]
    agent, shop, path = desk(two, "一笔已退，一笔没有批准。", policy=manager)
    end = half_yes(agent, run(agent, "退款 10001 和 10003"))
    paid = refunds(shop), refunds(shop, "10003")
    assert getattr(end, "name", None) == "Done", f"the run is not at its end: {getattr(end, 'name', end)}"
    assert paid == (1, 0), f"refunds of 10001 and 10003: {paid}; one was approved"
    assert [result.status for result in end.observations].count("success") == 1, "the model must hear of both"

# %% wrong 7.4 all or nothing
def half_yes(agent, waiting):
    return run(agent, waiting, approvals=approvals(waiting, by="wang", at="2026-09-01"))

# %% wrong 7.4 no to everything
def half_yes(agent, waiting):
    return run(agent, reject(waiting, "no"))

# %% wrong 7.4 one yes, and then nothing
def half_yes(agent, waiting):
    return run(agent, waiting, approvals=approvals(waiting, by="wang", at="2026-09-01")[:1])

# %% wrong 7.4 the wrong one
def half_yes(agent, waiting):
    still = run(agent, waiting, approvals=approvals(waiting, by="wang", at="2026-09-01")[1:])
    return run(agent, reject(still, "no"))

# %% right 7.4 found by its arguments
def half_yes(agent, waiting):
    keys = [item.arguments.order_id for item in waiting.batch]
    yes = dict(zip(keys, approvals(waiting, by="li", at="now"), strict=True))["10001"]
    return run(agent, reject(run(agent, waiting, approvals=(yes,)), "only one"))

# %% [markdown]
# ## 7.6 Two hundred schedules, one refund each
#
# One lucky run proves nothing. We draw two hundred schedules of lost requests and lost replies, up to four in a row, and
# the model asks twice, in other words. First the loop of notebook 6, then executor and ledger.

# %%
def schedules(count: int = 200):
    draws = Random(7)
    for _ in range(count):
        yield [draws.choice((lost_before, lost_after))(n) for n in range(1, 5) if draws.random() < 0.5]

def ours(faults) -> int:
    shop = Shop(faults=faults)
    hands = Executor(shop_tools(shop), ask=shop.payments.query)
    for wanted in (WANTS, call("refund_order", order_id="10001", reason="客户第二次来电 called again")):
        refund = prepare(wanted, hands.toolbox, run_id="lesson")
        seen = hands.execute(refund)
        while seen.error:
            seen = hands.reconcile(refund)
    return refunds(shop)

def theirs(faults) -> int:
    tool = shop_tools(shop := Shop(faults=faults))["refund_order"]
    for reason in ("坏了", "客户第二次来电"):
        any(pay(tool, reason=reason) == "ok" for _ in range(3))
    return refunds(shop)

# %% [markdown]
# How many refunds does each order get? Predict ours before you look.

# %%
table = {side.__name__: Counter(map(side, schedules())) for side in (theirs, ours)}
for name, counts in table.items():
    print(f"{name:7}", {f"{times} refunds": counts[times] for times in sorted(counts)})
assert table["ours"] == {1: 200}

# %% [markdown]
# Never two, and never none. The tests of labkit do the same with whole runs: crashes, cancelled runs, refusals and three
# kinds of writes, ten thousand schedules at a time; one line of the machine changed, and they turn red.
#
# ## With a real model
#
# The same desk with the model that `LABKIT_CLIENT` names; a person is asked before money moves.

# %%
if os.environ.get("LABKIT_CLIENT"):
    real, (agent, shop, path) = connect(), desk(policy=manager)
    end = run(replace(agent, client=real, model=model_for(real)), "订单 10001 坏了，请全额退款。Refund it.")
    print(end.name, end.reason, end.answer, refunds(shop))

# %% [markdown]
# ## What you have seen
#
# From outside, a lost reply and a lost request are the same. A key made of what the business calls "the same" makes
# repeating harmless. A ledger on disk remembers what was begun when the process does not. An unknown outcome is asked about before
# anything is done, and stays open while nobody can say. A yes counts for exactly what was shown.
#
# Questions
# 1. Why must the ledger be written *before* the request goes out?
# 2. Your bank has no way to ask about a key. What can you still promise, and what not?
# 3. Two processes run the same request at once. Which of them pays?
# 4. Should the reason for a refund be part of what is approved? And of the key?
# 5. A customer is to be refunded twice for one order, rightly. What changes?
# 6. Which write in your own system has no key today?
#
# Next: [8. Treat tool results as data](08_injection_filtering.ipynb)
