# %% [markdown]
# # 3. Take control of what the model may do
#
# You will be able to
# - choose, for each step of a flow, between auto, required, none, one function and allowed tools,
# - narrow 300 tools to a few by program, and show what that buys,
# - decide about parallel calls and their number where it can be enforced: in parameters and in the back end.
#
# Before this: [2. Find out why the model ignores your tool](02_the_model_ignores_my_tool.ipynb) · 45 minutes · network: none · sources: S1 §1, L1–L3; S2 §2.3, §5.1, §5.4
#
# ```mermaid
# flowchart LR
#     U[user] --> M
#     subgraph hard["hard: parameters and code"]
#         C["candidates<br/>3.3"] --> T["tool_choice, allowed_tools<br/>3.1, 3.2"] --> P["parallel_tool_calls<br/>3.5"] --> K["cap, in the back end<br/>3.6"]
#     end
#     subgraph soft["soft: words"]
#         W["rules, descriptions, examples<br/>notebooks 2 and 4"]
#     end
#     soft -. persuades .-> M{the model}
#     hard == binds ==> M
# ```

# %%
import json
import os
import random

import openai

from labkit.classroom.check import check
from labkit.classroom.plots import BAD, GOOD, OTHER, QUIET, canvas, whiskers
from labkit.classroom.show import show_source
from labkit.classroom.widgets import control_panel
from labkit.connect import connect, model_for
from labkit.control.candidates import Rule, Situation, candidates
from labkit.control.choice import allowed, auto, check_calls, function, none
from labkit.control.choice import parallel_for, parameters, required
from labkit.files import dataset, read_jsonl
from labkit.measure.stats import wilson
from labkit.protocol.errors import TooManyCalls
from labkit.protocol.families import family, vendor
from labkit.protocol.messages import user
from labkit.protocol.tokens import count_tools
from labkit.service.brains.scripted import call, script
from labkit.service.brains.simulated import scores
from labkit.service.decide import Ask, ToolSpec
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

# %% [markdown]
# ## 3.1 Four values of one parameter
# <!-- covers: L1 B2.3 1.1 -->
#
# `tool_choice` has four values. We ask one question that needs a tool and one that needs none. Predict: what does `required`
# do with "thank you"?

# %%
client, BOX = connect("sim"), shop_tools(Shop())
MODEL = model_for(client, sampling=True)
THREE = BOX.subset(["get_order", "get_weather", "refund_order"])
NAMED = {"type": "function", "function": {"name": "get_weather"}}


def ask(text, tools=THREE, rules="", temperature=0.2, **options):
    said = [{"role": "system", "content": rules}, {"role": "user", "content": text}][not rules :]
    options |= {"model": MODEL, "tools": tools.chat(), "temperature": temperature}
    return client.chat.completions.create(messages=said, **options).choices


def shown(choices) -> str:
    calls = [c.function for c in choices[0].message.tool_calls or []]
    made = "; ".join(f"{c.name} {c.arguments}" for c in calls)
    return f"{made or 'prose'}  ({choices[0].finish_reason})"


# %% [markdown]
# Each value, and both questions:

# %%
for value in ("auto", "required", "none", NAMED):
    print(value if isinstance(value, str) else "one function")
    for text in ("上海今天需要带伞吗？", "谢谢你！"):
        print("   ", text, "->", shown(ask(text, tool_choice=value)))

# %% [markdown]
# `required` had to call something, so it invented an order number: an empty one. A hard control binds the *form*; it can't
# make a call sensible. Note the last lines too: with one function named, OpenAI's models are known to say `stop`, not
# `tool_calls`. So look for calls in the message, never in `finish_reason`.
#
# And the misspellings that everybody makes once:

# %%
for value in ("get_weather", {"type": "function", "function": {"name": "get_wether"}}):
    try:
        ask("上海天气", tool_choice=value)
    except openai.BadRequestError as error:
        print(error.body["message"])

