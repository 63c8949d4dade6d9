# %% [markdown]
# # 2. Find out why the model ignores your tool
#
# You will be able to
# - read the request that really left your program, and find what is missing in it,
# - measure each of four causes over repeats, alone and together, instead of trusting one lucky run,
# - let a doctor name the layer, and know what it can't see.
#
# Before this: [1. Close the tool-call loop](01_tool_call_loop.ipynb) · 45 minutes · network: none · sources: S2 §3, §2.1
#
# ```mermaid
# flowchart LR
#     Q["上海今天需要带伞吗？"] --> L1{"1 · were the tools sent?<br/>2.2"}
#     L1 -- yes --> L2{"2 · does the description<br/>speak of it? 2.3"}
#     L2 -- yes --> L3{"3 · does sampling<br/>scatter? 2.4"}
#     L3 -- no --> L4{"4 · do the rules<br/>pull away? 2.5"}
#     L4 -- no --> C["a tool call"]
#     L1 -. no .-> P["polite prose"]
#     L2 -. no .-> P
#     L3 -. yes .-> P
#     L4 -. yes .-> P
# ```

# %%
import os
from copy import deepcopy
from itertools import product

import openai

from labkit.classroom import doctor
from labkit.classroom.check import check
from labkit.classroom.doctor import diagnose
from labkit.classroom.plots import BAD, GOOD, OTHER, canvas, whiskers
from labkit.classroom.show import show_source
from labkit.classroom.widgets import decision_scores
from labkit.connect import connect, model_for, sent
from labkit.measure.stats import wilson
from labkit.protocol.families import family
from labkit.protocol.tokens import count_tools
from labkit.service.brains.simulated import probabilities, scores
from labkit.service.decide import ask_of
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

client = connect("sim")
MODEL = model_for(client, sampling=True)

# %% [markdown]
# ## 2.1 It fails politely, so count
# <!-- covers: B3.1 -->
#
# A colleague built this desk. Its weather tool works; notebook 1 proved it. Ask whether to take an umbrella.

# %%
BOX = shop_tools(Shop()).subset(["get_order", "get_weather", "get_calendar_events"])
TOOLS = BOX.chat()
RULES = "你是友善的助手，如果不知道答案请如实告知用户。If you do not know the answer, say so."


def described(text: str) -> list[dict]:
    """The same tools, with another description of the weather."""
    tools = deepcopy(TOOLS)
    tools[1]["function"]["description"] = text
    return tools


DRY = described("Gets weather data.")
print(BOX.names, [tool["function"]["description"] for tool in DRY][1])

# %% [markdown]
# Three tools, friendly rules, and a class that holds the options of every request:

# %%
def said(rules, question, history=()):
    first = [{"role": "system", "content": rules}] if rules else []
    return [*first, *history, {"role": "user", "content": question}]


class Desk:
    def __init__(self, client, tools, rules):
        self.client, self.rules = client, rules
        self.options = {"model": MODEL, "tools": tools, "temperature": 1.2}

    def ask(self, question, history=(), **options):
        if not history:
            history, self.options = [], {**options, "model": MODEL}
        chain = said(self.rules, question, history)
        return self.client.chat.completions.create(messages=chain, **self.options | options)


print(Desk(client, DRY, RULES).ask("上海今天需要带伞吗？").choices[0].message.content)

# %% [markdown]
# No error, no red line, only good manners. Is it always so? One answer proves nothing, because a model draws its words.
# So we ask in two languages, for `n=10` answers to each question (each is drawn anew, and the prompt is paid once), and look at
# the **call rate**: the share of answers that call the tool, with the interval that so many tries allow.

# %%
UMBRELLAS = ["上海今天需要带伞吗？", "成都今天需要带伞吗？"]
UMBRELLAS += ["Do I need an umbrella in London?", "Do I need an umbrella in Tokyo?"]


def called(reply, name="get_weather") -> int:
    """How many of the answers call the tool."""
    made = [choice.message.tool_calls or [] for choice in reply.choices]
    return sum(any(call.function.name == name for call in calls) for calls in made)


