# %% [markdown]
# # 6. Turn errors into states
#
# You will be able to
# - say of any error who can act on it, and what may therefore be tried again,
# - mend the executor that half the tutorials copy: timeouts, blind retries, results cut in the middle,
# - read an agent as a state machine, drive it step by step, and end every run so that the API accepts what it leaves.
#
# Before this: [5. Say exactly what a tool takes](05_strict_schemas.ipynb) · 45 minutes · network: none · sources: S1 §4.1–4.3, §4.5, L9, L10, L17, figure 1; S2 §4
#
# ```mermaid
# flowchart LR
#     T[a tool call fails] --> W{who can act?}
#     W -- the model --> M["tell it, once<br/>6.3"]
#     W -- the tool layer --> R["wait, try again<br/>6.4"]
#     W -- a person --> P["stop and say so<br/>6.5"]
#     W -- nobody knows yet --> Q["ask what happened<br/>6.5, notebook 7"]
# ```

# %%
import json
import os
from dataclasses import replace
from itertools import accumulate
from logging import getLogger
from random import Random
import openai
from labkit.classroom.check import check
from labkit.classroom.machine_plot import draw
from labkit.classroom.plots import BAD, GOOD, canvas
from labkit.classroom.show import show_source
from labkit.classroom.widgets import chain_viewer, machine
from labkit.connect import connect, model_for, sent
from labkit.execution.executor import Breaker, Executor, Retry, error_result, prepare
from labkit.execution.outcome import success_result
from labkit.execution.permission import Allow, AskPerson, Deny
from labkit.protocol import chat, errors
from labkit.protocol.tools import CallContext
from labkit.runtime import TRANSITIONS, Agent, advance, approvals, begin, run, step
from labkit.service.brains.scripted import call, script
from labkit.shop.payments import lost_after, lost_before, throttled
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

getLogger("labkit").setLevel("CRITICAL")

# %% [markdown]
# ## 6.1 Trying again does damage
# <!-- covers: B4.3b -->
#
# Something fails, so we try again, three times at most, as everybody does. Here is that loop around the refund tool.
# The shop's payment service can be told to lose a message: the request, or the reply after the money has moved.


# %%
def retry_twice(function, **arguments):
    for _ in range(3):
        try:
            return {"success": True, "data": str(function(**arguments))[:2000]}
        except Exception as error:
            failure = {"success": False, "error": str(error)}
    return failure

def naive_refund(faults):
    shop = Shop(faults=faults)
    refund = shop_tools(shop)["refund_order"].run
    said = retry_twice(refund, order_id="10001", reason="坏了 broken", context=CallContext())
    return said["success"], shop.rows("SELECT amount FROM payments WHERE kind = 'refund'")


# %% [markdown]
# Four schedules of trouble. How many refunds will each leave in `payments`? Predict the last two.

# %%
for name, faults in {
    "no trouble": [], "request 1 lost": [lost_before(1)],
    "reply 1 lost": [lost_after(1)], "replies 1, 2 lost": [lost_after(1), lost_after(2)],
}.items():
    success, rows = naive_refund(faults)
    print(f"{name:18} success={success}  refunds: {[-row['amount'] / 100 for row in rows]}")

# %% [markdown]
# Paid three times, and the loop reports success. To it a lost request and a lost reply are the same exception. What
# becomes of a hundred refunds, when one reply in ten is lost? (Drawn with a seed: your numbers are mine.)

# %%
draws, paid = Random(6), []
for _ in range(100):
    faults = [lost_after(n) for n in (1, 2, 3) if draws.random() < 0.1]
    paid.append(len(naive_refund(faults)[1]))
print({f"paid {times} x": paid.count(times) for times in sorted(set(paid))})
assert sum(times > 1 for times in paid) > 5

# %% [markdown]
# A smaller limit does not help: the first retry is already one too many. What is missing is a question. *Who can act on
# this error?*
#
# ## 6.2 An error belongs to whoever can act on it
# <!-- covers: T4.2 AC4 -->
#
# labkit's errors are a tree, sorted by that question. It is drawn at the top of the file:

