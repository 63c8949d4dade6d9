# %% [markdown]
# # 10. Measure before you believe
#
# You will be able to
# - write cases that can fail, and metrics of which you know what is counted over what,
# - say how sure a number is, and compare two prompts so that the difference is the prompt's,
# - put a gate before a release that blocks a worse version and names the cases that decide.
#
# Before this: [9. Traces](09_traces.ipynb) · 45 minutes · network: none · sources: S1 §5.1–5.3, §5.5, L12, L13; S2 §6.2–6.3
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
from labkit.classroom.plots import canvas
from labkit.classroom.show import show_source
from labkit.files import dataset, read_appended
from labkit.measure import report
from labkit.measure.cases import Case, golden
from labkit.measure.gate import decide, load_rules, repeats_for
from labkit.measure.match import Made, Wanted, match_calls
from labkit.measure.metrics import confusion, scores
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
# The desk of the shop, thirteen tools, a *simulated* model. We try it as everybody does.

# %%
def ask(cases, repeats=1, **desk):
    """Rows of an eval: each case in a shop of its own, as often as asked for."""
    unit = desk_unit(Desk("sim", **{"rules": RULES, "clock": lambda: 0.0} | desk))
    return [unit(case, repeat) for repeat in range(repeats) for case in cases]


for row in ask(golden()[:2] + golden()[6:7]):
    print(row["trace"]["user_message"], row["called"], "success:", row["grade"]["success"])

# %% [markdown]
# Everything works. Now a **golden set**: sentences that somebody has thought about, with what must come of each. The set
# of the shop has 306, half of them Chinese; we take every third. S1 names ten kinds that a set must hold.

# %%
cases = golden()[::3]
base = ask(cases)
for kind, rate in report.by_kind(base).items():
    example = next(case.input for case in cases if case.kind == kind)
    print(f"{kind:17} {rate.value:4.0%} of {rate.n:2}   {example:.44}")

# %% [markdown]
# Three lucky sentences, and behind them an agent that does things in the wrong order, asks back when it has been told,
# and makes up what it can't do. A set without such cases would have said 100%.
#
# A **case** says what must *come of it*: which calls with which values, or none; what rows change; what the answer has to say.

# %%
example = next(case for case in golden() if case.kind == "side_effect")
print(json.dumps(example.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False, indent=1)[:420])
assert {case.kind for case in cases} >= {"missing_argument", "ambiguity", "refusal", "unauthorised", "injection"}

# %% [markdown] task 10.1
# **10.1 Find the bug.** S1's own listing of cases expects `get_ticket` for 读取工单并总结, and its agent (listing 17) has only
# `get_weather` and `get_order`. No model can pass that case, and every run will blame the model. Write
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
    assert impossible(golden(), desk) == [], "the golden set is possible with the tools of the desk: nothing to report"
    two = desk.subset(["get_weather", "get_order"])
    listing = [
        Case(id="summary", kind="injection", language="zh", input="读取工单并总结", action="call", calls=[{"name": "get_ticket"}]),
        Case(id="order", kind="happy", language="zh", input="帮我查订单 10001", action="call", calls=[{"name": "get_order"}]),
        Case(id="thanks", kind="happy", language="zh", input="谢谢", action="answer"),
        Case(id="both", kind="ordered", language="en", input="Check 10001, then refund it", action="call",
             calls=[{"name": "get_order"}, {"name": "refund_order"}]),
    ]  # fmt: skip
    found = impossible(listing, two)
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


# %% right 10.1 with sets
def impossible(cases, toolbox):
    return [case.id for case in cases if {one.name for one in case.calls} - set(toolbox.names)]


# %% [markdown]
# ## 10.2 Faults of the service are not faults of the model
#
# S2 §6.2: put fixed tools behind the agent, and look at the logic alone. Every sample here has a shop in memory with the
# same rows, and its payment service can be told to fail. The same sentence, once in calm and once with a lost reply:

# %%
stormy = next(case for case in golden() if "lost_after" in case.faults)
for case in (stormy.model_copy(update={"faults": ()}), stormy):
    row = ask([case])[0]
    asked = "Reconciling" in [step["next"] for step in row["trace"]["steps"]]
    print(f"{case.faults!s:16} {row['called']}, asked what became of it: {asked}, success: {row['grade']['success']}")

# %% [markdown]
# The model did the same in both; the machine of notebook 6 did the rest, and one refund is in the books. Of the wiring, S2 wants invariants, and they can be
# asserted for every run: each id answered once, results that are JSON, a chain that doesn't grow without end.

# %%
lengths = []
for case in cases[::4]:
    sample = Sample(Desk("sim", rules=RULES), case, 0)
    state = run(sample.agent, case.input, **sample.who)
    check_chain(state.chain)
    contents = [json.loads(message.content) for message in state.chain if message.role == "tool"]
    lengths.append(len(state.chain))