# %% [markdown]
# labkit writes a choice as a value, and turns it into parameters for either wire form. What is wrong can then be wrong in
# one place only.

# %%
for choice in (auto(), function("get_weather"), allowed(["get_order"])):
    made = [parameters(choice, THREE, wire=wire)["tool_choice"] for wire in ("chat", "responses")]
    print(*map(json.dumps, made), sep="\n")
control_panel(THREE)

# %% [markdown]
# With a kernel, that is a panel: choose, allow, change the wire or the vendor, and read what is sent.
#
# The more certain the step, the harder the choice. What it can't do is *permit*: a forced `refund_order` calls, whoever
# asks. Whether this person may refund is decided in notebook 7, in the execution layer.

# %%
forced = ask("你好", tool_choice=parameters(function("refund_order"), THREE)["tool_choice"])
assert forced[0].message.tool_calls[0].function.name == "refund_order"

# %% [markdown] task 3.1
# **3.1 Recall.** Fill `steps`: for each step of a support flow the choice that fits best.
#
# - `route`: the customer's first sentence; he may want anything, or only greet
# - `load`: a webhook says which order changed; load that order
# - `lookup`: the customer gave a number; the answer must rest on a lookup, of an order or of a ticket
# - `reply`: all results are in; write the answer
#
# <details><summary>Hint 1</summary>How many tools may each step call, and may it call none?</details>
# <details><summary>Hint 2</summary>Two tools, and one of them for certain: allowed(names, mode).</details>
# <details><summary>Hint 3</summary>auto, function, allowed with "required", none.</details>

# %% exercise 3.1
### BEGIN SOLUTION
# blank: steps = ...  # your turn
steps = {
    "route": auto(),
    "load": function("get_order"),
    "lookup": allowed(["get_order", "get_ticket"], "required"),
    "reply": none(),
}
### END SOLUTION

# %% check 3.1
with check("3.1", steps):
    assert {*steps} == {"route", "load", "lookup", "reply"}, "four steps: route, load, lookup, reply"
    assert {type(step) for step in steps.values()} == {type(auto())}, "values: auto(), function(name) …"
    assert steps["route"] == auto(), "route: a greeting needs no tool, so nothing may be forced"
    assert steps["load"] == function("get_order"), "load: the program knows the tool: no choice"
    assert steps["lookup"] != required(), "lookup: required would allow a refund as well"
    assert steps["lookup"].mode == "required", "lookup: auto may answer out of the model's head"
    assert {*(steps["lookup"].names or ())} == {"get_order", "get_ticket"}, "lookup: an order or a ticket"
    assert steps["reply"] == none(), "reply: with auto it may go on calling"

# %% wrong 3.1 auto everywhere
steps = dict.fromkeys(["route", "load", "lookup", "reply"], auto())

# %% wrong 3.1 required for the lookup
steps = {"route": auto(), "load": function("get_order"), "lookup": required(), "reply": none()}

# %% wrong 3.1 allowed, but not required
steps = {"route": auto(), "load": function("get_order"), "lookup": allowed(["get_order", "get_ticket"]), "reply": none()}

# %% wrong 3.1 the reply left open
steps = {"route": auto(), "load": function("get_order"), "lookup": allowed(["get_ticket", "get_order"], "required"), "reply": auto()}

# %% wrong 3.1 the words of the wire
steps = {"route": "auto", "load": NAMED, "lookup": "required", "reply": "none"}

# %% wrong 3.1 two tools, one of them the wrong one
steps = {"route": auto(), "load": function("get_order"), "lookup": allowed(["get_order", "refund_order"], "required"), "reply": none()}

# %% right 3.1 names in another order
steps = dict(route=auto(), load=function("get_order"), lookup=allowed(("get_ticket", "get_order"), mode="required"), reply=none())

# %% [markdown]
# ## 3.2 Words persuade, parameters bind
# <!-- covers: 1.0 L2 -->
#
# "You may only call get_weather." In the rules, and as a parameter. The customer wants his order. How often does each
# form leak, in two languages? We draw at temperature 1, the API's own default, and 100 answers to each request: `n=100`.