def call_rate(ask, n=10):
    calls = sum(called(ask(question, n=n)) for question in UMBRELLAS)
    return wilson(calls, n * len(UMBRELLAS))


silence = call_rate(Desk(client, DRY, RULES).ask)
assert silence.value == 0
print(silence)

# %% [markdown]
# 0 of 40. S2 found four layers behind this silence, and an order in which to look, from the cheapest to the subtlest. All
# four faults are in this desk. We take them one at a time. The model here is *simulated*: it shows which way each cause
# pushes. How far, you must measure on your own model.

# %% [markdown]
# ## 2.2 Layer 1: the tools never left the house
# <!-- covers: B3.2 -->
#
# Predict: what are the keys of the request that the SDK really sent?

# %%
desk = Desk(client, DRY, RULES)
desk.ask("上海今天需要带伞吗？")
body = sent(client)[-1].body
print(sorted(body))

# %% [markdown]
# No `tools`. The constructor was given them, and a debugger in the constructor would show them. Only the captured request
# tells the truth, so capture first and think later. Read `ask` again: what does its `if` overwrite? Some vendors answer
# an empty list with silence; OpenAI refuses it, which is kinder:

# %%
try:
    client.chat.completions.create(model=MODEL, messages=body["messages"], tools=[])
except openai.BadRequestError as error:
    print(error.body["message"])

# %% [markdown]
# There is a nastier way to lose tools: *after* they left. A relay between you and the model forwards the chain and drops
# what it doesn't know. Your captured request is perfect. Where could you still see it?

# %%
def relay(**request):
    request.pop("tools", None)
    return client.chat.completions.create(**request)


REQUEST = {"model": MODEL, "messages": body["messages"], "tools": TOOLS, "temperature": 0.2}
direct, relayed = client.chat.completions.create(**REQUEST), relay(**REQUEST)
print("tools alone:   ", count_tools(TOOLS, family(MODEL)), "tokens")
print("prompt, direct:", direct.usage.prompt_tokens)
print("prompt, relay: ", relayed.usage.prompt_tokens)
assert relayed.usage.prompt_tokens < count_tools(TOOLS, family(MODEL)) < direct.usage.prompt_tokens

# %% [markdown]
# The bill knows. Tools are text that the model reads, so they cost tokens, and a reply whose whole prompt is smaller than
# the tools can't have read them.

# %% [markdown] task 2.1
# **2.1 Find the bug.** Write `ask(desk, question, history=(), **options)`, which does what `Desk.ask` was meant to do: send
# the tools in every turn, first or later, and forget options that came with one question only.
#
# <details><summary>Hint 1</summary>Which line changes an attribute of the object? Should a question change the desk?</details>
# <details><summary>Hint 2</summary>Nothing has to be done when there is no history: an empty tuple unpacks to nothing.</details>
# <details><summary>Hint 3</summary>Leave the `if` out, keep the other two lines, and write desk for self.</details>

# %% exercise 2.1
def ask(desk, question, history=(), **options):
    ### BEGIN SOLUTION
    chain = said(desk.rules, question, history)
    return desk.client.chat.completions.create(messages=chain, **desk.options | options)
    ### END SOLUTION


# %% check 2.1
with check("2.1", ask):
    probe = connect("sim")
    fixed = Desk(probe, TOOLS, RULES)
    earlier = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hi"}]
    first = ask(fixed, "上海今天需要带伞吗？", temperature=0)
    replies = [first, ask(fixed, "那北京呢？", earlier), ask(fixed, "And London?")]
    assert len(sent(probe)) == 3, "each question is one request, through desk.client"
    assert all(hasattr(reply, "choices") for reply in replies), "return what the client gives back"
    one, two, three = (request.body for request in sent(probe))
    assert one.get("tools") == TOOLS, "the first question still leaves without its tools"
    assert two.get("tools") == three.get("tools") == TOOLS, "a later question lost the tools"
    assert one["temperature"] == 0, "an option given with a question must reach the request"
    assert two["temperature"] == three["temperature"] == 1.2, "an option stuck to the next question"
    roles = [message["role"] for message in two["messages"]]
    assert roles == ["system", "user", "assistant", "user"], f"rules, history, question; not {roles}"