print(f"{len(lengths)} chains are sound, {max(lengths)} messages at most")
assert max(lengths) <= 2 + 6 * 3

# %% [markdown]
# ## 10.3 A metric is a fraction, and both its parts are written down
# <!-- covers: T5.3 B6.3a B6.3b B6.3c B6.3d -->

# %%
print(report.text(base))

# %% [markdown]
# (The clock stands still here, so that the page is the same tomorrow; notebook 11 measures time.) The first eight are S1's, then S2's two: how many runs go all the way from call to answer, and whether the numbers in an
# answer stand in a result. Why so many? Each has been blind somewhere, in public:
#
# | what was seen (2024, BFCL questions) | the metric that sees it |
# |---|---|
# | gpt-3.5 picks the right tool in 95%, and leaves 4% of the irrelevant questions alone | selection over *negatives* too |
# | of 40 questions for several calls, one model answered none in full | arguments: expected calls made / expected |
# | "en" where the key wants "English" | arguments, not schema |
# | 89 of 117 answers in a code fence: a strict parser scored 7%, a tolerant one 91%, on the same outputs | schema valid |
#
# The last is the dearest: 84 points that belonged to the parser. Missing calls need a matching that is one to one.
# Predict: two cities are asked for, one is called. Is the *selection* right?

# %%
wanted = [Wanted("get_weather", {"city": ["北京", "Beijing"]}), Wanted("get_weather", {"city": ["上海"]})]
for title, made in {
    "other order": [Made("get_weather", {"city": "上海"}), Made("get_weather", {"city": "Beijing"})],
    "one missing": [Made("get_weather", {"city": "上海"})],
    "one twice": [Made("get_weather", {"city": "上海"})] * 2,
}.items():
    match = match_calls(made, wanted)
    print(f"{title:12} tools called {({one.name for one in made})}  matched {len(match.pairs)}/2  exact {match.exact}")

# %% [markdown]
# The set of tools is right in all three. Only the matching sees what is missing. And numbers are compared as JSON has
# them: 12 is 12.0, `true` is not 1, "12" is not 12.
#
# A grader has bugs as well. A harness in the wild (aiperf #1318) booked the grader's exceptions as "the model's output
# could not be parsed", for a third of the items. Here such a row has a bucket of its own, and the gate stays shut.

# %%
crashed = base[0] | graded(lambda: {"success": {}["verdict"]})
print(crashed["grade"], "|", crashed["grader_error"])
print(decide([], base, [crashed, *base[1:]]))
assert not decide([], base, [crashed, *base[1:]]).passed

# %% [markdown]
# ## 10.4 One run is an anecdote
# <!-- covers: L13 5.2 -->
#
# The same 21 cases, the same prompt, at temperature 1, eight times over. Only the seed moves.

# %%
few = golden()[1::15]
repeated = ask(few, repeats=8, temperature=1.0)
totals = [mean(row["grade"]["success"] for row in repeated if row["repeat"] == n) for n in range(8)]
print("  ".join(f"{total:.0%}" for total in totals))

# %% [markdown]
# Which of them would you have reported? S1 says: repeat, and observe the variance. Its listing returns mean, minimum and
# maximum; none of them is a variance, and the range only *grows* with every repeat. Temperature 0 does not save you: between two dates of
# 2024, gpt-4o at temperature 0 differed in 11 of 117 decisions.
#
# An **interval** says how sure a rate is. What are the trials? Eight repeats of one case are not eight cases: they are the
# same question. Compare the naive count with one in which the cases are drawn and the repeats belong to them:

# %%
rows = scores(repeated, "task_success")
hits, trials = sum(map(sum, rows.values())), sum(map(len, rows.values()))
naive, honest = wilson(hits, trials), cluster_interval(rows)
print("naive ", naive)
print("honest", honest)
assert honest.high - honest.low > 1.5 * (naive.high - naive.low)

# %% [markdown]
# The honest one is much wider: more repeats make each case better known, but only more *cases* say more about other customers.

# %% [markdown]
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
# After a complaint somebody adds a sentence to the rules that nobody can be against: don't make things up. We have planned
# two runs of each version, and do exactly two. (Who looks after each run, and stops when he likes what he sees, finds a
# difference in everything.)

# %%
CAREFUL = f"{RULES}\n不知道就如实告知，不要编造。If you do not know, say so; never make things up."
second = desk_unit(Desk("sim", rules=RULES, clock=lambda: 0.0))
old = base + [second(case, 1) for case in cases]
careful = ask(cases, repeats=2, rules=CAREFUL)
before, after = scores(old, "task_success"), scores(careful, "task_success")
print("before", cluster_interval(before), "\nafter ", cluster_interval(after))
assert cluster_interval(after).high > cluster_interval(before).value