# %%
print(errors.__doc__)

# %% [markdown]
# Now let things go wrong for real: the payment service refuses its first request and loses the reply to its second.
# Each row gives the kind of error, and who must act.

# %%
GOOD_CALL, MISSING = call("get_order", order_id="10001"), call("get_order", order_id="99999")
REFUND = call("refund_order", order_id="10001", reason="坏了")
TRY = {
    "no order number": call("get_order", order="10001"),
    "no such tool": call("query_order", order_id="10001"),
    "no such order": MISSING,
    "429": REFUND,
    "reply lost": call("refund_order", order_id="10003", reason="坏了"),
}
BOX = shop_tools(Shop(faults=[throttled(1), lost_after(2)]))
hands = Executor(BOX)

def carry_out(wanted):
    try:
        return hands.execute(prepare(wanted, BOX, run_id="lesson")).error
    except errors.ModelError as error:
        return error

found = {name: carry_out(wanted) for name, wanted in TRY.items()}
for name, error in found.items():
    print(f"{name:16} {error.kind:17} {error.who:9} {str(error)[:60]}")
assert [error.who for error in found.values()] == ["model", "model", "person", "provider", "provider"]

# %% [markdown]
# The first article's table in one breath: the model may correct its own slips, **once**; nobody guesses about
# the business; a missing permission is not argued with; the *transient* is the tool layer's business; and an **unknown
# outcome** is never repeated. It is *reconciled*: first ask what happened.

# %% [markdown] task 6.1
# **6.1 Sort them.** What is right for each letter: `"tell model"`, `"retry"`, `"ask person"`, `"reconcile"` or
# `"fix code"`?
#
# a) weather service answers 503 · b) cancel_order timed out after it was sent · c) `{"order_id": 10001}`, but it must
# be a string · d) order was shipped, so it cannot be cancelled · e) our own function raises `KeyError` · f) this clerk
# may not refund · g) send_email: connection refused, nothing left the house
#
# <details><summary>Hint 1</summary>May it have happened? Can the model write it better?</details>
# <details><summary>Hint 2</summary>b and g are both writes. Of one we know that nothing was sent.</details>
# <details><summary>Hint 3</summary>Two are "retry", two "ask person", the other three differ.</details>

# %% exercise 6.1
### BEGIN SOLUTION
# blank: sorted_out = ...  # your turn
sorted_out = dict(a="retry", b="reconcile", c="tell model", d="ask person", e="fix code", f="ask person", g="retry")
### END SOLUTION

# %% check 6.1
with check("6.1", sorted_out):
    assert set(sorted_out) == set("abcdefg"), "one answer for each letter, a to g"
    assert sorted_out["b"] == "reconcile", "b may have been cancelled already: 6.1 has shown what a retry does"
    assert sorted_out["g"] == "retry", "g: refused before anything was sent, so nothing can have happened"
    assert sorted_out["a"] == "retry", "a: a read, and the service is busy: wait and try again"
    assert sorted_out["c"] == "tell model", "c: only the model can write its arguments again"
    assert sorted_out["d"] == sorted_out["f"] == "ask person", "d, f: no wording changes the rules"
    assert sorted_out["e"] == "fix code", "e: neither a model nor a customer can mend our function"

# %% wrong 6.1 a write that timed out is tried again
sorted_out = dict(a="retry", b="retry", c="tell model", d="ask person", e="fix code", f="ask person", g="retry")

# %% wrong 6.1 the model is asked about everything
sorted_out = dict.fromkeys("abcdefg", "tell model")

# %% wrong 6.1 every write is reconciled
sorted_out = dict(a="retry", b="reconcile", c="tell model", d="ask person", e="fix code", f="ask person", g="reconcile")

# %% wrong 6.1 a letter is forgotten
sorted_out = dict(a="retry", b="reconcile", c="tell model", d="ask person", e="fix code", f="ask person")