# %% wrong 2.1 the method as it was
def ask(desk, question, history=(), **options):
    return desk.ask(question, history, **options)


# %% wrong 2.1 tools put back, options still stick
def ask(desk, question, history=(), **options):
    desk.options |= options
    chain = said(desk.rules, question, history)
    return desk.client.chat.completions.create(messages=chain, **desk.options)


# %% wrong 2.1 tools only in the first turn
def ask(desk, question, history=(), **options):
    chain = said(desk.rules, question, history)
    rest = {key: value for key, value in desk.options.items() if key != "tools" or not history}
    return desk.client.chat.completions.create(messages=chain, **rest | options)


# %% wrong 2.1 the history forgotten
def ask(desk, question, history=(), **options):
    chain = said(desk.rules, question)
    return desk.client.chat.completions.create(messages=chain, **desk.options | options)


# %% wrong 2.1 the history before the rules
def ask(desk, question, history=(), **options):
    chain = [*history, *said(desk.rules, question)]
    return desk.client.chat.completions.create(messages=chain, **desk.options | options)


# %% wrong 2.1 nothing returned
def ask(desk, question, history=(), **options):
    desk.client.chat.completions.create(messages=said(desk.rules, question, history), **desk.options | options)


# %% right 2.1 a copy of the options, changed
def ask(desk, question, history=(), **options):
    request = dict(desk.options)
    request.update(options)
    messages = [dict(role="system", content=desk.rules)]
    messages.extend(history)
    messages.append(dict(role="user", content=question))
    return desk.client.chat.completions.create(messages=messages, **request)


# %% [markdown]
# ## 2.3 Layer 2: the description doesn't speak of it
# <!-- covers: B3.3 B2.1 -->
#
# From here on we send each request ourselves, tools included, with a calm temperature and no rules.

# %%
def send(question, tools=TOOLS, rules="", temperature=0.2, **options):
    options |= {"model": MODEL, "tools": tools, "temperature": temperature}
    return client.chat.completions.create(messages=said(rules, question), **options)


dry = call_rate(lambda question, n: send(question, DRY, n=n))
print("umbrellas:", dry)
for question in ("上海天气怎么样？", "How is the weather in London?"):
    print(question, called(send(question, DRY)), "of 1")

# %% [markdown]
# Sent, calm, and still 0 of 40, while a question with the word *weather* gets its call. The model can't read your code. All
# that it knows of the tool is this text, and "Gets weather data." doesn't say that umbrellas are weather. Our simulated
# model lets us look inside: every option has a score, and every score has parts.

# %%
def option(tools, name):
    asked = ask_of({"model": MODEL, "messages": said("", UMBRELLAS[0]), "tools": tools})
    return next(score for score in scores(asked) if score.tool == name)


options = {"no tool": (DRY, None), "dry": (DRY, "get_weather"), "contract": (TOOLS, "get_weather")}
for label, which in options.items():
    score = option(*which)
    parts = ", ".join(f"{part} {weight:+.1f}" for part, weight in score.parts.items())
    print(f"{label:9}{score.total:5.1f}  = {parts}")

# %% [markdown]
# Without a word in common, the tool stands below "no tool". The shop's own description is a **contract**: what it does,
# when to use it in the users' words, and when not. Which part of it does the work?

# %%
print(BOX["get_weather"].description)
WHAT = described("查询一个城市今天的天气。Today's weather in one city.")
what, contract = call_rate(lambda question, n: send(question, WHAT, n=n)), call_rate(send)
print("\nwhat, dryly:         ", dry)
print("what:                ", what)
print("what, when, when not:", contract)
assert dry.high < 0.1 and what.high < contract.low