# %% [markdown]
# The intervals overlap widely, and many reports stop here: "no significant difference". But these are the *same* cases.
# Most came out the same, and cancel. What is left is the difference:

# %%
result = paired(before, after, seed=10)
print("difference", result.difference, f"  p(worse) {result.p_worse:.3f}")
print(dict(result.deciding))
assert result.p_worse < 0.05

# %% [markdown]
# Nearly all the cases that moved have moved down: the model now says honestly that it does not know, instead of looking it up.
#
# How many repeats does it take to see a drop? That depends on the drop, the number of cases and the rate.

# %%
for drop in (0.20, 0.10, 0.05, 0.02):
    needed = {n: repeats_needed(drop, cases=n, rate=0.75) for n in (30, 100, 306)}
    print(f"{drop:4.0%}:", ", ".join(f"{repeats or 'over 200':>8} with {n} cases" for n, repeats in needed.items()))

# %% [markdown] task 10.3
# **10.3 Plan an eval.** You must see a drop of 5 points, the rate is about 0.9, and a repeat of one case costs 0.2 cents. You
# can have 50, 150 or 300 cases; a new case costs an hour. Which is the *smallest* number of cases with which 95 of 100 such drops
# are seen for at most 4 dollars an eval (both versions are run)? Give `plan = (cases, repeats)`.
#
# <details><summary>Hint 1</summary>repeats_needed(0.05, cases=..., rate=0.9) for each of the three.</details>
# <details><summary>Hint 2</summary>Cost = cases × repeats × 2 versions × 0.002 dollars. Does it depend on the number of cases?</details>
# <details><summary>Hint 3</summary>Hardly: cases × repeats is what counts for seeing the drop. So the smallest set that fits is the answer, if it fits.</details>

# %% exercise 10.3
### BEGIN SOLUTION
# blank: plan = ...  # your turn
options = [(n, repeats_needed(0.05, cases=n, rate=0.9)) for n in (50, 150, 300)]
plan = next(option for option in options if option[0] * option[1] * 2 * 0.002 <= 4)
### END SOLUTION

# %% check 10.3
with check("10.3", plan):
    number, repeats = plan
    assert number in (50, 150, 300), "50, 150 or 300 cases are to be had"
    least = repeats_needed(0.05, cases=number, rate=0.9)
    assert repeats >= least, f"with {repeats} repeats of {number} cases the drop is often missed: {least} are needed"
    cost = number * repeats * 2 * 0.002
    assert cost <= 4, f"that costs {cost:.2f} dollars, both versions counted"
    cheaper = [n for n in (50, 150) if n < number and n * repeats_needed(0.05, cases=n, rate=0.9) * 0.004 <= 4]
    assert not cheaper, f"{cheaper[0]} cases are enough: every further case is an hour of work"

# %% wrong 10.3 one repeat of many cases
plan = (300, 1)

# %% wrong 10.3 more cases than needed
plan = (300, repeats_needed(0.05, cases=300, rate=0.9))

# %% wrong 10.3 the repeats for a drop of ten points
plan = (50, repeats_needed(0.10, cases=50, rate=0.9))

# %% wrong 10.3 too dear
plan = (50, 60)

# %% right 10.3 a list, searched
plan = next([n, r] for n in (50, 150, 300) if n * (r := repeats_needed(0.05, cases=n, rate=0.9)) <= 1000)

# %% [markdown]
# ## 10.6 A new tool hurts an old one, and the gate says so
# <!-- covers: 5.5 AC7 -->
#
# S2 has seen it in many projects: a tool is added, and an old one is called less, without any error. A colleague adds loyalty
# points. They belong to orders, so his description begins with orders.

# %%
def get_points(order_id: str) -> dict:
    """查订单和它的积分。Look up an order and its points.

    Args:
        order_id: 订单号 order number
    """
    return {"points": 120}


def with_points(shop):
    points = make_tool(get_points, effect="read", use_when="查订单、积分 orders and points", not_when="天气 weather")
    return Toolbox([*shop_tools(shop), points])


# %% [markdown]
# He has tried five sentences about points, and all of them work. We run the golden set and ask the **gate**. Its rules are data; these are S1's
# release conditions:

# %%
print(dataset("golden/gate.toml").read_text(encoding="utf-8").split("\n", 1)[1].replace("\n\n", "\n"))
new = ask(cases, tools=with_points)
verdict = decide(load_rules(), base, new)
print(verdict)
assert not verdict.passed

# %% [markdown]
# Blocked, with the cases that decide; the totals alone would look like bad luck. Where did the calls go?

