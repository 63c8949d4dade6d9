# %% [markdown]
# # 4. Write the prompt as an interface
#
# You will be able to
# - give each layer of a prompt one job, and say what each costs in tokens,
# - show by example and draw the line between confusable tools, and measure both,
# - keep the prefix stable, so that a cache can hold it, and find what breaks it.
#
# Before this: [3. Take control of what the model may do](03_control_surface.ipynb) · 45 minutes · network: none · sources: S1 §2, L4, L5; S2 §5.2, §5.3
#
# ```mermaid
# flowchart TB
#     subgraph stable["the same bytes in every request: cached"]
#         T["tools: what the program can do<br/>4.3, 4.4"] --> R["rules: what always holds<br/>4.1"] --> F["examples: what a good decision looks like<br/>4.2"]
#     end
#     subgraph dynamic["new in every request"]
#         H["history: what happened<br/>4.6"] --> U["user: what is wanted now"] --> S["state of this run"]
#     end
#     F --> H
# ```

# %%
import json
import os
import re
from collections import Counter
from dataclasses import replace
from itertools import product

import openai

from labkit.classroom.check import check
from labkit.classroom.plots import GOOD, canvas
from labkit.classroom.show import show_source
from labkit.classroom.widgets import request_inspector
from labkit.connect import connect, model_for
from labkit.control.choice import allowed, auto, parameters
from labkit.control.context import Context, Example, layers, trim
from labkit.files import dataset, read_jsonl
from labkit.measure.cost import price_of
from labkit.measure.stats import wilson
from labkit.protocol import chat
from labkit.protocol.families import family
from labkit.protocol.messages import ToolCall, assistant, system, tool, user
from labkit.protocol.tools import Toolbox
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

# %% [markdown]
# ## 4.1 Five layers, each with one job
# <!-- covers: 2.0 -->
#
# One long text with everything in it works until something is wrong; then nobody knows which sentence did it. S1 cuts it
# into layers. These are the shop's: rules and examples come from `datasets/support_prompt`.

# %%
client, BOX = connect("sim"), shop_tools(Shop())
MODEL = model_for(client, sampling=True)
PROMPT = dataset("support_prompt")
RULES = (PROMPT / "rules.md").read_text(encoding="utf-8")
EXAMPLES = tuple(Example(**row) for row in read_jsonl(PROMPT / "examples.jsonl"))
DESK = Context(RULES, EXAMPLES, "block", "desk-1")
print(RULES[:200])

# %% [markdown]
# Which layer is the dearest, do you think? S1 estimates, for one routing call: rules 400–600 tokens, tools 600–1,200,
# examples 200–500, dynamic 200–500.

# %%
QUESTION = [user("帮我查订单 20002")]
whole = replace(DESK, form="chain")  # each example as the messages that it would have been
parts = layers(whole, BOX.chat(), QUESTION, family(MODEL), state="用户已登录，租户 shop-1")
for name, tokens in parts.items():
    print(f"{name:9}{tokens:5}  {'#' * (tokens // 25)}")
print(sum(parts.values()))

# %% [markdown]
# Thirteen tools cost more than all the rest. `Context` puts the layers together in one order: what never changes first, what
# changes every time last. The tools stand before everything, since the API puts them there.

# %%
chain = DESK.messages(QUESTION, state="用户已登录，租户 shop-1")
print(*(message.role for message in chain))
assert chain[0].content.startswith(RULES) and chain[-1].content.startswith("用户已登录")

# %% [markdown]
# ## 4.2 An example is a conversation, not a formula
# <!-- covers: L4 -->
#
# Some prompts show `tool = query_order` and hope. The wire knows no such line. Real **few-shot** examples have the shape of
# what happens: user, assistant with a call, tool, assistant. Or they are lines in a stable block. Both, for one example:

# %%
for form in ("chain", "block"):
    for message in Context("(rules)", EXAMPLES[2:3], form).prefix():
        print(form, json.dumps(chat.to_wire(message), ensure_ascii=False))

# %% [markdown]
# Do they help? Take the weather tool with a description too dry to be chosen ("Gets weather data."), and people who ask for
# umbrellas. No example, the chain, the block: 40 answers each.