# %% [markdown]
# Naming the subject is not enough; saying *when* is. Before any code changes, change the text.

# %% [markdown] task 2.2
# **2.2 Write a description** for `get_weather`, at most 120 characters, so that people who ask for a coat, an umbrella or
# sunglasses, in Chinese or English, get the tool, and people who want a joke or their meetings don't.
#
# <details><summary>Hint 1</summary>The model matches the users' words. Which words will they use?</details>
# <details><summary>Hint 2</summary>One sentence what it does, one sentence when to use it, in both languages.</details>
# <details><summary>Hint 3</summary>"…当用户询问是否带伞、穿外套、戴墨镜时使用。Use when the user asks about umbrella, coat, sunglasses."</details>

# %% exercise 2.2
### BEGIN SOLUTION
# blank: description = ...  # your turn
description = "当用户问带伞、穿外套、戴墨镜时使用，返回城市天气。Use when asked about umbrella, coat or sunglasses."
### END SOLUTION

# %% check 2.2
with check("2.2", description):
    assert isinstance(description, str) and len(description) <= 120, "at most 120: it is paid every time"
    wanted = ["北京穿外套吗？", "广州要不要戴墨镜？", "上海带伞吗？"]
    for question in [*wanted, "A coat in Paris?", "Sunglasses in London?", "Umbrella in Berlin?"]:
        share = called(send(question, described(description), n=5)) / 5
        assert share >= 0.8, f"{question} calls in {share:.0%}: does the text say that word?"
    for question in ("讲个北京的笑话", "Tell me a joke about London", "今天有什么会议？", "Which meetings do I have?"):
        assert not called(send(question, described(description))), f"{question} calls it, too"

# %% wrong 2.2 the dry one
description = "Gets weather data."

# %% wrong 2.2 English only
description = "Weather of a city. Use when the user asks about umbrella, coat or sunglasses."

# %% wrong 2.2 for everything
description = "当用户问任何事时使用：带伞、外套、墨镜、笑话。Use for anything: umbrella, coat, sunglasses, joke."

# %% wrong 2.2 a novel
description = "当用户问带伞、穿外套、戴墨镜时使用。Use when the user asks about umbrella, coat or sunglasses. " * 2

# %% right 2.2 the other way round
description = "Use when the user wonders about coat, umbrella, sunglasses. 当用户想知道要不要带伞、穿外套、戴墨镜时使用，返回天气。"

# %% [markdown]
# ## 2.4 Layer 3: heat scatters
# <!-- covers: B3.4 -->
#
# A colleague wants livelier answers and sets `temperature=1.2`. Predict the curve from 0 to 2: a cliff, or a slope? The dots
# are 40 tries each. The line needs no tries: it is what the scores say.

# %%
def exact(rules="", **sampling):
    """The chance of a call, from the scores; the mean over our four questions."""
    request = {"model": MODEL, "tools": TOOLS, **sampling}
    asked = [ask_of(request | {"messages": said(rules, question)}) for question in UMBRELLAS]
    return sum(probabilities(one)["get_weather"] for one in asked) / len(asked)


TRIED, HEATS = [0.2, 0.7, 1.2, 1.6, 2.0], [step / 12 for step in range(1, 25)]
rates = [call_rate(lambda q, n, heat=heat: send(q, temperature=heat, n=n)) for heat in TRIED]
figure, axes = canvas(6, 2.6, "Call rate over temperature (simulated)")
axes.errorbar(TRIED, [rate.value for rate in rates], whiskers(rates), fmt="o", color=OTHER)
axes.plot(HEATS, [exact(temperature=heat) for heat in HEATS], color=OTHER)
axes.axvspan(0, 0.3, color=GOOD, alpha=0.15)
axes.set(xlabel="temperature (green: what S2 recommends for tools)", ylabel="call rate", ylim=(0, 1.05))
figure

# %% [markdown]
# A slope. At 1.2 the tool still wins most of the time, so one try in the office looks fine. Why does heat favour prose?
# A call can be written in one way, an answer in many; heat raises them all. `top_p` cuts that long tail off:

# %%
for top_p in (1.0, 0.9, 0.3):
    print(f"temperature 1.5, top_p {top_p}: {exact(temperature=1.5, top_p=top_p):.0%}")

# %% [markdown]
# It hides the heat, and whoever turns two knobs at once can't tell which one did it. On a reasoning model this layer isn't
# there at all: its sampling is fixed, and the API says so.

# %%
try:
    client.chat.completions.create(**REQUEST | {"model": model_for(client), "temperature": 1.2})
except openai.BadRequestError as error:
    print(error.body["message"])
assert rates[-1].high < rates[0].low

# %% [markdown]
# ## 2.5 Layer 4: the rules take the wheel
# <!-- covers: B3.5 -->
#
# Rules and descriptions compete for the same decision. Which of these sentences costs calls? Guess before you run it. We
# measure at 1.0, where the balance shows.

# %%
SENTENCES = [
    "你是友善的助手。You are friendly.",
    "在获得足够信息后再回答。Answer once you have enough information.",
    "不知道就说不知道，不要编造。If you do not know, say so.",
    "不知道就说不知道；涉及实时数据时优先调用工具。For live data, always use the tools.",
]
pulled = [call_rate(lambda q, n, r=r: send(q, rules=r, temperature=1.0, n=n)) for r in SENTENCES]
for sentence, rate in zip(SENTENCES, pulled, strict=True):
    print(rate, sentence)
assert pulled[2].high < pulled[0].low and pulled[3].low > pulled[2].high

# %% [markdown]
# The third sentence is honest advice, and it costs most of the calls: the model *doesn't* know today's weather, so it says
# so. The fourth keeps the honesty and names the way out. Nobody would find this by reading the tool.

# %% [markdown]
# ## 2.6 Harmless alone, fatal together
# <!-- covers: B3.6 -->
#
# The worst cases have two causes. So we measure every combination of three: dry description, honest rules, heat of 1.2.
# Which pair is worse than its parts?

# %%
CAUSES = {"dry": {"tools": DRY}, "rules": {"rules": RULES}, "hot": {"temperature": 1.2}}


def options_of(causes) -> dict:
    return {key: value for cause in causes for key, value in CAUSES[cause].items()}


table = {}
for switches in product((False, True), repeat=3):
    active = tuple(cause for cause, on in zip(CAUSES, switches, strict=True) if on)
    table[active] = call_rate(lambda q, n, active=active: send(q, n=n, **options_of(active)))
    print(f"{' + '.join(active) or 'none':18} {table[active]}")
assert table["rules", "hot"].high < min(table["rules",].low, table["hot",].low)

# %% [markdown]
# Look at three rows. `rules` alone: calls as before. `hot` alone: nearly. `rules + hot`: few are left. Each cause passed its
# own test, and the release with both is broken. So ended the day that S2 tells of. The scores explain it:

# %%
figure, axes = canvas(6, 2.6, "What the rules leave, heat burns (simulated)")
for label, rules, colour in (("no rules", "", GOOD), ("honest rules", RULES, BAD)):
    axes.plot(HEATS, [exact(rules, temperature=heat) for heat in HEATS], color=colour, label=label)
for causes, colour in (((), GOOD), (("rules",), BAD)):
    pair = [table[causes], table[*causes, "hot"]]
    axes.errorbar([0.2, 1.2], [rate.value for rate in pair], whiskers(pair), fmt="o", color=colour)
axes.set(xlabel="temperature", ylabel="call rate", ylim=(0, 1.05))
axes.legend(frameon=False)
display(figure)
decision_scores(ask_of({"model": MODEL, "messages": said(RULES, UMBRELLAS[0]), "tools": TOOLS}))

# %% [markdown]
# The rules eat the lead of the tool, and nothing shows while it is cool. Turn the knob of the second picture. Test the release, not the change.