# %% right 6.1 built from groups
groups = {"retry": "ag", "ask person": "df", "reconcile": "b", "tell model": "c", "fix code": "e"}
sorted_out = {letter: action for action, letters in groups.items() for letter in letters}

# %% [markdown]
# ## 6.3 An error is a message of the tool
# <!-- covers: L10 B4.2 -->
#
# So the model must be told. Naively: in a system message, because errors are important.


# %%
MODEL = "gpt-4.1-mini"

def wants(*calls) -> dict:
    made = [{"id": f"call_{n}", "type": "function", "function": f} for n, f in enumerate(calls, 1)]
    return {"role": "assistant", "content": None, "tool_calls": made}

asked = [{"role": "user", "content": "查订单 10001"}, wants({"name": "get_order", "arguments": "{}"})]

def verdict(*messages) -> str:
    client = connect("script", script("ok"))
    try:
        client.chat.completions.create(model=MODEL, messages=messages)
    except openai.BadRequestError as error:
        return error.body["message"]
    return "accepted"

print(verdict(*asked, {"role": "system", "content": "Error: order_id is missing!"}))

# %% [markdown]
# Refused: the call is still open. And rules are stable, errors are not. An error is an *observation*; it goes where
# observations go, into the `tool` message that answers the call.

# %%
told = error_result(errors.InvalidArguments("missing required argument: order_id"))
print(json.dumps(json.loads(told), indent=1))
print(verdict(*asked, {"role": "tool", "tool_call_id": "call_1", "content": told}))

# %% [markdown]
# Four fields, read by two readers: `message` is for the model, `error_type` and `retryable_by_model` for your
# program. The second article asks for the real error text instead of "failed". Quite right; but whose text?


# %%
def search(keyword):
    raise ConnectionError("postgresql://shop:S3cret@10.0.0.5/stock: connection refused")

dead = prepare(call("search_product", keyword="伞"), BOX, run_id="lesson")
dead = replace(dead, tool=replace(dead.tool, run=search))
print(retry_twice(search, keyword="伞")["error"], seen := hands.execute(dead).content, sep="\n")
assert "S3cret" not in seen

# %% [markdown]
# The loop tells the model a password, which it may repeat to the customer. The executor translates at one edge: our own errors
# are told word for word, a stranger's only by class; the rest goes to the log, redacted.
#
# ## 6.4 Waiting is the tool layer's business
# <!-- covers: B4.3a B4.3c -->
#
# A busy service is asked again later, and the model need not know. When exactly? Two hundred clients meet the same
# outage and wait 1, 2, 4 seconds; or a *random* time up to that, which is called **full jitter**.


# %%
def arrivals(jitter: bool) -> list[float]:
    draws = Random(4)
    waits = ([draws.uniform(0, n) if jitter else n for n in (1, 2, 4)] for _ in range(200))
    return [moment for each in waits for moment in accumulate(each)]

figure, axes = canvas(8, 2.4, "200 clients after an outage (simulated)")
axes.set(xlabel="seconds after it", ylabel="requests")
worst, bins = {}, {"bins": 70, "range": (0.05, 7.05), "histtype": "stepfilled"}
for name, colour in {"fixed": BAD, "jitter": GOOD}.items():
    worst[name] = int(axes.hist(arrivals(name == "jitter"), **bins, color=colour, label=name)[0].max())
axes.legend()
print("requests in the worst moment:", worst)
assert worst["fixed"] > 2 * worst["jitter"]
figure

# %% [markdown]
# Without jitter everybody comes back in the same instant and knocks the service over again. labkit's `Retry` waits with
# jitter, obeys `Retry-After` up to a cap, and has **no default for what may be tried again**: you write it. A refund
# that was *refused* may be retried, because its key names the operation (notebook 7).

# %%
shop, waits = Shop(faults=[throttled(1, retry_after=3)]), []
patient = Executor(shop_tools(shop), retry=Retry(on=frozenset({"read", "keyed_write"})), sleep=waits.append)
seen = patient.execute(prepare(REFUND, patient.toolbox, run_id="lesson"))
print(seen.status, "after", seen.attempts, "attempts, waits:", waits, "s")