# %%
TOOLS = json.loads(json.dumps(BOX.subset(["get_order", "get_weather"]).chat()))
TOOLS[1]["function"]["description"] = "Gets weather data."
CITIES = ("上海", "成都", "广州", "北京")
FORMS = {
    "none": Context("你是客服助手。"),
    "chain": Context("你是客服助手。", EXAMPLES[2:3]),
    "block": Context("你是客服助手。", EXAMPLES[2:3], "block"),
}


def decide(messages, tools, **options) -> list[str]:
    """The tool that each answer calls; `n` says how many answers are drawn."""
    wire = [chat.to_wire(message) for message in messages]
    reply = client.chat.completions.create(model=MODEL, messages=wire, tools=tools, **options)
    made = [choice.message.tool_calls or [] for choice in reply.choices]
    return [calls[0].function.name if calls else "no tool" for calls in made]


# %% [markdown]
# The question is never the example's own: the city is another one.

# %%
rates, costs = {}, {}
for name, context in FORMS.items():
    asked = [context.messages([user(f"{city}今天带伞吗？")]) for city in CITIES]
    made = [one for messages in asked for one in decide(messages, TOOLS, temperature=0.2, n=10)]
    rates[name] = wilson(made.count("get_weather"), len(made))
    costs[name] = sum(layers(context, TOOLS, [], family(MODEL)).values())
    print(f"{name:6} {rates[name]}  {costs[name]} tokens")
assert rates["none"].high < min(rates["chain"].low, rates["block"].low)

# %% [markdown]
# One example does what the description failed to do. That is simulated; with a small embedding model as a router, measured
# for this course, examples beat descriptions, too. The block is cheaper; the chain also shows what comes *after* the call. One
# danger is real: SmolLM2-135M, asked for other cities, copied the cities out of its examples. A model may repeat them.

# %% [markdown] task 4.1
# **4.1 Show the boundary.** Our examples must also teach when *not* to call. Write `boundaries`, a tuple of two `Example`s: one
# customer who asks for a joke (no tool, a polite answer), one who wants a refund without giving a number (no tool, and the
# answer asks for the order number). One of the two in Chinese, the other in English.
#
# <details><summary>Hint 1</summary>An Example with an empty name is one without a call.</details>
# <details><summary>Hint 2</summary>Example("…", answer="…")</details>
# <details><summary>Hint 3</summary>(Example("讲个笑话", answer="…"), Example("I want a refund", answer="… order number?"))</details>

# %% exercise 4.1
### BEGIN SOLUTION
# blank: boundaries = ...  # your turn
boundaries = (
    Example("讲个笑话", answer="我只能帮您处理订单上的事。"),
    Example("I want a refund", answer="Gladly. Which order number is it?"),
)
### END SOLUTION

# %% check 4.1
with check("4.1", boundaries):
    assert [type(one) for one in boundaries] == [Example] * 2, "two of Example(asked, answer=...)"
    assert not any(example.name for example in boundaries), "these examples show how not to call"
    assert all(example.answer for example in boundaries), "an example without an answer teaches silence"
    joke, refund = boundaries
    assert "笑话" in joke.asked or "joke" in joke.asked.lower(), "the first asks for a joke"
    assert re.search("退款|退钱|refund|money back", refund.asked, re.I), "the second asks for a refund"
    assert not any(c.isdigit() for c in refund.asked), "without an order number: that is its point"
    assert re.search("[?？]|please|请", refund.answer, re.I), "the answer asks for what is missing"
    assert re.search("number|号|order|订单", refund.answer, re.I), "what is missing is the order number"
    spoken = [[text > "一" for text in (one.asked[0], one.answer[0])] for one in boundaries]
    assert sorted(spoken) == [[False, False], [True, True]], "one is Chinese, one English, question and answer"
    taught = Context(RULES, boundaries).messages([user("我要退款")])
    assert decide(taught, BOX.chat(), temperature=0) == ["no tool"], "it still refunds without a number"

# %% wrong 4.1 the refund calls at once
boundaries = (
    Example("讲个笑话", answer="我只能帮您处理订单上的事。"),
    Example("I want a refund", "refund_order", '{"order_id":"10001"}', "{}", "Done."),
)

# %% wrong 4.1 both in Chinese
boundaries = (Example("讲个笑话", answer="抱歉。"), Example("我要退款", answer="请问订单号是多少？"))

# %% wrong 4.1 silence
boundaries = (Example("讲个笑话"), Example("I want a refund", answer="Which order number?"))