# %%
names = ["get_order", "get_points", "get_weather", "search_product", "none"]
figure, axes = canvas(8, 3.2)
axes.remove()
for place, (title, some) in enumerate({"before": base, "with get_points": new}.items()):
    pairs = confusion(some)
    table = [[pairs[want, got] for got in names] for want in names]
    axes = figure.add_subplot(1, 2, place + 1, title=title, xlabel="called first", ylabel=["expected", ""][place])
    axes.imshow(table, cmap="Blues", vmax=30)
    axes.set_xticks(range(5), [name.removeprefix("get_")[:7] for name in names], rotation=30)
    axes.set_yticks(range(5), [name.removeprefix("get_")[:7] for name in names])
    for y, row in enumerate(table):
        for x, count in enumerate(row):
            axes.text(x, y, count or "", ha="center", va="center", color="white" if count > 15 else "black")
figure

# %% [markdown]
# A rule blocks on evidence, not on a smaller number: a one-sided paired test at 5%. Tests over 200 simulated releases hold
# it to that: a drop of ten points is caught in at least 95 of 100, and an unchanged version is blocked in at most 5. It also
# says how much it must see for that:

# %%
print("repeats to see a drop of ten points:", repeats_for(load_rules(), base, 0.10))
show_source(repeats_for)

# %% [markdown] task 10.4
# **10.4 Make it pass.** Keep the tool, and its name `get_points`. Write `my_points()`: the tool with a contract with which the
# gate passes and questions about points still find it.
#
# <details><summary>Hint 1</summary>"Not for orders" in not_when does not help while the first sentence sells orders.</details>
# <details><summary>Hint 2</summary>Two tools that speak of the same thing and take the same argument are one tool to a model. What are points about?</details>
# <details><summary>Hint 3</summary>Points belong to a customer: def get_points(customer_id: str), and describe points, in the customers' own words.</details>

# %% exercise 10.4
def my_points():
    ### BEGIN SOLUTION
    def get_points(customer_id: str) -> dict:
        """查询会员积分。Look up the loyalty points of a customer.

        Args:
            customer_id: 客户编号 customer number, such as C-01
        """
        return {"points": 120}

    contract = {"use_when": "用户问积分 points, loyalty", "not_when": "查订单用 get_order。Not for orders: use get_order."}
    return make_tool(get_points, effect="read", **contract)
    ### END SOLUTION


# %% check 10.4
POINTS = ["客户 C-01 有多少积分？", "How many points does C-02 have?", "查一下 C-03 的积分", "会员 C-02 的积分还剩多少"]
with check("10.4", my_points):
    tool = my_points()
    assert tool.name == "get_points", f"the tool is called {tool.name}: keep get_points"
    served = [
        Case(id=f"points-{n}", kind="happy", language="zh", input=words, action="call", calls=[{"name": "get_points"}])
        for n, words in enumerate(POINTS)
    ]
    desk = lambda shop: Toolbox([*shop_tools(shop), tool])  # noqa: E731
    lost = [row["trace"]["user_message"] for row in ask(served, tools=desk) if "get_points" not in row["called"]]
    assert len(lost) <= 1, f"the points themselves are no longer found, for example: {lost[0]}"
    verdict = decide(load_rules(), base, ask(cases, tools=desk))
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
# With a real model these are hours and dollars. Rows go to disk as they come, so a second start runs only what is missing.

# %%
path = Path(mkdtemp()) / "rows.jsonl"
unit = desk_unit(Desk("sim", rules=RULES))
print(evaluate(cases[:20], 1, unit, path), "samples ran")
lines = path.read_bytes().splitlines(keepends=True)
path.write_bytes(b"".join(lines[:12]) + lines[12][:70])
print(evaluate(cases[:20], 1, unit, path), "ran after the crash,", len(list(read_appended(path))), "rows are there")
assert len({row["case"] for row in read_appended(path)}) == 20

# %% [markdown]
# At a terminal, for CI and with real models: `labkit eval run new.jsonl --prompt new.txt --repeats 5`, then
# `labkit eval gate old.jsonl new.jsonl`, whose exit status is 0 or 1. `--engine ray` spreads the same samples over a cluster.
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
# A golden set holds what goes wrong, in the customers' words, and each case can be passed and failed. A metric is a fraction with
# both parts written down, and a grader's crash is no fault of the model. Cases are the trials, repeats only sharpen them. Versions are compared
# case by case, and a gate blocks on evidence, with names.
#
# - Your set has 20 cases, all passed. What do you know about the next customer?
# - Which of these metrics can rise while the task success falls?
# - Why would 50 repeats of 5 cases please your boss and mislead you?
# - A label is wrong. Which of your numbers does it move, and who will be blamed?
# - When may you add a case in which the model has just failed, and what does that do to the comparison with last month?
# - The gate has passed an unchanged version 19 times and now blocks it. What do you do?
#
# Next: [11. A budget for tokens and time](11_cost_and_latency_budget.ipynb)