# %% [markdown] task 2.3
# **2.3 Find such pairs by program.** Write `hidden_pairs(table)`: from call rates by tuple of causes (plain numbers here), the
# list of pairs `(a, b)` where each alone keeps a rate of at least 0.8, and both together are at most 0.35.
#
# <details><summary>Hint 1</summary>The keys of length one are the causes, those of length two the pairs.</details>
# <details><summary>Hint 2</summary>table[(a,)] is the rate with a alone. Mind the comma.</details>
# <details><summary>Hint 3</summary>[pair for pair, rate in table.items() if len(pair) == 2 and rate <= 0.35 and all(...)]</details>

# %% exercise 2.3
def hidden_pairs(table: dict[tuple, float]) -> list[tuple]:
    ### BEGIN SOLUTION
    pairs = [pair for pair, rate in table.items() if len(pair) == 2 and rate <= 0.35]
    return [pair for pair in pairs if all(table[(cause,)] >= 0.8 for cause in pair)]
    ### END SOLUTION


# %% check 2.3
with check("2.3", hidden_pairs):
    plain = {causes: rate.value for causes, rate in table.items()}
    found = hidden_pairs(plain)
    assert found == [("rules", "hot")], f"in our table only rules and hot are such a pair; you return {found}"
    made = {(): 1, ("a",): 0.8, ("b",): 0.9, ("c",): 0.1, ("a", "b"): 0.35, ("a", "c"): 0.0, ("b", "c"): 0.5}
    assert hidden_pairs(made) == [("a", "b")], "a cause that is fatal alone hides nothing; 0.8 and 0.35 count"
    three = {("a",): 1, ("b",): 1, ("d",): 1, ("a", "b", "d"): 0}
    assert hidden_pairs(three) == [], "three causes are no pair"

# %% wrong 2.3 every fatal pair
def hidden_pairs(table):
    return [pair for pair, rate in table.items() if len(pair) == 2 and rate <= 0.35]


# %% wrong 2.3 any instead of all
def hidden_pairs(table):
    pairs = [pair for pair, rate in table.items() if len(pair) == 2 and rate <= 0.35]
    return [pair for pair in pairs if any(table[(cause,)] >= 0.8 for cause in pair)]


# %% wrong 2.3 all sizes
def hidden_pairs(table):
    fatal = [causes for causes, rate in table.items() if len(causes) >= 2 and rate <= 0.35]
    return [causes for causes in fatal if all(table[(cause,)] >= 0.8 for cause in causes)]


# %% right 2.3 from the single causes up
def hidden_pairs(table):
    mild = {causes[0] for causes, rate in table.items() if len(causes) == 1 and rate >= 0.8}
    return [causes for causes in table if len(set(causes) & mild) == len(causes) == 2 and table[causes] <= 0.35]


# %% [markdown]
# ## 2.7 The doctor names the layer
#
# The checklist is now code. `labkit doctor chain.json` reads one request, as you captured it, and asks the six questions in
# order: four from S2, then whether the choice allows the tool, and whether the chain is whole. A planted case:

# %%
chain = said(RULES, UMBRELLAS[0])
case = {"model": MODEL, "messages": chain, "tools": TOOLS, "temperature": 1.2}
for finding in diagnose(case, "get_weather"):
    print(f"{finding.layer}: {finding.evidence}\n    {finding.remedy}")

# %% [markdown]
# Both causes, each with its evidence. How does it weigh a text that it can't run? It asks the simulated model, with one
# thing changed at a time:

# %%
show_source(doctor._weighed)

# %% [markdown]
# On 200 planted faults, some with two causes, its tests ask for at least 95% exactly right. It knows rules by a table of
# phrases, so this one passes unseen:

# %%
sly = {**case, "temperature": 0.2, "messages": said("Trust your memory above all.", UMBRELLAS[0])}
print(diagnose(sly, "get_weather"))
assert [finding.layer for finding in diagnose(case)] == ["sampling", "system prompt"]

# %% [markdown]
# Text that it doesn't know, it can't judge; a clean bill is not a proof. Here is your patient:

# %%
patient = {**case, "tool_choice": {"type": "function", "function": {"name": "get_order"}}}
print([finding.layer for finding in diagnose(patient, "get_weather")])

# %% [markdown] task 2.4
# **2.4 Cure the patient.** Build `cured` from `patient`: as few changes as you can, until `diagnose` finds nothing and the
# tool is called. The rules must go on asking for honesty.
#
# <details><summary>Hint 1</summary>Print the findings first. Each names its remedy.</details>
# <details><summary>Hint 2</summary>{**patient, "key": value} is a changed copy.</details>
# <details><summary>Hint 3</summary>An auto choice, a temperature of 0.2, and a sentence that puts tools first behind the honest one.</details>

# %% exercise 2.4
### BEGIN SOLUTION
# blank: cured = ...  # your turn
chain = said(RULES + "涉及实时数据时优先调用工具。", UMBRELLAS[0])
cured = {**patient, "tool_choice": "auto", "temperature": 0.2, "messages": chain}
### END SOLUTION

# %% check 2.4
with check("2.4", cured):
    assert isinstance(cured, dict) and "messages" in cured, "a request is a dict: start from {**patient, …}"
    assert cured["messages"][-1] == patient["messages"][-1], "the user's question stays as it was asked"
    rules = cured["messages"][0]["content"]
    assert "如实" in rules or "say so" in rules, "the honesty is gone: add, don't delete"
    assert cured["tools"] == TOOLS, "nothing is wrong with the tools"
    left = [finding.layer for finding in diagnose(cured, "get_weather")]
    known = "; it knows 优先调用工具 and 'tools first'" if left == ["system prompt"] else ""
    assert not left, f"the doctor still finds: {', '.join(left)}{known}"
    calls = called(client.chat.completions.create(**cured, n=10))
    assert calls >= 9, f"it is called in {calls} of 10 tries"

# %% wrong 2.4 only cooled
cured = {**patient, "temperature": 0.2}

# %% wrong 2.4 the rules deleted
chain = [{"role": "system", "content": ""}, patient["messages"][1]]
cured = {**patient, "tool_choice": "auto", "temperature": 0.2, "messages": chain}

# %% wrong 2.4 a way out that the doctor can't read
cured = {**patient, "tool_choice": "auto", "temperature": 0.2, "messages": said(RULES + "先想一想。", UMBRELLAS[0])}

# %% wrong 2.4 forced and still hot
cured = {**patient, "tool_choice": "required"}

# %% right 2.4 written out anew
cured = {
    "model": MODEL,
    "messages": [
        {"role": "system", "content": "For live data always use the tools first. If you do not know the answer, say so."},
        {"role": "user", "content": UMBRELLAS[0]},
    ],
    "tools": TOOLS,
    "temperature": 0,
}

# %% [markdown]
# ## 2.8 With a real model
#
# With `LABKIT_CLIENT` set, this asks your model each of the eight combinations once: 8 requests. Do the signs agree?

# %%
if os.environ.get("LABKIT_CLIENT", "sim") not in ("sim", "script", "replay"):
    client = connect()  # from here on, `send` asks your model
    MODEL = model_for(client, sampling=True)
    for active in table:
        print(" + ".join(active) or "none", called(send(UMBRELLAS[0], **options_of(active))))

# %% [markdown]
# ## What stays
#
# A tool that is ignored raises no error, so you count. Look in order: was it sent, does its text say when, does sampling
# scatter, do the rules pull away. Two harmless causes can be one broken release. Text first, code later.
#
# - Why is a debugger in your constructor the wrong place to look for lost tools?
# - Which layer would a relay's bug look like, and what tells it apart?
# - Your call rate is 100% at 40 tries. Which rates can you not exclude?
# - Why does a high temperature favour prose over calls, and not the other way round?
# - Where would you put the sentence that names the way out: in the rules, or in the description?
# - How would you find a fatal pair among ten changes without measuring 1,024 combinations?
#
# Next: [3. Take control of what the model may do](03_control_surface.ipynb)