# %% wrong 4.1 nothing is asked
boundaries = (Example("讲个笑话", answer="抱歉。"), Example("I want a refund", answer="Not without a number."))

# %% wrong 4.1 asks for something else
boundaries = (Example("讲个笑话", answer="抱歉。"), Example("I want a refund", answer="Are you sure?"))

# %% wrong 4.1 answers in the other language
boundaries = (Example("讲个笑话", answer="Sorry."), Example("I want a refund", answer="请问订单号是多少？"))

# %% right 4.1 languages exchanged
boundaries = (
    Example(asked="Tell me a joke, please", answer="I'd rather help with your order."),
    Example(asked="麻烦退款", answer="好的，请问订单号是多少？"),
)

# %% right 4.1 a list, and a request without a question mark
boundaries = [
    Example("给我讲个笑话", answer="这里只能处理订单。"),
    Example("I want my money back", answer="Please tell me the number of your order."),
]

# %% [markdown]
# ## 4.3 A description draws a line
# <!-- covers: L5 B5.2 -->
#
# Four tools of a careless colleague, made to be confused. Every description has three parts. Which one matters most?

# %%
DRAFT = json.loads((PROMPT / "confusable.json").read_text(encoding="utf-8"))
NAMES, SENTENCES = list(DRAFT["tools"]), DRAFT["sentences"]


def offer(name, description, *arguments):
    properties = {argument: {"type": "string"} for argument in arguments}
    schema = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def texts(*parts) -> dict[str, str]:
    return {name: "\n".join(text[part] for part in parts) for name, text in DRAFT["tools"].items()}


print(texts("what", "when", "not")["send_email"])

# %% [markdown]
# The measure is a **confusion matrix**: a row for each tool that is wanted, a column for each that is chosen. Sixteen
# sentences in two languages, ten answers each, at a temperature of 0.7.

# %%
def confusion(descriptions, n=10, temperature=0.7) -> dict[str, Counter]:
    tools = [offer(name, text, "text") for name, text in descriptions.items()]
    rows = {name: Counter() for name in descriptions}
    for name, sentence in ((name, sentence) for name in NAMES for sentence in SENTENCES[name]):
        rows[name].update(decide([user(sentence)], tools, temperature=temperature, n=n))
    return rows


def accuracy(rows) -> float:
    return sum(rows[name][name] for name in rows) / sum(row.total() for row in rows.values())


STAGES = {"what": ("what",), "+ when": ("what", "when"), "+ when not": ("what", "when", "not")}
matrices = {label: confusion(texts(*parts)) for label, parts in STAGES.items()}
print({label: f"{accuracy(rows):.0%}" for label, rows in matrices.items()})

# %% [markdown]
# Where do the wrong ones go? Right answers lie on the diagonal.

# %%
figure, _ = canvas(8, 2.9)
figure.clear()
columns = [*NAMES, "no tool"]
for axes, label in zip(figure.subplots(1, 2, sharey=True), ("+ when", "+ when not"), strict=True):
    rows = matrices[label]
    shares = [[rows[name][column] / rows[name].total() for column in columns] for name in NAMES]
    axes.imshow(shares, cmap="Blues", aspect="auto")
    for y, x in product(range(4), range(5)):
        text = f"{shares[y][x]:.0%}" if shares[y][x] else ""
        axes.text(x, y, text, ha="center", va="center", color="white" if shares[y][x] > 0.5 else "black")
    axes.set_xticks(range(5), columns, rotation=30, ha="right")
    axes.set_yticks(range(4), NAMES)
    axes.set_title(f"{label}: {accuracy(rows):.0%}", loc="left")
figure

# %% [markdown]
# With "what" alone nothing is called. "When" brings the calls, and one greedy tool takes its neighbour's. "When not" gives
# them back: the negative sentence stands in the *greedy* tool and names what belongs to the other.

# %%
assert accuracy(matrices["what"]) < accuracy(matrices["+ when"]) < accuracy(matrices["+ when not"])

# %% [markdown]
# labkit asks for both parts when a tool is made, and its linter reads a toolbox before any model does. Three names for one
# thing, S1's own example:
# <!-- covers: 2.2 -->

# %%
twins = [replace(BOX["get_order"], name=name) for name in ("get_order", "query_order", "search_order")]
for problem in Toolbox(twins).lint():
    print(problem)
