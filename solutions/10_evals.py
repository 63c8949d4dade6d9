# %% [markdown]
# # 10. Measure before you believe
#
# You will be able to
# - write cases that can fail, and metrics of which you know what is counted over what,
# - say how sure a number is, and compare two prompts so that the difference is the prompt's,
# - put a gate before a release that blocks a worse version and names the cases that decide.
#
# Before this: [9. Leave a trace of every run](09_traces.ipynb) · 45 minutes · network: none · sources: S1 §5.1–5.3, §5.5, L12, L13; S2 §6.2–6.3
#
# ```mermaid
# flowchart LR
#     G["golden set<br/>10.1"] --> R["runs × repeats<br/>10.2 · 10.4"]
#     R --> M["metrics<br/>10.3"] --> I["intervals<br/>10.4"] --> P["paired comparison<br/>10.5"] --> D{"gate<br/>10.6"}
#     D -->|"blocked: these cases"| G
#     D -->|passed| S["release"]
# ```

# %%
import json
import os
from pathlib import Path
from statistics import mean, stdev
from tempfile import mkdtemp

from labkit.classroom.check import check
from labkit.classroom.widgets import eval_comparison
from labkit.files import read_appended
from labkit.measure import report
from labkit.measure.cases import Case, golden
from labkit.measure.gate import decide, load_rules, repeats_for
from labkit.measure.match import Made, Wanted, match_calls
from labkit.measure.metrics import scores
from labkit.measure.runner import Desk, Sample, desk_unit, evaluate, graded
from labkit.measure.stats import cluster_interval, paired, repeats_needed, wilson
from labkit.protocol.messages import check_chain
from labkit.protocol.tools import Toolbox, make_tool
from labkit.runtime import run
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

RULES = "你是客服。You are the support desk of a shop."

# %% [markdown]
# ## 10.1 Three sentences that work prove nothing
# <!-- covers: L12 B6.3 -->
#
# The desk of the shop, all its tools, a *simulated* model. We try it as everybody does.

# %%
def ask(cases, repeats=1, **desk):
    """Rows of an eval: each case in a shop of its own, as often as asked for."""
    unit = desk_unit(Desk("sim", **{"rules": RULES, "clock": lambda: 0.0} | desk))
    return [unit(case, repeat) for repeat in range(repeats) for case in cases]


for row in ask(golden()[:2] + golden()[6:7]):
    print(row["trace"]["user_message"], row["called"], "success:", row["grade"]["success"])

# %% [markdown]
# Everything works. Now a **golden set**: sentences that somebody has thought about, with what must come of
# each. Half of the shop's are Chinese; we take every fifth. S1 names ten kinds that a set must hold.

# %%
cases = golden()[1::5]
base = ask(cases)
print(f"{len(cases)} of {len(golden())} cases")
for kind, rate in report.by_kind(base).items():
    example = next(case.input for case in cases if case.kind == kind)
    print(f"{kind:17} {rate.value:4.0%} of {rate.n:2}   {example:.44}")

# %% [markdown]
# Three lucky sentences, and behind them an agent that fails most requests in two steps and four in ten side
# effects. A set of happy cases alone would have said 91%.
#
# A **case** says what must *come of it*: which calls with which values, or none; what rows change; what the
# answer has to say.

# %%
example = next(case for case in golden() if case.kind == "side_effect")
for name, value in example.model_dump(mode="json", exclude_defaults=True).items():
    print(f"{name:8} {value}")
assert len({case.kind for case in cases} - {"happy"}) == 10

# %% [markdown] task 10.1
# **10.1 Find the bug.** S1's own listing of cases expects `get_ticket` for 读取工单并总结, and its agent (listing 17)
# has only `get_weather` and `get_order`. No model can pass that case, and every run will blame the model. Write
# `impossible(cases, toolbox)`: the ids of the cases that expect a tool which isn't there.
#
# <details><summary>Hint 1</summary>A case may expect several calls, and one of them may be the missing one.</details>
# <details><summary>Hint 2</summary>case.calls holds them; each has a name. Toolbox.names are the names that there are.</details>
# <details><summary>Hint 3</summary>[case.id for case in cases if any(one.name not in toolbox.names for one in case.calls)]</details>

# %% exercise 10.1
def impossible(cases, toolbox) -> list[str]:
    ### BEGIN SOLUTION
    return [case.id for case in cases if any(one.name not in toolbox.names for one in case.calls)]
    ### END SOLUTION