# %% [markdown]
# And when the service stays down, as our search does? A **circuit breaker** stops asking. How many of these twenty calls
# get through to it?

# %%
wary = Executor(BOX, breaker=Breaker(failures=3, reset=30))
kinds = [wary.execute(dead).error.kind for _ in range(20)]
print({kind: kinds.count(kind) for kind in kinds})
assert kinds.count("transient_error") == 3

# %% [markdown]
# Last, the size. A long result costs tokens, so it is cut to about 2,000 characters. Where the knife falls matters:

# %%
lines = [{"line": number, "text": "ok " * 30} for number in range(400)]
for cut in (str(lines)[:2000], success_result(lines)):
    try:
        print(len(cut), "characters, valid JSON:", json.loads(cut)["notice"])
    except ValueError as error:
        print(len(cut), "characters, ends in", repr(cut[-12:]), "-", error)

# %% [markdown]
# Here is the second article's executor in our words. It has four slips, and you have met each of them.


# %%
def execute_tool(function, arguments, effect, attempts=3, limit=2000):
    for _ in range(attempts):
        try:
            return json.dumps({"success": True, "data": str(function(**arguments))[:limit]})
        except TimeoutError:
            return json.dumps({"success": False, "error": "timeout"})
        except Exception as error:
            last = str(error)
    return json.dumps({"success": False, "error": last})


# %% [markdown] task 6.2
# **6.2 Find the bugs.** Write `mended(function, arguments, effect, attempts=3, limit=2000)`. `effect` is `"read"` or
# `"write"`. Reads are tried again after `TimeoutError` and `ConnectionError`; a write never is, and says `"unknown"`;
# anything else is tried once; the text of a strange exception stays inside; the result is valid JSON, at most `limit` characters
# long, with a `notice` when it was cut. Leave out the waiting.
#
# <details><summary>Hint 1</summary>A timeout that returns at once is never retried. A repr is not JSON.</details>
# <details><summary>Hint 2</summary>After the try: for a write, return an error "unknown" at the first exception.</details>
# <details><summary>Hint 3</summary>success_result(value, limit) cuts; type(error).__name__ is all that may be told.</details>


# %% exercise 6.2
def mended(function, arguments, effect, attempts=3, limit=2000):
    ### BEGIN SOLUTION
    for _ in range(attempts):
        try:
            return success_result(function(**arguments), limit)
        except Exception as error:
            kind = "unknown" if effect == "write" else type(error).__name__
            if effect == "write" or not isinstance(error, TimeoutError | ConnectionError):
                break
    return json.dumps({"success": False, "error": kind})
    ### END SOLUTION


# %% check 6.2
def outcome(error, effect):
    tries = []
    def tool(text):
        tries.append(text)
        if len(tries) < 3:
            raise error
        return text
    return mended(tool, {"text": "晴"}, effect), len(tries)

with check("6.2", mended):
    for error in (TimeoutError("t"), ConnectionError("c")):
        said, tries = outcome(error, "read")
        assert "晴" in said and tries == 3, f"a read may survive two {error!r}"
    said, tries = outcome(TimeoutError(), "write")
    assert said[:1] == "{" and "unknown" in said and tries == 1, f"a write: once, unknown, in JSON; not {tries} x {said}"
    said, tries = outcome(KeyError("S3cret"), "read")
    assert "S3cret" not in said and tries == 1, "a strange exception is a bug: ask once, and do not quote it"
    long = mended(lambda text: [text] * 999, {"text": "晴天"}, "read", limit=300)
    assert len(long) <= 300 and long.endswith("}") and "notice" in long, "cut it: still JSON, and say so"


# %% wrong 6.2 the article's own
def mended(function, arguments, effect, attempts=3, limit=2000):
    return execute_tool(function, arguments, effect, attempts, limit)