assert not any("mean the same" in problem for problem in BOX.lint())

# %% [markdown] task 4.2
# **4.2 Draw the line.** `send_email` still takes a sentence that belongs to `open_case`, even at a temperature of 0.3. Write its
# description, at most 200 characters, so that there `open_case` gets all of its own, and `send_email` keeps 90%.
#
# <details><summary>Hint 1</summary>Print SENTENCES["open_case"], and texts("what", "when", "not")["send_email"] below it.</details>
# <details><summary>Hint 2</summary>Which verb of those sentences does the "Not for" line lack?</details>
# <details><summary>Hint 3</summary>Keep "what" and "when"; the last line must also name investigate.</details>

# %% exercise 4.2
### BEGIN SOLUTION
# blank: email_text = ...  # your turn
email_text = """把消息告诉某人。
适用：通知客户、同事退款和破损。Use when: a customer or a colleague should know about a refund, damage.
不适用：跟进、调查。Not for: follow up, investigate."""
### END SOLUTION

# %% check 4.2
with check("4.2", email_text):
    assert isinstance(email_text, str) and len(email_text) <= 200, "at most 200 characters"
    mine = texts("what", "when", "not") | {"send_email": email_text}
    rows = confusion(mine, temperature=0.3)
    kept, given = rows["send_email"], rows["open_case"]
    assert kept["send_email"] / kept.total() >= 0.9, f"send_email lost its own: {dict(kept)}"
    assert given["open_case"] == given.total(), f"open_case still loses: {dict(given)}"

# %% wrong 4.2 as it was
email_text = texts("what", "when", "not")["send_email"]

# %% wrong 4.2 no "when" any more
email_text = "把消息告诉某人。\n不适用：跟进、调查。Not for: follow up, investigate."

# %% wrong 4.2 everything forbidden
email_text = "发邮件。Not for: customer, colleague, refund, damage, follow up, investigate. 不适用：通知、客户、同事、跟进。"

# %% right 4.2 in other words
email_text = """适用：通知客户、同事退款和破损。Use when: a customer or colleague should know about a refund, damage.
不适用：要有人跟进。Not for: to investigate, to follow up."""

# %% [markdown]
# ## 4.4 One tool for one intent
# <!-- covers: B5.3 -->
#
# S2's author had three mail tools: send, list drafts, list contacts. One sentence, three candidates. Merged into one, the
# sentence has one home. Is merging always right?

# %%
MAIL = ("to", "subject", "body")
SPLIT = [
    offer("send_email", "发送邮件。Send an email.", *MAIL),
    offer("get_email_drafts", "邮件草稿。Email drafts."),
    offer("get_email_contacts", "邮件联系人。Email contacts."),
]
MERGED = [offer("send_email", "写好并发送邮件，一次填完。Write and send an email at once.", *MAIL)]
WISHES = {
    "send": ["给 li@example.com 写封邮件，说货到了", "Write an email to bob@example.com: the parcel left"],
    "read drafts": ["看看我的邮件草稿", "Show me my email drafts"],
}
chosen = {}
for wish, (label, tools) in product(WISHES, (("split", SPLIT), ("merged", MERGED))):
    made = [decide([user(sentence)], tools, temperature=0.7, n=10) for sentence in WISHES[wish]]
    chosen[wish, label] = Counter(made[0] + made[1])
    print(f"{wish:12}{label:7}{dict(chosen[wish, label].most_common())}")

# %% [markdown]
# For writing, merging wins: what is one thing in the user's mind is one tool. But now nobody can read a draft: the model
# asks whom to write to. So listen how people say it. One sentence, one effect: merge. A sentence that wants half of it:
# split.

# %%
assert chosen["send", "merged"]["send_email"] > chosen["send", "split"]["send_email"]
assert chosen["read drafts", "split"]["get_email_drafts"] > 0

# %% [markdown]
# ## 4.5 A stable prefix is paid once
# <!-- covers: 2.3 -->
#
# From 1,024 tokens on, the API keeps the beginning of a prompt for some minutes, and reads it again for a fraction of the
# price. Only the part that is the same, byte for byte, from the first byte on. Tools come first, then rules, then the rest.
# Predict, for each change below, how much is still cached.