# %% check 10.1
with check("10.1", impossible):
    desk = shop_tools(Shop())
    assert impossible(golden(), desk) == [], "the desk has every tool of the golden set: nothing to report"
    two = desk.subset(["get_weather", "get_order"])
    listing = []
    for id, words, *names in (
        ("summary", "读取工单并总结", "get_ticket"),
        ("order", "帮我查订单 10001", "get_order"),
        ("thanks", "谢谢"),
        ("both", "Check 10001, then refund it", "get_order", "refund_order"),
    ):
        calls = [{"name": name} for name in names]
        action = "call" if calls else "answer"
        listing.append(Case(id=id, kind="happy", language="zh", input=words, action=action, calls=calls))
    found = impossible(listing, two)
    assert all(isinstance(one, str) for one in found), "give the ids of the cases"
    assert "summary" in found, "summary expects get_ticket, which is not among the two tools"
    assert "thanks" not in found, "a case that expects no call is always possible"
    assert "both" in found, "the second call of a case can be the impossible one"
    assert found == ["summary", "both"], f"expected summary and both, found {found}"

# %% wrong 10.1 looks at the first call only
def impossible(cases, toolbox):
    return [case.id for case in cases if case.calls and case.calls[0].name not in toolbox.names]


# %% wrong 10.1 a case without calls counts as impossible
def impossible(cases, toolbox):
    return [case.id for case in cases if not any(one.name in toolbox.names for one in case.calls)]


# %% wrong 10.1 the names of the tools, not the cases
def impossible(cases, toolbox):
    return [one.name for case in cases for one in case.calls if one.name not in toolbox.names]


# %% wrong 10.1 the cases instead of their ids
def impossible(cases, toolbox):
    return [case for case in cases if any(one.name not in toolbox.names for one in case.calls)]


# %% right 10.1 with sets
def impossible(cases, toolbox):
    return [case.id for case in cases if {one.name for one in case.calls} - set(toolbox.names)]


# %% [markdown]
# ## 10.2 Faults of the service are not faults of the model
#
# S2 §6.2: put fixed tools behind the agent, and look at the logic alone. Every sample here has a shop in
# memory with the same rows, and its payment service can be told to fail. Of the wiring, S2 wants invariants,
# asserted whatever the model does: each id answered once, results that are JSON, a chain that doesn't grow
# without end. The same sentence in calm and with a lost reply:

# %%
stormy = next(case for case in golden() if "lost_after" in case.faults)
for case in (stormy.model_copy(update={"faults": ()}), stormy):
    sample = Sample(Desk("sim", rules=RULES), case, 0)
    state = run(sample.agent, case.input, **sample.who)
    check_chain(state.chain)
    assert all(json.loads(message.content) for message in state.chain if message.role == "tool")
    assert len(state.chain) <= 2 + 6 * 3
    row = sample.row(state)
    print(case.faults, row["called"], "success:", row["grade"]["success"])
    print("   ", *(step["next"] for step in row["trace"]["steps"]))

# %% [markdown]
# The model did the same in both. The machine of notebook 6 asked what had become of the call (`Reconciling`), and
# success means that one refund is in the books.

# %% [markdown]
# ## 10.3 A metric is a fraction, and both its parts are written down
# <!-- covers: T5.3 B6.3a B6.3b B6.3c B6.3d -->

# %%
print(report.text(base))

# %% [markdown]
# (The clock stands still here, so that the page is the same tomorrow; notebook 11 measures time.) The first
# eight are S1's. S2 has four: selection and valid arguments again, how many runs go all the way from call to
# answer, and whether the numbers in an answer stand in a result. Why so many? Each has been blind somewhere, in
# public:
#
# | what was seen (2024, BFCL questions) | the metric that sees it |
# |---|---|
# | gpt-3.5 picks the right tool in 95%, and leaves 4% of the irrelevant questions alone | selection over *negatives* too |
# | of 40 questions for several calls, one model answered none in full | arguments: expected calls made / expected |
# | "en" where the key wants "English" | arguments, not schema |
# | 89 of 117 answers in a code fence: a strict parser scored 7%, a tolerant one 91%, on the same outputs | schema valid |
#
# The last is the dearest: 84 points that belonged to the parser. Missing calls need a matching that is one to
# one. Predict: two cities are asked for, one is called. Is the *selection* right?