# %% wrong 6.2 writes are retried too
def mended(function, arguments, effect, attempts=3, limit=2000):
    for _ in range(attempts):
        try:
            return success_result(function(**arguments), limit)
        except (TimeoutError, ConnectionError):
            continue
        except Exception as error:
            return json.dumps({"error": type(error).__name__})
    return json.dumps({"error": "unknown"})


# %% wrong 6.2 the message goes out with the error
def mended(function, arguments, effect, attempts=3, limit=2000):
    for _ in range(attempts if effect == "read" else 1):
        try:
            return success_result(function(**arguments), limit)
        except (TimeoutError, ConnectionError):
            continue
        except Exception as error:
            return json.dumps({"error": str(error)})
    return json.dumps({"error": "unknown"})


# %% wrong 6.2 JSON cut with a knife
def mended(function, arguments, effect, attempts=3, limit=2000):
    for _ in range(attempts if effect == "read" else 1):
        try:
            return json.dumps({"data": function(**arguments), "notice": ""}, ensure_ascii=False)[:limit]
        except (TimeoutError, ConnectionError):
            continue
        except Exception as error:
            return json.dumps({"error": type(error).__name__})
    return json.dumps({"error": "unknown"})


# %% wrong 6.2 everything is tried once
def mended(function, arguments, effect, attempts=3, limit=2000):
    try:
        return success_result(function(**arguments), limit)
    except Exception:
        return json.dumps({"error": "unknown"})