# %%
def request(context=DESK, box=BOX, text="帮我查订单 20002", state="", choice=auto()):
    messages = [chat.to_wire(message) for message in context.messages([user(text)], state)]
    return {"model": MODEL, "messages": messages, **parameters(choice, box)}


CHANGES = {
    "nothing": request(),
    "another question": request(text="北京今天带伞吗？"),
    "a clock at the end": request(state="现在 12:01"),
    "fewer tools allowed": request(choice=allowed(["get_order"])),
    "examples in another order": request(replace(DESK, examples=EXAMPLES[::-1])),
    "a clock in the first rule": request(replace(DESK, rules="现在 12:01。" + RULES)),
    "the last tool left out": request(box=BOX.subset(BOX.names[:-1])),
    "the first tool left out": request(box=BOX.subset(BOX.names[1:])),
}
request_inspector([*CHANGES.values()], family(MODEL))

# %% [markdown]
# Slide through the requests: most differ little in size. Each change on a fresh service, right after the same first request:

# %%
def cached(first, second) -> tuple[int, int]:
    """Tokens of the second request: from the cache, and in all."""
    fresh = connect("sim")
    fresh.chat.completions.create(**first)
    usage = fresh.chat.completions.create(**second).usage
    return usage.prompt_tokens_details.cached_tokens, usage.prompt_tokens


hits = {label: cached(request(), second) for label, second in CHANGES.items()}
figure, axes = canvas(7, 3, "Cached tokens of the second request")
axes.barh(list(hits), [total for _, total in hits.values()], color="#d9dee4")
axes.barh(list(hits), [kept for kept, _ in hits.values()], color=GOOD)
axes.invert_yaxis()
axes.set_xlabel("tokens: green from the cache, grey read anew")
figure

# %% [markdown]
# The service counts by the API's published rules: whole steps of 128, tools before rules, `tool_choice` outside. What
# changes early costs everything after it. That is why the state of a run stands last, and why you allow a part of the tools
# instead of sending a part.

# %%
price, costs = price_of(MODEL), []
for label in ("a clock at the end", "a clock in the first rule", "the first tool left out"):
    kept, total = hits[label]
    costs.append((kept * price.cached + (total - kept) * price.input) / 1000)
    print(f"{label:28} {costs[-1]:.3f} USD for 1,000 requests (prices of {price.date})")
assert costs == sorted(costs)

# %% [markdown]
# Nobody notices a broken prefix until the bill comes. So give it a **fingerprint**, and let a test fail when it changes
# without a new version:

# %%
versions = {"desk-1": DESK, "a blank too many": replace(DESK, rules=RULES + " ")}
print({label: context.fingerprint(BOX.chat()) for label, context in versions.items()})
show_source(Context.fingerprint)

# %% [markdown]
# A colleague's version. It tells the time, and puts those tools first that look most like the question. What does the cache
# make of two requests, a minute apart?

# %%
def build(now, text):
    likely = sorted(BOX, key=lambda tool: -len({*text} & {*tool.description}))
    messages = [system(f"现在 {now}。"), *DESK.prefix(), user(text)]
    wire = [chat.to_wire(message) for message in messages]
    return {"model": MODEL, "tools": [tool.chat() for tool in likely], "messages": wire}


print(cached(build("12:00", "帮我查订单 20002"), build("12:01", "Is it cold in London?")))

# %% [markdown] task 4.3
# **4.3 Find the bug.** Write `stable(now, text)`: a request with the same tools and the same words as `build`, of which, the
# second time, at least 1,900 tokens come from the cache.
#
# <details><summary>Hint 1</summary>Two things change without need: one in the first message, one in the list of tools.</details>
# <details><summary>Hint 2</summary>Tools in one order, whichever it is; and the time behind everything that never changes.</details>
# <details><summary>Hint 3</summary>DESK.messages([user(text)], state=now) and BOX.chat().</details>

# %% exercise 4.3
def stable(now: str, text: str) -> dict:
    ### BEGIN SOLUTION
    messages = DESK.messages([user(text)], state=f"现在 {now}。")
    wire = [chat.to_wire(message) for message in messages]
    return {"model": MODEL, "tools": BOX.chat(), "messages": wire}
    ### END SOLUTION