# %%
wanted = [Wanted("get_weather", {"city": ["北京", "Beijing"]}), Wanted("get_weather", {"city": ["上海"]})]
for title, made in {
    "other order": [Made("get_weather", {"city": "上海"}), Made("get_weather", {"city": "Beijing"})],
    "one missing": [Made("get_weather", {"city": "上海"})],
    "one twice": [Made("get_weather", {"city": "上海"})] * 2,
}.items():
    match, names = match_calls(made, wanted), {one.name for one in made}
    print(f"{title:12} called {names}  matched {len(match.pairs)}/2  exact {match.exact}")

# %% [markdown]
# The set of tools is right in all three. Only the matching sees what is missing. And numbers are compared as
# JSON has them: 12 is 12.0, `true` is not 1, "12" is not 12.
#
# A grader has bugs as well. A harness in the wild (aiperf #1318) booked the grader's exceptions as "the model's
# output could not be parsed", for a third of the items. Here such a row has a bucket of its own, and the gate
# stays shut.

# %%
crashed = base[0] | graded(lambda: {"success": {}["verdict"]})
print(crashed["grade"], "|", crashed["grader_error"])
print(decide([], base, [crashed, *base[1:]]))
assert not decide([], base, [crashed, *base[1:]]).passed

# %% [markdown]
# ## 10.4 One run is an anecdote
# <!-- covers: L13 5.2 -->
#
# The same few cases, the same prompt, at temperature 1, five times over. Only the seed moves.

# %%
few = cases[::8]
repeated = ask(few, repeats=5, temperature=1.0)
totals = [mean(row["grade"]["success"] for row in repeated if row["repeat"] == n) for n in range(5)]
print("  ".join(f"{total:.0%}" for total in totals))

# %% [markdown]
# Which of them would you have reported? S1 says: repeat, and observe the variance. Its listing returns mean,
# minimum and maximum; none of them is a variance, and the range only *grows* with every repeat. Temperature 0
# does not save you: between two dates of 2024, gpt-4o at temperature 0 differed in 11 of 117 decisions.
#
# An **interval** says how sure a rate is. What are the trials? Five repeats of one case are not five cases: they
# are the same question. Compare the naive count with one in which the cases are drawn and the repeats belong to
# them:

# %%
rows = scores(repeated, "task_success")
hits, trials = sum(map(sum, rows.values())), sum(map(len, rows.values()))
naive, honest = wilson(hits, trials), cluster_interval(rows)
print("naive ", naive)
print("honest", honest)
assert honest.high - honest.low > 1.5 * (naive.high - naive.low)

# %% [markdown]
# The honest one is much wider: more repeats make each case better known, but only more *cases* say more about
# other customers.
#
# This is what S1's listing 13 returns, under the title "repeated sampling and variance":

# %%
def repeat_eval(totals):
    return {"mean": sum(totals) / len(totals), "min": min(totals), "max": max(totals)}


# %% [markdown] task 10.2
# **10.2 Find the bug.** Write `spread(totals)` that returns what the title promised:
# the mean, and the standard deviation between the runs.
#
# <details><summary>Hint 1</summary>What happens to max - min when you repeat a thousand times instead of ten?</details>
# <details><summary>Hint 2</summary>The runs are a sample: divide by n - 1.</details>
# <details><summary>Hint 3</summary>statistics has mean and stdev. One run has no spread: float("nan") is honest, 0 is not.</details>

# %% exercise 10.2
def spread(totals) -> tuple[float, float]:
    ### BEGIN SOLUTION
    return mean(totals), stdev(totals) if len(totals) > 1 else float("nan")
    ### END SOLUTION


# %% check 10.2
with check("10.2", spread):
    middle, width = spread([0.7, 0.8, 0.9])
    assert abs(middle - 0.8) < 1e-9, "the first value is the mean"
    assert abs(width - 0.2) > 1e-9, "0.2 is the range: it grows with every repeat, whatever the model does"
    assert abs(width - 0.01) > 1e-9, "0.01 is the variance, in squared points: take its root"
    assert abs(width - 0.0816) > 1e-4, "0.0816 divides by n: these runs are a sample, divide by n - 1"
    assert abs(width - 0.1) < 1e-9, f"the standard deviation is 0.1, not {width}"
    alone = spread([0.8])[1]
    assert alone != 0, "one run says nothing about the spread, and 0 says that there is none"
    print("mean {:.3f}, standard deviation {:.3f}".format(*spread(totals)))