# %% right 6.2 by recursion, its own cut
def mended(function, arguments, effect, attempts=3, limit=2000):
    try:
        text = json.dumps(function(**arguments), ensure_ascii=False)
    except (TimeoutError, ConnectionError):
        if effect == "read" and attempts > 1:
            return mended(function, arguments, effect, attempts - 1, limit)
        return json.dumps({"status": "unknown"})
    except Exception as error:
        return json.dumps({"status": "unknown" if effect == "write" else type(error).__name__})
    if len(text) > limit - 60:
        return json.dumps({"data": text[: limit // 2 - 60], "notice": "cut"}, ensure_ascii=False)
    return json.dumps({"data": text}, ensure_ascii=False)


# %% [markdown]
# ## 6.5 The loop is a state machine
# <!-- covers: F1 L17 -->
#
# Who acts, and in which order, is no longer a tangle of `if` and `continue`: each situation is a **state**, each thing that
# can happen an **event**. This is the first article's figure 1, drawn from the table that runs, with the arrows that
# it leaves out: throttled, over budget, cancelled, waiting, resumed.

# %%
draw(TRANSITIONS)

# %% [markdown]
# An agent at the desk; its model follows a script. `advance` takes one step. What will the path be, when the model
# first writes `#10001`?


# %%
def desk(*said, faults=(), policy=lambda request: Allow(), **options):
    shop, path = Shop(faults=faults), []
    box = shop_tools(shop)
    hands = Executor(box, ask=shop.payments.query)
    client = connect("script", script(*said))
    options["on_step"] = lambda before, after, seconds: path.append((before.name, after.name))
    return Agent(client, MODEL, box, hands, policy, **options), path

BAD_CALL = call("get_order", order_id="#10001")
agent, path = desk(BAD_CALL, GOOD_CALL, "已发货。")
state = begin(agent, "查订单 10001")
while not state.final:
    print(state.name, end=" > ")
    state = advance(agent, state)
print(state.name, state.answer)
machine(TRANSITIONS, path)

# %% [markdown]
# Two rounds; slide back to see them step by step. The first went the short way, from *Validating* straight to
# *Observing*: what is not valid is not even authorised.
#
# And the code? One `match`, which is the table. Everything else (sync, async, streamed, step by step) walks it.

# %%
show_source(step)

# %% [markdown]
# Now the errors of 6.2 as runs. `Observing` decides by one thing only, who can act. The last column is the
# `tool_choice` of the last request: may the model still call something?

# %%
RUNS = {
    "model, twice": desk(BAD_CALL, BAD_CALL),
    "business": desk(MISSING, "没有订单 99999，请核对。"),
    "permission": desk(REFUND, "您不能退款。", policy=lambda request: Deny("not a manager")),
    "reply lost": desk(REFUND, "已退款。", faults=[lost_after(1)]),
    "two steps only": desk(GOOD_CALL, GOOD_CALL, max_steps=2),
    "a person": desk(REFUND, policy=lambda request: AskPerson("money")),
}
ends = {name: run(agent, "你好，10001") for name, (agent, _) in RUNS.items()}
last = {name: sent(agent.client)[-1].body["tool_choice"] for name, (agent, _) in RUNS.items()}
for name, end in ends.items():
    print(f"{name:15} {RUNS[name][1][-1][0]:11} > {end.name:8} {end.reason:22} {last[name]}")
assert [name for name in last if last[name] == "none"] == ["business", "permission"]

# %% [markdown]
# A model slip is told once; the second in a row ends the run. After a business error or a denial the model may only
# *speak*: it explains and asks, and cannot guess again. The lost reply is the one to see:

# %%
machine(TRANSITIONS, RUNS["reply lost"][1])

# %% [markdown] task 6.3
# **6.3 Predict a path.** A manager must approve refunds. The model asks for one, the manager says yes, the refund is carried
# out, the model says so. List the names of all states from `"Deciding"` to `"Done"`.
#
# <details><summary>Hint 1</summary>Follow the arrows: which one leaves Authorising when a person is needed?</details>
# <details><summary>Hint 2</summary>After the yes, the arguments are compared with those that were approved.</details>
# <details><summary>Hint 3</summary>Authorising comes twice, Deciding too; nine names in all.</details>

# %% exercise 6.3
### BEGIN SOLUTION
# blank: names = ...  # your turn
names = "Deciding Validating Authorising Waiting Authorising Executing Observing Deciding Done".split()
### END SOLUTION

# %% check 6.3
with check("6.3", names):
    agent, path = desk(REFUND, "已退款。", policy=lambda request: AskPerson("money"))
    waiting = run(agent, "退款 10001")
    run(agent, waiting, approvals=approvals(waiting, by="manager", at="today"))
    taken = [path[0][0], *(after for _, after in path)]
    right = [name for n, name in enumerate(taken, 1) if list(names)[:n] == taken[:n]]
    assert list(names) == taken, f"right so far: {' > '.join(right) or 'nothing'}; the rest goes another way"

# %% wrong 6.3 a yes executes at once
names = ["Deciding", "Validating", "Authorising", "Waiting", "Executing", "Observing", "Deciding", "Done"]

# %% wrong 6.3 permission before validation
names = ["Deciding", "Authorising", "Waiting", "Authorising", "Validating", "Executing", "Observing", "Deciding", "Done"]

# %% wrong 6.3 nobody observes
names = ["Deciding", "Validating", "Authorising", "Waiting", "Authorising", "Executing", "Deciding", "Done"]

# %% right 6.3 from a sentence
names = ["Deciding", "Validating", "Authorising", "Waiting", "Authorising"]
names += ["Executing", "Observing", "Deciding", "Done"]

# %% [markdown]
# ## 6.6 However a run ends, the API accepts what it leaves
#
# The first article's listing 17 returns at once on `PermissionError`. Fine for a demo with one question. But the customer goes
# on talking:

# %%
again = {"role": "user", "content": "那我怎么办？ What now?"}
denied = error_result(errors.PermissionDenied("not a manager"))
two = [{"name": name, "arguments": "{}"} for name in ("refund_order", "get_weather")]
left = [again, wants(*two), {"role": "tool", "tool_call_id": "call_1", "content": denied}]
print(verdict(*left, again))

# %% [markdown]
# The second call of that turn never got its answer, and the conversation is dead. (Two more slips there: an order that
# is not found is reported as a *success*, and the correction counter never goes back.)

# %% [markdown] task 6.4
# **6.4 Close it.** Write `closed(messages, content)`: the messages, plus one `tool` message with `content` for every call that is
# still open. What has been answered stays as it is.
#
# <details><summary>Hint 1</summary>Collect the ids that are answered, then those that were asked for.</details>
# <details><summary>Hint 2</summary>Only the last assistant message can have open calls. Many messages have no tool_calls at all.</details>
# <details><summary>Hint 3</summary>Go backwards to the first message that is not a tool message; its calls, less the ids you passed.</details>


# %% exercise 6.4
def closed(messages, content):
    ### BEGIN SOLUTION
    answered, asking = set(), list(messages)
    while asking[-1]["role"] == "tool":
        answered.add(asking.pop()["tool_call_id"])
    open_ids = [one["id"] for one in asking[-1].get("tool_calls") or () if one["id"] not in answered]
    return [*messages, *({"role": "tool", "tool_call_id": id, "content": content} for id in open_ids)]
    ### END SOLUTION


# %% check 6.4
with check("6.4", closed):
    for history in (left, left[:2], [again], [*asked, left[-1]], [*left, *closed(left, "{}")[3:], again]):
        done, count = closed(list(history), "{}"), len(history)
        assert done[:count] == history, "what was there stays as it was"
        said = verdict(*done, again)
        assert said == "accepted", f"the API says: {said}"
    assert len(closed(list(left), "{}")) == 4, "one call was open, and one answer is missing"


# %% wrong 6.4 answers the answered as well
def closed(messages, content):
    calls = next((m["tool_calls"] for m in reversed(messages) if m.get("tool_calls")), [])
    return [*messages, *({"role": "tool", "tool_call_id": c["id"], "content": content} for c in calls)]


# %% wrong 6.4 one answer for all
def closed(messages, content):
    return [*messages, {"role": "tool", "tool_call_id": "call_2", "content": content}]


# %% wrong 6.4 drops the turn instead
def closed(messages, content):
    return [message for message in messages if message["role"] == "user"]


# %% wrong 6.4 a system message
def closed(messages, content):
    return [*messages, {"role": "system", "content": content}]


# %% right 6.4 forwards, with a dictionary
def closed(messages, content):
    waiting = {}
    for message in messages:
        waiting |= {one["id"]: message for one in message.get("tool_calls") or ()}
        waiting.pop(message.get("tool_call_id"), None)
    return list(messages) + [dict(content=content, tool_call_id=id, role="tool") for id in waiting]


# %% [markdown]
# labkit does it for every end there is. Even a run that is *waiting* has a history that may be sent:

# %%
said = {name: verdict(*map(chat.to_wire, end.chain), again) for name, end in ends.items()}
print(said)
assert set(said.values()) == {"accepted"}
chain_viewer(ends["permission"].chain)

# %% [markdown]
# ## With a real model
#
# The same agent, unchanged, with the model that `LABKIT_CLIENT` names. Will it correct `#10001` by itself?

# %%
if os.environ.get("LABKIT_CLIENT"):
    real, agent = connect(), desk()[0]
    end = run(replace(agent, client=real, model=model_for(real)), "查订单 #10001 和 99999")
    print(end.name, end.reason, end.answer, [result.status for result in end.observations])

# %% [markdown]
# ## What you have seen
#
# A retry that does not know who can act pays twice. An error is sorted once, at one edge, and that alone decides what follows:
# tell, wait, ask a person, or reconcile. It reaches the model as the result of its call, without a secret, in valid JSON. The loop is a
# table of states and events that can be drawn, tested and walked. Every end answers every call.
#
# Questions
# 1. Why is a timeout of `get_order` harmless, and one of `refund_order` not?
# 2. Your tool raises `ValueError`. Who can act, and what may the model be told?
# 3. Why may the model only speak after a business error? When would you let it go on?
# 4. What would happen if *Reconciling* could be cancelled?
# 5. Which arrows of figure 1 are there for the model, which for people?
# 6. Two corrections in a row instead of one: what would it cost, and what might it hide?
#
# Next: [7. Make side effects happen once](07_side_effects.ipynb)