# %% check 4.3
with check("4.3", stable):
    first, second = stable("12:00", "帮我查订单 20002"), stable("12:01", "Is it cold in London?")
    assert isinstance(second, dict) and {*second} >= {"messages", "tools"}, "a request: model, tools, messages"
    assert all(isinstance(one, dict) for one in second["messages"]), "dicts travel: chat.to_wire(message)"
    text = "\n".join(message.get("content") or "" for message in second["messages"])
    assert "12:01" in text, "the model must still know what time it is"
    assert RULES in text and EXAMPLES[0].asked in text, "rules and examples are part of the prompt"
    names = {tool["function"]["name"] for tool in second["tools"]}
    assert names == {*BOX.names}, "all the tools are still offered"
    kept, total = cached(first, second)
    assert kept >= 1900, f"only {kept} of {total} tokens came from the cache"

# %% wrong 4.3 the clock still first
def stable(now, text):
    wire = [chat.to_wire(m) for m in [system(f"现在 {now}。"), *DESK.prefix(), user(text)]]
    return {"model": MODEL, "tools": BOX.chat(), "messages": wire}


# %% wrong 4.3 tools in a new order
def stable(now, text):
    tools = BOX.chat()[::-1] if now > "12:00" else BOX.chat()
    wire = [chat.to_wire(m) for m in DESK.messages([user(text)], now)]
    return {"model": MODEL, "tools": tools, "messages": wire}


# %% wrong 4.3 no clock at all
def stable(now, text):
    return {"model": MODEL, "tools": BOX.chat(), "messages": [chat.to_wire(m) for m in DESK.messages([user(text)])]}


# %% wrong 4.3 the examples dropped
def stable(now, text):
    messages = [chat.to_wire(m) for m in (system(RULES), user(text), system(now))]
    return {"model": MODEL, "tools": BOX.chat(), "messages": messages}


# %% right 4.3 the clock in the user's message
def stable(now, text):
    wire = [chat.to_wire(message) for message in (*DESK.prefix(), user(f"{text}\n({now})"))]
    return dict(model=MODEL, messages=wire, tools=sorted(BOX.chat(), key=lambda t: t["function"]["name"]))


# %% [markdown]
# ## 4.6 History is cut between units
#
# The dynamic layers grow, and one day you cut. A window of the last messages looks harmless:

# %%
CALL = ToolCall("c1", "get_order", '{"order_id":"10001"}')
HISTORY = [system("s"), user("查订单 10001"), assistant(calls=[CALL]), tool("c1", "{}")]
HISTORY += [assistant("已发货"), user("谢谢")]
naive = [HISTORY[0], *HISTORY[-3:]]
try:
    decide(naive, BOX.chat())
except openai.BadRequestError as error:
    print([message.role for message in naive], error.body["message"], sep="\n")

# %% [markdown]
# The call fell out of the window, and its result is an orphan. A call and its results are one unit: both stay, or both go.

# %%
for limit in (6, 5, 4, 3):
    print(limit, [message.role for message in trim(HISTORY, limit)])
    decide(trim(HISTORY, limit), BOX.chat())
assert trim(HISTORY, 4)[0] == HISTORY[0] and trim(HISTORY, 4)[-1] == HISTORY[-1]

# %% [markdown]
# The rules and the last request always stay, and `size=` takes a token counter instead of a count of messages.
#
# ## 4.7 With a real model
#
# With `LABKIT_CLIENT` set: the three stages of 4.3, each sentence once, 48 requests.

# %%
if os.environ.get("LABKIT_CLIENT", "sim") not in ("sim", "script", "replay"):
    client = connect()  # from here on, `decide` asks your model
    MODEL = model_for(client, sampling=True)
    print({label: accuracy(confusion(texts(*parts), n=1)) for label, parts in STAGES.items()})

# %% [markdown]
# ## What stays
#
# Each layer has one job, and what never changes stands first. An example is a conversation that the API would accept. A
# description says what, when, and when not; the negative sentence belongs into the greedy tool. A change early in the prefix
# costs everything after it.
#
# - Which sentence of your own prompt belongs to another layer?
# - When is a block of examples better than a chain, although it shows less?
# - Your new tool takes its neighbour's calls. In which of the two descriptions do you write?
# - Why may `tool_choice` change in every request, and the list of tools not?
# - Where would you put today's date, and why not where everybody puts it?
# - What would break if you cut the middle out of a long chain, instead of its beginning?
#
# Next: [5. Say exactly what a tool takes](05_strict_schemas.ipynb)