# %% wrong 10.2 the range
def spread(totals):
    return mean(totals), max(totals) - min(totals)


# %% wrong 10.2 of a population
def spread(totals):
    from statistics import pstdev

    return mean(totals), pstdev(totals)


# %% wrong 10.2 the variance itself
def spread(totals):
    from statistics import variance

    return mean(totals), variance(totals)


# %% wrong 10.2 one run is certain
def spread(totals):
    return mean(totals), stdev(totals) if len(totals) > 1 else 0.0


# %% right 10.2 by hand
def spread(totals):
    middle, n = sum(totals) / len(totals), len(totals)
    return middle, (sum((t - middle) ** 2 for t in totals) / (n - 1)) ** 0.5 if n > 1 else None


# %% [markdown]
# ## 10.5 Compare the same cases, not two averages
# <!-- covers: AC6 -->
#
# After a complaint about an invented answer somebody adds a sentence to the rules that nobody can be against.
# We have planned one run of each version, and do exactly one. (Who looks after each run, and stops when he
# likes what he sees, finds a difference in everything.) Turn the knob to see the other metrics:

# %%
CAREFUL = "没有足够信息就不要下结论，不要编造。Conclude nothing without enough information; never make things up."
careful = ask(cases, rules=f"{RULES}\n{CAREFUL}")
before, after = scores(base, "task_success"), scores(careful, "task_success")
assert cluster_interval(after).high > cluster_interval(before).low
eval_comparison({"before": base, "careful": careful})

# %% [markdown]
# The intervals overlap, and many reports stop here: "no significant difference". But these are the *same*
# cases. Most came out the same, and cancel. What is left is the difference:

# %%
result = paired(before, after, seed=10)
print("difference", result.difference, f"  p(worse) {result.p_worse:.3f}")
was, now = report.by_kind(base), report.by_kind(careful)
moved = {kind: 100 * (now[kind].value - was[kind].value) for kind in was if now[kind] != was[kind]}
print(", ".join(f"{kind} {points:+.0f} points" for kind, points in moved.items()))
lost = next(row for row in careful if row["case"] == result.deciding[0][0])
print(lost["trace"]["user_message"], lost["trace"]["final_answer"], sep="\n    ")
assert result.p_worse < 0.05

# %% [markdown]
# The sentence does what it is for: more is refused. But the model now admits that it does not know before it has
# looked, or asked for what is missing. Neither total says so.
#
# How many repeats does it take to see a drop? That depends on the drop, the number of cases and the rate.

# %%
for drop in (0.20, 0.10, 0.05, 0.02):
    needed = [(repeats_needed(drop, cases=n, rate=0.75) or "over 200", n) for n in (30, 100, 306)]
    print(f"{drop:4.0%}:", ", ".join(f"{repeats:>8} with {n} cases" for repeats, n in needed))

# %% [markdown] task 10.3
# **10.3 Plan an eval.** A drop of 5 points must be seen 95 times of 100. The rate is about 0.9, and one run of
# one case costs 0.2 cents. You can have 50, 150 or 300 cases; both versions are run. Which plan for at most
# 4.50 dollars has the *most* cases? Give `plan = (cases, repeats)`.
#
# <details><summary>Hint 1</summary>repeats_needed(0.05, cases=..., rate=0.9) for each of the three.</details>
# <details><summary>Hint 2</summary>Cost = cases × repeats × 2 versions × 0.002 dollars.</details>
# <details><summary>Hint 3</summary>Repeats are rounded up, so more cases cost more. One plan is too dear.</details>

# %% exercise 10.3
### BEGIN SOLUTION
# blank: plan = ...  # your turn
options = [(n, repeats_needed(0.05, cases=n, rate=0.9)) for n in (50, 150, 300)]
plan = max(option for option in options if option[0] * option[1] * 2 * 0.002 <= 4.5)
### END SOLUTION