# %%
WANTED = {
    "你只能调用 get_weather。": "帮我查订单 10001",
    "Only call get_weather.": "Check the status of order 10001",
}
ONLY = parameters(allowed(["get_weather"]), THREE)["tool_choice"]


def leaks(text, n=100, **options):
    calls = [answer.message.tool_calls or [] for answer in ask(text, temperature=1.0, n=n, **options)]
    return wilson(sum(any(c.function.name != "get_weather" for c in made) for made in calls), len(calls))


for rules, text in WANTED.items():
    soft, hard = leaks(text, rules=rules), leaks(text, tool_choice=ONLY)
    print(f"{rules}\n    words:     {soft}\n    parameter: {hard}")
    assert soft.low > hard.high and hard.value == 0

# %% [markdown]
# Words leak, at a rate that nobody can promise you. The parameter leaks 0 times, and not by luck: under it the decoder has no
# way to write another name. What you can say as a parameter, don't say in words alone.
#
# `allowed_tools` binds without touching the list of tools. Why does that matter? Send the whole shop four times: twice
# narrowed by the parameter, twice by cutting the list. Read the cached tokens.

# %%
def cached(tools, choice) -> int:
    chain = [{"role": "user", "content": "帮我查订单 10001"}]
    request = parameters(choice, tools) | {"model": MODEL, "messages": chain}
    return client.chat.completions.create(**request).usage.prompt_tokens_details.cached_tokens


PAIRS = [["get_order", "get_ticket"], ["get_order", "refund_order"]]
print("parameter:", [cached(BOX, allowed(names)) for names in PAIRS])
print("cut list: ", [cached(BOX.subset([*names, *BOX.names[4:]]), auto()) for names in PAIRS])

# %% [markdown]
# The second request of the first row reads the tools from the cache. Each cut list is a new prefix, paid in full. (Notebook
# 4 looks into the cache.)
#
# ## 3.3 A program draws up the candidates
# <!-- covers: 1.2 -->
#
# Who decides which tools are allowed? Not a second model, which would only guess once more. What you know for certain
# decides: tenant, stage of the flow, intent, permissions. That is a table, and a **candidate set** is one look into it.

# %%
RULES = [
    Rule(("get_order", "get_weather", "search_product")),
    Rule(("get_ticket", "list_tickets"), stages=frozenset({"support"})),
    Rule(("cancel_order", "update_address"), stages=frozenset({"before_shipping"})),
    Rule(("refund_order",), permissions=frozenset({"refund:write"})),
]
print(candidates(RULES, Situation("shop-1", "before_shipping")))
print(candidates(RULES, Situation("shop-1", "support", permissions=frozenset({"refund:write"}))))
show_source(candidates)

# %% [markdown]
# No model, no network, no surprise: a pure function that a reviewer can read and a test can exhaust.

# %%
assert "refund_order" not in candidates(RULES, Situation("shop-1", "support"))

# %% [markdown] task 3.2
# **3.2 Change the table.** Write `rules` for a bank desk. Everybody may use `get_order`. `transfer_funds` is a candidate only
# for the tenant "head-office" *and* with both permissions "money" and "second-eyes". `send_email` is one in the stages
# "support" and "complaint".
#
# <details><summary>Hint 1</summary>One Rule for each sentence.</details>
# <details><summary>Hint 2</summary>Conditions inside a rule are joined by "and"; values in one set by "or", except permissions: all are needed.</details>
# <details><summary>Hint 3</summary>Rule(("transfer_funds",), tenants=frozenset({"head-office"}), permissions=frozenset({...}))</details>

# %% exercise 3.2
### BEGIN SOLUTION
# blank: rules = ...  # your turn
rules = [
    Rule(("get_order",)),
    Rule(
        ("transfer_funds",),
        tenants=frozenset({"head-office"}),
        permissions=frozenset({"money", "second-eyes"}),
    ),
    Rule(("send_email",), stages=frozenset({"support", "complaint"})),
]
### END SOLUTION