# %% check 10.3
with check("10.3", plan):
    number, repeats = plan
    assert number in (50, 150, 300), "50, 150 or 300 cases are to be had"
    least = repeats_needed(0.05, cases=number, rate=0.9)
    assert repeats >= least, f"{repeats} repeats of {number} cases often miss the drop: {least} are needed"
    cost = number * repeats * 2 * 0.002
    assert cost <= 4.5, f"that costs {cost:.2f} dollars, both versions counted"
    fits = [n for n in (50, 150, 300) if n * repeats_needed(0.05, cases=n, rate=0.9) * 0.004 <= 4.5]
    assert number == max(fits), f"{max(fits)} cases fit as well, and cases speak of more customers than repeats"

# %% wrong 10.3 one repeat of many cases
plan = (300, 1)

# %% wrong 10.3 too dear
plan = (300, repeats_needed(0.05, cases=300, rate=0.9))

# %% wrong 10.3 the repeats for a drop of ten points
plan = (150, repeats_needed(0.10, cases=150, rate=0.9))

# %% wrong 10.3 many repeats of few cases
plan = (50, repeats_needed(0.05, cases=50, rate=0.9))

# %% right 10.3 a list, searched from above
plan = next([n, r] for n in (300, 150, 50) if n * (r := repeats_needed(0.05, cases=n, rate=0.9)) <= 1125)

# %% [markdown]
# ## 10.6 A new tool hurts an old one, and the gate says so
# <!-- covers: 5.5 AC7 -->
#
# S2 has seen it in many projects: a tool is added, and an old one is called less, without any error. A
# colleague adds loyalty points. They belong to orders, so his description begins with orders.

# %%
def get_points(order_id: str) -> dict:
    """查订单和它的积分。Look up an order and its points.

    Args:
        order_id: 订单号 order number
    """
    return {"points": 120}


def with_points(shop):
    words = {"use_when": "查订单、积分 orders and points", "not_when": "天气 weather"}
    return Toolbox([*shop_tools(shop), make_tool(get_points, effect="read", **words)])


# %% [markdown]
# We run the golden set and ask the **gate**. Its rules are data; these are S1's release conditions:

# %%
for rule in load_rules():
    print(rule.model_dump(exclude_defaults=True))
new = ask(cases, tools=with_points)
verdict = decide(load_rules(), base, new)
print(verdict)
assert not verdict.passed

# %% [markdown]
# Blocked, with the cases that decide; the totals alone would look like bad luck. Where did the calls go?

# %%
for title, some in {"before": base, "with get_points": new}.items():
    print(title)
    for (want, got), runs in report.mistakes(some, most=3):
        print(f"    {want} -> {got}, {runs} runs")

# %% [markdown]
# Seven questions about orders went to the new tool. A rule blocks on evidence, not on a smaller number: a
# one-sided paired test at 5%. Tests over 200 simulated releases hold it to that: a drop of ten points is caught
# in at least 95 of 100, and an unchanged version is blocked in at most 5. For that it must see enough: one run of
# each case could miss a smaller harm than this. How many does it take?

# %%
print("runs of each case to see a drop of ten points:", repeats_for(load_rules(), base, 0.10))

# %% [markdown] task 10.4
# **10.4 Make it pass.** Keep the tool, and its name `get_points`. Write `my_points()`, which makes it with another
# contract: the gate passes, and questions about points still find it. The check runs the gate on the cases that
# look up an order.
#
# <details><summary>Hint 1</summary>"Not for orders" in not_when is no help while all other words sell orders.</details>
# <details><summary>Hint 2</summary>To a model, two tools that speak of the same thing are one. What are points about?</details>
# <details><summary>Hint 3</summary>A customer: def get_points(customer_id: str), described in the customers' words.</details>

# %% exercise 10.4
def my_points():
    ### BEGIN SOLUTION
    def get_points(customer_id: str) -> dict:
        """查询会员积分。Look up the loyalty points of a customer.

        Args:
            customer_id: 客户编号 customer number, such as C-01
        """
        return {"points": 120}

    orders = "查订单用 get_order。Not for orders: use get_order."
    contract = {"use_when": "用户问积分 points, loyalty", "not_when": orders}
    return make_tool(get_points, effect="read", **contract)
    ### END SOLUTION