# %% check 3.2
with check("3.2", rules):

    def names(tenant="", stage="", *permissions):
        return candidates(rules, Situation(tenant, stage, permissions=frozenset(permissions)))

    both = ("money", "second-eyes")
    assert names() == ("get_order",), f"a stranger gets get_order and nothing else, not {names()}"
    assert "transfer_funds" in names("head-office", "", *both), "head office may transfer"
    assert "transfer_funds" not in names("head-office", "", "money"), "one permission is not enough"
    for tenant in ("branch", "head"):
        assert "transfer_funds" not in names(tenant, "", *both), f"tenant {tenant} may not transfer"
    for stage in ("support", "complaint"):
        assert "send_email" in names(stage=stage), f"in stage {stage} mail may be written"
    assert "send_email" not in names("head-office", "", *both), "no mail outside its stages"

# %% wrong 3.2 tenant and permission as two rules
rules = [
    Rule(("get_order",)),
    Rule(("transfer_funds",), tenants=frozenset({"head-office"})),
    Rule(("transfer_funds",), permissions=frozenset({"money", "second-eyes"})),
    Rule(("send_email",), stages=frozenset({"support", "complaint"})),
]

# %% wrong 3.2 one permission
rules = [
    Rule(("get_order",)),
    Rule(("transfer_funds",), tenants=frozenset({"head-office"}), permissions=frozenset({"money"})),
    Rule(("send_email",), stages=frozenset({"support", "complaint"})),
]

# %% wrong 3.2 mail for everybody
rules = [
    Rule(("get_order", "send_email")),
    Rule(("transfer_funds",), tenants=frozenset({"head-office"}), permissions=frozenset({"money", "second-eyes"})),
]

# %% wrong 3.2 a string, in which "head" is found, too
rules = [
    Rule(("get_order",)),
    Rule(("transfer_funds",), tenants="head-office", permissions=frozenset({"money", "second-eyes"})),
    Rule(("send_email",), stages=frozenset({"support", "complaint"})),
]

# %% right 3.2 mail as two rules
rules = [Rule(("send_email",), stages=frozenset({stage})) for stage in ("support", "complaint")]
rules += [Rule(("transfer_funds",), frozenset({"head-office"}), permissions=frozenset(["second-eyes", "money"]))]
rules.insert(0, Rule(("get_order",)))

# %% [markdown]
# ## 3.4 Three tools, thirty, three hundred
# <!-- covers: B5.1 -->
#
# Now 447 real tools of two catalogs (GitHub's MCP server, InjecAgent), and 73 questions whose right tool we know. What
# happens when the list grows? First, the wire has an opinion:

# %%
CATALOG, HELLO = {}, {"role": "user", "content": "hi"}
for name in ("github_mcp_tools", "injecagent_tools"):
    for row in read_jsonl(dataset(f"tool_catalogs/{name}.jsonl")):
        CATALOG[row["function"]["name"]] = row
QUESTIONS = list(read_jsonl(dataset("tool_questions/questions.jsonl")))
bare = [{"type": "function", "function": {"name": name}} for name in CATALOG]
try:
    client.chat.completions.create(model=MODEL, messages=[HELLO], tools=bare[:300])
except openai.BadRequestError as error:
    print(len(CATALOG), len(QUESTIONS), error.body["message"])

# %% [markdown]
# 128 at most. Beyond that we ask the brain behind the wire directly. Each question gets a list of 300, its right tool among
# them; a shorter list is the beginning of a longer one. Draw the curve in your mind before you see it.

# %%
SPECS = {name: ToolSpec(**row["function"]) for name, row in CATALOG.items()}
LISTS = []
for question in QUESTIONS:
    others = sorted(set(CATALOG) - {question["tool"]})
    LISTS.append([question["tool"], *random.Random(question["question"]).sample(others, 299)])


def ranked(question, names) -> list[str | None]:
    """What may be done, best first; None is an answer in prose."""
    tools = tuple(SPECS[name] for name in sorted(names))
    options = scores(Ask("m", (user(question["question"]),), tools))
    return [option.tool for option in sorted(options, key=lambda option: -option.total)]


def right(question, ranks, may=CATALOG) -> bool:
    return next(name for name in ranks if name is None or name in may) == question["tool"]


# %% [markdown]
# `scores` again, at five lengths of the list. Right is a question whose tool stands first among what may be called.

# %%
NUMBERS = [3, 10, 30, 100, 300]
RANKS = {n: [ranked(q, names[:n]) for q, names in zip(QUESTIONS, LISTS, strict=True)] for n in NUMBERS}
rates = [wilson(sum(map(right, QUESTIONS, ranks)), len(QUESTIONS)) for ranks in RANKS.values()]
print(*(f"{number:4} tools: {rate}" for number, rate in zip(NUMBERS, rates, strict=True)), sep="\n")
assert rates[0].low > rates[2].value > rates[4].high

# %% [markdown]
# That is a simulation, at temperature 0. Do real models fall, too? Published: four hosted models on BFCL questions with
# more and more tools added. Measured for this course: SmolLM2-135M, which is small enough for a laptop.

# %%
files = [dataset(f"published/{name}.json") for name in ("tools_offered", "small_model_tools")]
hosted, small = (json.loads(file.read_text(encoding="utf-8")) for file in files)
print(hosted["source"], "|", small["source"])

# %% [markdown]
# And the list is paid for in every request, right or wrong. The seconds are what SmolLM2 needs on two cores only to read it,
# at the best rate that we measured:

# %%
wired = [{"type": "function", "function": CATALOG[name]["function"]} for name in LISTS[0]]
tokens = [count_tools(wired[:number], family(MODEL)) for number in NUMBERS]
best = small["prompt_tokens_per_second"][1]
for number, amount in zip(NUMBERS, tokens, strict=True):
    print(f"{number:4} tools: {amount:6,} tokens, {amount / best:4.0f} s at {best} tokens a second")

# %% [markdown]
# Everything in one picture:

# %%
figure, _ = canvas(9, 3.2)
figure.clear()
share, wait = figure.subplots(1, 2, width_ratios=(3, 2))
share.errorbar(NUMBERS, [r.value for r in rates], whiskers(rates), color=BAD, label="simulated")
several = [row for row in hosted["rows"] if row["category"] == "multiple"]
for row, line in zip(several, ("-", "--", "-.", ":"), strict=True):
    points = [added + 3 for added in hosted["added"]], [percent / 100 for percent in row["accuracy"]]
    share.plot(*points, line, color=OTHER, label=row["model"])
few = {row["tools"]: wilson(row["right"], row["asked"]) for row in small["rows"]}
shares = [rate.value for rate in few.values()]
share.errorbar(list(few), shares, whiskers(few.values()), marker="s", color=QUIET, label="SmolLM2-135M")
share.set(ylabel="share right", ylim=(0, 1.02))
share.legend(frameon=False, fontsize=8, loc="lower right", ncols=2)
wait.plot(NUMBERS, [amount / best for amount in tokens], marker="o", color=QUIET)
wait.set(ylabel="seconds to read the list (SmolLM2)")
for axes in (share, wait):
    axes.set(xscale="log", xlabel="tools offered")
    axes.set_xticks(NUMBERS, NUMBERS)
    axes.minorticks_off()
figure

# %% [markdown]
# The hosted models fall, too, the strong ones later; our two points of the small one are too few to say. Sources:
# `datasets/published`. The questions differ, so compare slopes, not heights. Reading takes time on every model.
#
# So let the program narrow first: an InjecAgent question comes from one app, and the program knows which. Same 300 tools, but
# only that app's may be called.