# %% check 10.4
POINTS = ["客户 C-01 有多少积分？", "How many points does C-02 have?", "查一下 C-03 的积分", "会员 C-02 的积分还剩多少"]
with check("10.4", my_points):
    tool = my_points()
    assert tool.name == "get_points", f"the tool is called {tool.name}: keep get_points"
    happy = {"kind": "happy", "language": "zh", "action": "call", "calls": [{"name": "get_points"}]}
    served = [Case(id=f"points-{n}", input=words, **happy) for n, words in enumerate(POINTS)]
    desk = lambda shop: Toolbox([*shop_tools(shop), tool])  # noqa: E731
    lost = [row["trace"]["user_message"] for row in ask(served, tools=desk) if "get_points" not in row["called"]]
    assert len(lost) <= 1, f"the points themselves are no longer found, for example: {lost[0]}"
    near = [case for case in cases if any(one.name == "get_order" for one in case.calls)]
    known = [row for row in base if row["case"] in {case.id for case in near}]
    verdict = decide(load_rules(), known, ask(near, tools=desk))
    blocked = [finding.words for finding in verdict.findings if not finding.passed]
    assert verdict.passed, f"the gate blocks: {blocked[0]}"

# %% wrong 10.4 only a boundary
def my_points():
    return make_tool(get_points, effect="read", use_when="查订单、积分 orders and points", not_when="查订单用 get_order。Not for orders: use get_order")


# %% wrong 10.4 hidden so well that nobody finds it
def my_points():
    def get_points(key: str) -> dict:
        """内部。Internal.

        Args:
            key: 内部 internal
        """
        return {"points": 120}

    return make_tool(get_points, effect="read", use_when="内部 internal", not_when="客户 customers")


# %% wrong 10.4 as it was
def my_points():
    return make_tool(get_points, effect="read", use_when="查订单、积分 orders and points", not_when="天气 weather")


# %% wrong 10.4 another name
def my_points():
    def loyalty(customer_id: str) -> dict:
        """查询会员积分。Look up the loyalty points of a customer.

        Args:
            customer_id: 客户编号 customer number
        """
        return {"points": 120}

    return make_tool(loyalty, effect="read", use_when="用户问积分 points, loyalty", not_when="查订单用 get_order。Not for orders.")


# %% right 10.4 the same argument, another description
def my_points():
    def get_points(order_id: str) -> dict:
        """查询积分。Look up loyalty points.

        Args:
            order_id: 订单号 order number
        """
        return {"points": 120}

    return make_tool(get_points, effect="read", use_when="用户问积分 points, loyalty", not_when="天气 weather")


# %% [markdown]
# ## 10.7 An eval that dies goes on where it was
#
# With a real model these are hours and dollars. Rows go to disk as they come, so a second start runs only what
# is missing.

# %%
path = Path(mkdtemp()) / "rows.jsonl"
unit = desk_unit(Desk("sim", rules=RULES))
print(evaluate(cases[:8], 1, unit, path), "samples ran")
lines = path.read_bytes().splitlines(keepends=True)
path.write_bytes(b"".join(lines[:5]) + lines[5][:70])
print(evaluate(cases[:8], 1, unit, path), "ran after the crash")
assert len({row["case"] for row in read_appended(path)}) == 8

# %% [markdown]
# At a terminal, for CI and with real models: `labkit eval run new.jsonl --prompt new.txt --repeats 5`, then
# `labkit eval gate old.jsonl new.jsonl`, whose exit status is 0 or 1. `--engine ray` spreads the same samples
# over a cluster.
#
# ## 10.8 With a real model
#
# Six cases, once. With `LABKIT_CLIENT` set, this costs about twenty thousand tokens.

# %%
if (which := os.environ.get("LABKIT_CLIENT", "sim")) not in ("sim", "script", "replay"):
    print(report.text([desk_unit(Desk(which, rules=RULES))(case, 0) for case in golden()[::51]]))

# %% [markdown]
# ## What stays
#
# A golden set holds what goes wrong, in the customers' words, and each case can be passed and failed. A metric is
# a fraction with both parts written down, and a grader's crash is no fault of the model. Cases are the trials,
# repeats only sharpen them. Versions are compared case by case, and a gate blocks on evidence, with names.
#
# - Your set has 20 cases, all passed. What do you know about the next customer?
# - Which of these metrics can rise while the task success falls?
# - Why would 50 repeats of 5 cases please your boss and mislead you?
# - A label is wrong. Which of your numbers does it move, and who will be blamed?
# - When may you add a case in which the model has just failed, and what does that do to the comparison with last month?
# - The gate has passed an unchanged version 19 times and now blocks it. What do you do?
#
# Next: [11. Keep tokens, money and time in a budget](11_cost_and_latency_budget.ipynb)