# %%
app = {name: row.get("toolkit") for name, row in CATALOG.items()}
pairs = [pair for pair in zip(QUESTIONS, RANKS[300], strict=True) if pair[0]["source"].startswith("injec")]
wide = wilson(sum(right(*pair) for pair in pairs), len(pairs))
own = [[name for name in app if app[name] == app[question["tool"]]] for question, _ in pairs]
narrow = wilson(sum(right(*pair, may) for pair, may in zip(pairs, own, strict=True)), len(pairs))
print("300 callable:  ", wide, "\none app's only:", narrow)
assert narrow.low > wide.high

# %% [markdown]
# ## 3.5 Parallel is a policy, not a feature
# <!-- covers: L3 -->
#
# One message may hold several calls. Good for two cities. Is it good here?

# %%
DESK = BOX.subset(["get_order", "get_weather", "cancel_order"])
for text in ("北京和上海今天天气怎么样？", "查一下订单 10002 的状态，并且取消订单 10002"):
    for parallel in (True, False):
        print(parallel, shown(ask(text, DESK, parallel_tool_calls=parallel)))

# %% [markdown]
# The second sentence reads an order and cancels it in the same breath, before anybody has seen what was read. With
# `parallel_tool_calls=False` the first call comes alone, and the second has to wait for its result. A simple policy reads
# the effects, which every labkit tool declares:

# %%
print(parallel_for(BOX.subset(["get_order", "get_weather"])), parallel_for(DESK))
made = ask(text, DESK, parallel_tool_calls=parallel_for(DESK))
assert [c.function.name for c in made[0].message.tool_calls] == ["get_order"]

# %% [markdown]
# Not everybody takes the knobs. Some families refuse `parallel_tool_calls`, some vendors have no `allowed_tools` or won't be
# forced while they think. Then labkit sends the nearest, and says so:

# %%
wish = allowed(["get_order", "get_ticket"], "required")
for model in ("o3", "gpt-6-luna", "deepseek-reasoner", "qwen-flash", "kimi-k3"):
    kind = family(model)
    got = parameters(wish, BOX, vendor=vendor(kind.vendor), family=kind, parallel=False)
    print(model, *got.notes, sep="\n    ")

# %% [markdown]
# ## 3.6 The back end counts
# <!-- covers: B5.4 -->
#
# S2 lets at most two calls pass in a turn. Written into the rules it is a wish. Our scripted model makes four; count them
# where you can refuse.

# %%
four = [call("get_weather", city=city) for city in ("北京", "上海", "广州", "深圳")]
asked = [{"role": "user", "content": "北京、上海、广州、深圳的天气？"}]
scripted = connect("script", script(four)).chat.completions
message = scripted.create(model="gpt-5.4-mini", messages=asked, tools=BOX.chat()).choices[0].message
try:
    check_calls(message.tool_calls, most=2)
except TooManyCalls as error:
    print(error.kind, "|", error)

# %% [markdown]
# None of the four has run. But the chain now holds four questions, and notebook 1 told what becomes of a call without an
# answer. A colleague's cap:

# %%
def capped(message, most):
    message.tool_calls = message.tool_calls[:most]
    answers = [{"role": "tool", "tool_call_id": c.id, "content": "晴"} for c in message.tool_calls]
    return [message, *answers]

# %% [markdown] task 3.3
# **3.3 Find the bug.** That cap rewrites history: the model reads that it asked for two cities. Write `refuse_surplus(message, most)`:
# the assistant message unchanged, and one `tool` message a call. With more than `most` calls, *each* answer is JSON with
# `"status": "error"`, `"error_type": "too_many_calls"` and `"retryable_by_model": true`. With fewer, content is "run".
#
# <details><summary>Hint 1</summary>Every call gets an answer, whether it ran or not.</details>
# <details><summary>Hint 2</summary>Decide once, before the loop: is len(message.tool_calls) greater than most?</details>
# <details><summary>Hint 3</summary>content = json.dumps({...}) if too many else "run"; then [message, *answers].</details>

# %% exercise 3.3
def refuse_surplus(message, most: int) -> list:
    ### BEGIN SOLUTION
    surplus = len(message.tool_calls) > most
    error = {"status": "error", "error_type": "too_many_calls", "retryable_by_model": True}
    content = json.dumps(error) if surplus else "run"
    ids = [c.id for c in message.tool_calls]
    return [message, *({"role": "tool", "tool_call_id": id, "content": content} for id in ids)]
    ### END SOLUTION


# %% check 3.3
with check("3.3", refuse_surplus):
    links = refuse_surplus(message, 2) or []
    assert len(message.tool_calls) == 4 and links[:1] == [message], "the message first, as it was written"
    answered = [link["tool_call_id"] for link in links[1:]]
    assert answered == [c.id for c in message.tool_calls], "four calls, four answers, by their ids"
    assert "run" not in [link["content"] for link in links[1:]], "none ran: each of the four is told so"
    assert all(str(link["content"]).startswith('{"') for link in links[1:]), "content is a string of JSON"
    for told in (json.loads(link["content"]) for link in links[1:]):
        assert told["error_type"] == "too_many_calls" and told["status"] == "error", "say what was wrong"
        assert told["retryable_by_model"] is True, "it may try again, with fewer"
    fine = [link["content"] for link in (refuse_surplus(message, 4) or [])[1:]]
    assert fine == ["run"] * 4, "four are fine where four are allowed"

# %% wrong 3.3 the colleague's
def refuse_surplus(message, most):
    copy = message.model_copy(deep=True)
    return capped(copy, most)


# %% wrong 3.3 only the surplus is told
def refuse_surplus(message, most):
    error = json.dumps({"status": "error", "error_type": "too_many_calls", "retryable_by_model": True})
    contents = ["run"] * most + [error] * (len(message.tool_calls) - most)
    pairs = zip(message.tool_calls, contents)
    return [message, *({"role": "tool", "tool_call_id": c.id, "content": content} for c, content in pairs)]


# %% wrong 3.3 one answer for all
def refuse_surplus(message, most):
    error = json.dumps({"status": "error", "error_type": "too_many_calls", "retryable_by_model": True})
    return [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": error}]


# %% right 3.3 a loop
def refuse_surplus(message, most):
    links = [message]
    for one in message.tool_calls:
        content = "run"
        if len(message.tool_calls) > most:
            content = '{"status": "error", "error_type": "too_many_calls", "retryable_by_model": true}'
        links.append({"role": "tool", "tool_call_id": one.id, "content": content})
    return links


# %% [markdown]
# ## 3.7 With a real model
#
# With `LABKIT_CLIENT` set: your model, the soft rule and the hard one, 5 answers each, or 1 where the vendor knows no `n`.

# %%
if os.environ.get("LABKIT_CLIENT", "sim") not in ("sim", "script", "replay"):
    client = connect()  # from here on, `ask` asks your model
    MODEL = model_for(client, sampling=True)
    for rules, text in WANTED.items():
        print(rules, leaks(text, 5, rules=rules), leaks(text, 5, tool_choice=ONLY), sep="\n    ")

# %% [markdown]
# ## What stays
#
# Parameters bind and words persuade, so say in parameters what must hold. A program that knows tenant, stage and intent
# narrows better than any prompt, and keeps the prefix. Reads may run side by side, writes may not. Whatever the model was
# told, the back end counts.
#
# - Which of your flow's steps could never need a greeting, and are still on auto?
# - Why is `required` on every turn a loop that can't end?
# - 300 tools, and the program doesn't know the app. What could it know instead?
# - Why does cutting the list of tools cost more than allowing a part of it?
# - When would you let two writes happen in one turn?
# - A vendor ignores `parallel_tool_calls=False`. Which line of yours still holds?
#
# Next: [4. Write the prompt as an interface](04_prompt_as_interface.ipynb)
