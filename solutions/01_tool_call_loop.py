# %% [markdown]
# # 1. Close the tool-call loop
#
# You will be able to
# - carry out a tool call in three steps, and say why leaving out the third one breaks everything,
# - read the API's error for each broken link of a chain, and name the link,
# - write the loop: parallel calls, several rounds, and an end that is certain.
#
# Before this: [0. Start here](00_start_here.ipynb) · 45 minutes · network: none · sources: S2 §1–2, §4.1; S1 §4.1, L8, L15, L16
#
# ```mermaid
# sequenceDiagram
#     participant U as your user
#     participant C as your code
#     participant M as the model
#     U->>C: 上海今天需要带伞吗？
#     C->>M: 1 · question + tools
#     M-->>C: "call get_weather, city 上海"
#     Note over C: 2 · run the function
#     C->>M: 3 · question + that call + its result
#     M-->>C: the answer, from the result
#     C-->>U: 带伞吧
# ```

# %%
import json
import os
from contextlib import nullcontext

import httpx2
import openai

from labkit.classroom.check import check
from labkit.classroom.show import show_source
from labkit.connect import behind, connect, model_for, sent
from labkit.protocol import messages
from labkit.service.brains.scripted import call, looping, script
from labkit.service.decide import Decision
from labkit.service.server import serving

client = connect()
MODEL = model_for(client)

# %% [markdown]
# ## 1.1 The model has no hands
# <!-- covers: B1 -->
#
# Predict: the model is asked whether Shanghai needs an umbrella today. What can it know?

# %%
UMBRELLA = [{"role": "user", "content": "上海今天需要带伞吗？"}]
print(client.chat.completions.create(model=MODEL, messages=UMBRELLA).choices[0].message.content)

# %% [markdown]
# A model only writes text. It can't send an HTTP request or query a database. Your code can:

# %%
WEATHER = {"上海": {"sky": "小雨", "celsius": 21}, "北京": {"sky": "晴", "celsius": 18}}


def get_weather(city: str) -> dict:
    return WEATHER.get(city, {"error": f"no weather for {city}"})


def code_decides(question: str):
    return get_weather("上海") if "天气" in question else None


print(code_decides("上海天气怎么样？"), code_decides("上海今天需要带伞吗？"))

# %% [markdown]
# Here *code calls the API*, and the programmer has decided beforehand which words mean weather. The umbrella is not
# among them. With a **tool** it is the other way round: the model reads what the tool is for, and decides. The tool
# is a contract: a name, a description that says when to use it, and a JSON Schema for the arguments.
# <!-- covers: B2.1 -->

# %%
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "查询指定城市的当前天气。用户问天气、是否带伞、体感温度时使用。 "
            "Current weather of a city: use it for weather, umbrella, temperature.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "城市名 city name, e.g. 上海"}},
                "required": ["city"],
            },
        },
    }
]

# %% [markdown]
# The same question, and this time the tool goes with it.

# %%
first = client.chat.completions.create(model=MODEL, messages=UMBRELLA, tools=TOOLS).choices[0]
print(first.model_dump_json(indent=1, include={"finish_reason": True, "message": {"content", "tool_calls"}}))
assert first.message.tool_calls[0].function.name == "get_weather"

# %% [markdown]
# No weather and no answer: a request to *you*, with an id. The model still has no hands. It has asked for yours.

# %% [markdown]
# ## 1.2 Three steps make one answer
# <!-- covers: B2.2 L16 L8 -->
#
# Step one is done: question and tools went out, a **tool call** came back. Step two: run it. What is the
# type of `arguments`?

# %%
wanted = first.message.tool_calls[0]
try:
    wanted.function.arguments["city"]
except TypeError as error:
    print(type(wanted.function.arguments).__name__, "-", error)
FUNCTIONS = {"get_weather": get_weather}
arguments = json.loads(wanted.function.arguments)
result = FUNCTIONS[wanted.function.name](**arguments)
print(arguments, "->", result)

# %% [markdown]
# `arguments` is a JSON *string*, because the model writes text, token by token. It may even be broken JSON: that is
# notebook 5. We parsed it, then called.
#
# Step three, the one that gets forgotten: hand the result back. The model remembers nothing, so each request carries
# the whole **chain**: the question, the assistant message as it came, and one `tool` message per call, tied to it by
# `tool_call_id`. Its content is a string.

# %%
chain = [
    *UMBRELLA,
    first.message,
    {"role": "tool", "tool_call_id": wanted.id, "content": json.dumps(result, ensure_ascii=False)},
]
final = client.chat.completions.create(model=MODEL, messages=chain, tools=TOOLS)
print(final.choices[0].message.content)

# %% [markdown]
# Now the answer rests on 小雨 and 21. What did the SDK make of our message object? Read what really went out.

# %%
on_the_wire = sent(client)[-1].body
for message in on_the_wire["messages"]:
    print(json.dumps(message, ensure_ascii=False)[:260])
assert [message["role"] for message in on_the_wire["messages"]] == ["user", "assistant", "tool"]
assert on_the_wire["messages"][1]["tool_calls"][0]["id"] == on_the_wire["messages"][2]["tool_call_id"]

# %% [markdown] task 1.1
# **1.1 Do steps two and three.** Write `tool_message(wanted)`: it runs the function that a tool call asks for (look it
# up in `FUNCTIONS`) and returns the `tool` message that answers it.
#
# <details><summary>Hint 1</summary>Three keys: role, tool_call_id, content.</details>
# <details><summary>Hint 2</summary>wanted.function.arguments is a string, and content must be one again.</details>
# <details><summary>Hint 3</summary>FUNCTIONS[wanted.function.name](**json.loads(wanted.function.arguments)), then json.dumps(..., ensure_ascii=False).</details>

# %% exercise 1.1
def tool_message(wanted) -> dict:
    ### BEGIN SOLUTION
    result = FUNCTIONS[wanted.function.name](**json.loads(wanted.function.arguments))
    return {"role": "tool", "tool_call_id": wanted.id, "content": json.dumps(result, ensure_ascii=False)}
    ### END SOLUTION


# %% check 1.1
with check("1.1", tool_message):
    other = wanted.model_copy(deep=True)
    other.id, other.function.arguments = "call_other", '{"city": "北京"}'
    for one, city in ((wanted, "上海"), (other, "北京")):
        try:
            made = tool_message(one)
        except TypeError as error:
            raise AssertionError(f"arguments is a JSON string: parse it, pass it with ** ({error})") from None
        assert isinstance(made, dict) and made.get("role") == "tool", "a message in the role tool is wanted"
        assert made.get("tool_call_id") == one.id, "the model finds its call by tool_call_id: give it the id of the call"
        assert isinstance(made.get("content"), str), "content is a string: a dict is refused by the API"
        assert made["content"].startswith("{") and '"' in made["content"], "write JSON, not Python's repr"
        assert WEATHER[city]["sky"] in made["content"], f"{made['content']}: escaped, or of another city?"
        assert json.loads(made["content"]) == WEATHER[city], f"for {city}, the content should say {WEATHER[city]}"

# %% wrong 1.1 the result as a dict
def tool_message(wanted):
    result = FUNCTIONS[wanted.function.name](**json.loads(wanted.function.arguments))
    return {"role": "tool", "tool_call_id": wanted.id, "content": result}


# %% wrong 1.1 arguments taken for an object
def tool_message(wanted):
    result = FUNCTIONS[wanted.function.name](**wanted.function.arguments)
    return {"role": "tool", "tool_call_id": wanted.id, "content": json.dumps(result, ensure_ascii=False)}


# %% wrong 1.1 a Python repr
def tool_message(wanted):
    result = FUNCTIONS[wanted.function.name](**json.loads(wanted.function.arguments))
    return {"role": "tool", "tool_call_id": wanted.id, "content": str(result)}


# %% wrong 1.1 tied by name, as the old function role was
def tool_message(wanted):
    result = FUNCTIONS[wanted.function.name](**json.loads(wanted.function.arguments))
    return {"role": "tool", "name": wanted.function.name, "content": json.dumps(result, ensure_ascii=False)}


# %% wrong 1.1 escaped Chinese
def tool_message(wanted):
    result = FUNCTIONS[wanted.function.name](**json.loads(wanted.function.arguments))
    return {"role": "tool", "tool_call_id": wanted.id, "content": json.dumps(result)}


# %% wrong 1.1 the result of this one call, written down
def tool_message(wanted):
    return {"role": "tool", "tool_call_id": wanted.id, "content": json.dumps(result, ensure_ascii=False)}


# %% right 1.1 a lambda per part
def tool_message(wanted):
    run = FUNCTIONS.get(wanted.function.name)
    parsed = json.JSONDecoder().decode(wanted.function.arguments)
    return dict(content=json.JSONEncoder(ensure_ascii=False).encode(run(parsed["city"])), role="tool", tool_call_id=wanted.id)


# %% [markdown]
# ## 1.3 Each broken link fails in its own way
# <!-- covers: B4.1 -->
#
# We break the chain one link at a time. `verdict` sends it to the model, and says what the API says. The two calls
# come from a script, so that they are always the same two.

# %%
def verdict(*links) -> str:
    try:
        client.chat.completions.create(model=MODEL, messages=links, tools=TOOLS)
    except openai.BadRequestError as error:
        return f"{error.status_code} at {error.param}, code {error.code}\n    {error.body['message']}"
    return "accepted"


QUESTION = {"role": "user", "content": "北京和上海今天天气怎么样？"}
planner = connect("script", script([call("get_weather", city="北京"), call("get_weather", city="上海")]))
planned = planner.chat.completions.create(model="gpt-5.4-mini", messages=[QUESTION], tools=TOOLS)
ASKED = planned.choices[0].message
ONE, TWO = ASKED.tool_calls
SUN = {"role": "tool", "tool_call_id": ONE.id, "content": "晴"}
RAIN = {"role": "tool", "tool_call_id": TWO.id, "content": "小雨"}
print(verdict(QUESTION, ASKED, SUN, RAIN))

# %% [markdown]
# Two calls in one message are **parallel calls**. With both of them answered, the chain is accepted. Now forget
# step three: the function ran, its result was printed, and it never went back. The user asks again.

# %%
print(verdict(QUESTION, ASKED, {"role": "user", "content": "然后呢？ And?"}))

# %% [markdown]
# A call without its result is refused, and the error names the ids. Some programs then drop the assistant message as
# well, and the error is gone. What does the model say now? Ours is *scripted* to do what models are known for: it fills
# the gap.

# %%
dreamer = connect("script", script("上海今天晴，25 度，不用带伞。"))
invented = dreamer.chat.completions.create(model="gpt-5.4-mini", messages=UMBRELLA)
print(invented.choices[0].message.content, "| the truth:", get_weather("上海"))

# %% [markdown]
# No error, and a confident lie. That is the worst way to fail: nothing turns red. The other way round, the result is
# there and the assistant message is not, or the id is not the one that was asked:

# %%
print(verdict(QUESTION, SUN))
print(verdict(QUESTION, ASKED, {**SUN, "tool_call_id": "call_42"}, RAIN))

# %% [markdown]
# Note `preceeding`: the message is spelt as the API spells it, so that a search for it finds the threads. Next: one of
# two parallel results, then a result that was never turned into a string.

# %%
print(verdict(QUESTION, ASKED, SUN))
print(verdict(QUESTION, ASKED, {**SUN, "content": {"sky": "晴"}}, RAIN))

# %% [markdown]
# Look at `param`. `messages[2].content` comes from the check of *shapes*, and has a code. `messages.[2].role`, with a
# dot, comes from the check of the *conversation*, and has none. And text beside a call, as in the second
# article's warning?

# %%
both = {"role": "assistant", "content": "我查一下。", "tool_calls": ASKED.model_dump()["tool_calls"]}
print(verdict(QUESTION, both, SUN, RAIN))

# %% [markdown]
# OpenAI takes it; the article saw a platform that does not. The safe way is to replay the message as it came, and to
# invent nothing. One more, and it is the nastiest: both ids are right, but they have changed places.

# %%
def by_id(ask):
    """A scripted model that trusts the ids, as the contract says."""
    results = {message.call_id: message.content for message in ask.messages if message.role == "tool"}
    cities = ((json.loads(one.arguments)["city"], results[one.id]) for one in ask.messages[1].calls)
    return Decision(text="；".join(f"{city}{sky}" for city, sky in cities))


swapped = [{**SUN, "tool_call_id": TWO.id}, {**RAIN, "tool_call_id": ONE.id}]
for results in ([SUN, RAIN], swapped):
    reader, links = connect("script", by_id), [QUESTION, ASKED, *results]
    said = reader.chat.completions.create(model="gpt-5.4-mini", messages=links, tools=TOOLS)
    print(said.choices[0].message.content)
assert verdict(QUESTION, ASKED, *swapped) == "accepted"

# %% [markdown]
# Accepted, and the weather of two cities is exchanged. The id is the only link between a call and its result: take it
# from the call, never from a counter.
#
# A demo with one city hides the next bug. It is in many tutorials.

# %%
def demo_reply(message, run):
    first_call = message.tool_calls[0]
    return [message, {"role": "tool", "tool_call_id": first_call.id, "content": run(first_call)}]


print(verdict(QUESTION, *demo_reply(ASKED, lambda one: "晴")))

# %% [markdown] task 1.2
# **1.2 Find the bug.** Write `reply_to(message, run)`, a `demo_reply` that the API accepts with two cities, and with
# ten. `run(call)` gives the content for one call.
#
# <details><summary>Hint 1</summary>Which id does the error name, and which call is that?</details>
# <details><summary>Hint 2</summary>An assistant message may hold many calls. It goes into the chain once.</details>
# <details><summary>Hint 3</summary>[message, then one tool message for each call in message.tool_calls].</details>

# %% exercise 1.2
def reply_to(message, run) -> list:
    ### BEGIN SOLUTION
    chain = [message]
    for one in message.tool_calls:
        chain.append({"role": "tool", "tool_call_id": one.id, "content": run(one)})
    return chain
    ### END SOLUTION


# %% check 1.2
with check("1.2", reply_to):
    ran = []

    def run(one):
        assert one in ASKED.tool_calls, "run takes a call, whole: not its id, not its arguments"
        ran.append(one.id)
        return f"for {one.id}"

    added = reply_to(ASKED, run)
    said = verdict(QUESTION, *added)
    assert said == "accepted", f"the API says: {said}"
    assert ran == [ONE.id, TWO.id], f"each call runs once, in order; there were {len(ran)} runs"
    paired = {result["tool_call_id"]: result["content"] for result in added[1:]}
    assert paired == {id: f"for {id}" for id in ran}, "a result is tied to the id of another call"

# %% wrong 1.2 the last call only
def reply_to(message, run):
    last = message.tool_calls[-1]
    return [message, {"role": "tool", "tool_call_id": last.id, "content": run(last)}]


# %% wrong 1.2 all results in one message
def reply_to(message, run):
    text = "; ".join(run(one) for one in message.tool_calls)
    return [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": text}]


# %% wrong 1.2 the same id for all
def reply_to(message, run):
    id = message.tool_calls[0].id
    return [message, *({"role": "tool", "tool_call_id": id, "content": run(one)} for one in message.tool_calls)]


# %% wrong 1.2 the assistant message before each result
def reply_to(message, run):
    chain = []
    for one in message.tool_calls:
        chain += [message, {"role": "tool", "tool_call_id": one.id, "content": run(one)}]
    return chain


# %% wrong 1.2 run gets the id
def reply_to(message, run):
    ids = [one.id for one in message.tool_calls]
    return [message, *({"role": "tool", "tool_call_id": id, "content": run(id)} for id in ids)]


# %% wrong 1.2 results tied in the wrong order
def reply_to(message, run):
    texts = [run(one) for one in message.tool_calls][::-1]
    ids = [one.id for one in message.tool_calls]
    return [message, *({"role": "tool", "tool_call_id": i, "content": t} for i, t in zip(ids, texts, strict=True))]


# %% right 1.2 a loop, and the message as a dict
def reply_to(message, run):
    chain = [message.model_dump(exclude_none=True)]
    for one in chain[0]["tool_calls"]:
        text = run(next(c for c in message.tool_calls if c.id == one["id"]))
        chain.append(dict(role="tool", tool_call_id=one["id"], content=text))
    return chain


# %% [markdown] task 1.3
# **1.3 Break it.** You have seen five refusals. There is one more for ids: find `links` (after `QUESTION`) for which
# the API speaks of a *Duplicate value*.
#
# <details><summary>Hint 1</summary>Not a wrong id and not a missing one. What else can be wrong with two results?</details>
# <details><summary>Hint 2</summary>A retry that appends its result a second time makes this chain.</details>
# <details><summary>Hint 3</summary>ASKED, both results, and one of them again.</details>

# %% exercise 1.3
### BEGIN SOLUTION
# blank: links = ...  # your turn
links = [ASKED, SUN, RAIN, SUN]
### END SOLUTION

# %% check 1.3
with check("1.3", links):
    said = verdict(QUESTION, *links)
    assert said != "accepted", "the API accepts this chain: two answers to one call are needed"
    assert "Duplicate value" in said, f"refused, but for another reason: {said}"

# %% wrong 1.3 an unknown id
links = [ASKED, SUN, {**RAIN, "tool_call_id": "call_42"}]

# %% wrong 1.3 a missing result
links = [ASKED, SUN]

# %% wrong 1.3 nothing wrong at all
links = [ASKED, RAIN, SUN]

# %% right 1.3 one id in both results
links = [ASKED, SUN, {**RAIN, "tool_call_id": ONE.id}]

# %% [markdown]
# ## 1.4 Underneath it is one POST
# <!-- covers: L15 -->
#
# The SDK adds comfort, no magic. In a terminal, `uv run labkit serve` puts the same service on a port of your machine,
# and any client can talk to it:
#
# ```bash
# curl http://127.0.0.1:8765/v1/chat/completions \
#   -H "Content-Type: application/json" -H "Authorization: Bearer sk-any" \
#   -d '{"model": "gpt-5.4-mini", "messages": [{"role": "user", "content": "hi"}]}'
# ```
#
# This is what the SDK sent for step three, whole, as any HTTP client would send it:

# %%
raw = json.dumps(on_the_wire, ensure_ascii=False, indent=1)
print("POST /v1/chat/completions HTTP/1.1\nAuthorization: Bearer $KEY\nContent-Type: application/json\n")
print(raw)

# %% [markdown]
# We put the service behind `client` on a real socket and send the same bytes without the SDK.

# %%
offline = behind(client).service
with serving(offline) if offline else nullcontext(str(client.base_url).rstrip("/")) as url:
    answer = httpx2.post(
        f"{url}/chat/completions",
        content=json.dumps(on_the_wire).encode(),
        headers={"Authorization": f"Bearer {client.api_key}", "Content-Type": "application/json"},
        timeout=60,
    )
print(answer.status_code, answer.headers["content-type"])
print(answer.json()["choices"][0]["message"]["content"])
assert answer.json()["object"] == "chat.completion"

# %% [markdown]
# ## 1.5 A loop needs an end
#
# A model may call again after it has seen a result, and again. So steps one to three stand in a loop, and the loop
# needs two ends: no more calls, or too many rounds. Look at `tool_calls`, not at `finish_reason`: with a forced function
# gpt-4o and gpt-4o-mini were recorded to say `stop`, and to call all the same.

# %%
forced = {"type": "function", "function": {"name": "get_weather"}}
older = connect("sim").chat.completions
reply = older.create(model="gpt-4o-mini", messages=UMBRELLA, tools=TOOLS, tool_choice=forced)
named = reply.choices[0]
print(named.finish_reason, "with", len(named.message.tool_calls), "call")
assert named.message.tool_calls

# %% [markdown] task 1.4
# **1.4 Build the loop.** `answer(client, question, max_rounds=5)` asks with `TOOLS`, answers every call with your
# `tool_message` or `reply_to`, and returns the model's text. After `max_rounds` requests without a text it returns `None`.
#
# <details><summary>Hint 1</summary>One list, chain, that only grows. One request a round.</details>
# <details><summary>Hint 2</summary>for _ in range(max_rounds): ask; no calls? return the content; else append.</details>
# <details><summary>Hint 3</summary>chain += [message, *results], where each result carries the id of its call.</details>

# %% exercise 1.4
def answer(client, question: str, max_rounds: int = 5):
    ### BEGIN SOLUTION
    chain = [{"role": "user", "content": question}]
    for _ in range(max_rounds):
        reply = client.chat.completions.create(model="gpt-5.4-mini", messages=chain, tools=TOOLS)
        message = reply.choices[0].message
        if not message.tool_calls:
            return message.content
        chain.append(message)
        for one in message.tool_calls:
            content = json.dumps(get_weather(**json.loads(one.function.arguments)), ensure_ascii=False)
            chain.append({"role": "tool", "tool_call_id": one.id, "content": content})
    ### END SOLUTION


# %% check 1.4
with check("1.4", answer):
    sky = [call("get_weather", city=city) for city in ("北京", "上海")]
    early = Decision(calls=(sky[0],), finish="stop")
    for steps in (["好"], [sky[0], "好"], [sky, "好"], [sky[0], sky[1], "好"], [early, "好"]):
        told = connect("script", script(*steps), max_retries=0)
        try:
            heard = answer(told, "天气？")
        except openai.OpenAIError as error:
            raise AssertionError(f"{len(steps)} rounds: {error}") from None
        stopped = " (it said stop, and called)" if early in steps else ""
        assert heard == "好", f"request {len(steps)} gets 好; you returned {heard!r}{stopped}"
        chains = [one.body["messages"] for one in sent(told)]
        grown = all(new[: len(old)] == old for old, new in zip(chains, chains[1:]))
        assert grown, "a round lost a part of the chain: it only ever grows"
    endless = connect("script", looping)
    last = answer(endless, "上海 weather?", 3)
    assert last is None, "this model calls for ever: after max_rounds return None"
    assert len(sent(endless)) == 3, f"max_rounds=3, and {len(sent(endless))} requests were sent"

# %% wrong 1.4 two rounds, no loop
def answer(client, question, max_rounds=5):
    chain = [{"role": "user", "content": question}]
    message = client.chat.completions.create(model="gpt-5.4-mini", messages=chain, tools=TOOLS).choices[0].message
    if message.tool_calls:
        chain += reply_to(message, lambda one: tool_message(one)["content"])
        message = client.chat.completions.create(model="gpt-5.4-mini", messages=chain, tools=TOOLS).choices[0].message
    return message.content


# %% wrong 1.4 forgets the assistant message
def answer(client, question, max_rounds=5):
    chain = [{"role": "user", "content": question}]
    for _ in range(max_rounds):
        message = client.chat.completions.create(model="gpt-5.4-mini", messages=chain, tools=TOOLS).choices[0].message
        if not message.tool_calls:
            return message.content
        chain += [tool_message(one) for one in message.tool_calls]


# %% wrong 1.4 believes finish_reason
def answer(client, question, max_rounds=5):
    chain = [{"role": "user", "content": question}]
    for _ in range(max_rounds):
        choice = client.chat.completions.create(model="gpt-5.4-mini", messages=chain, tools=TOOLS).choices[0]
        if choice.finish_reason == "stop":
            return choice.message.content
        chain += [choice.message, *(tool_message(one) for one in choice.message.tool_calls)]


# %% wrong 1.4 no end
def answer(client, question, max_rounds=5):
    chain = [{"role": "user", "content": question}]
    for _ in range(50):
        message = client.chat.completions.create(model="gpt-5.4-mini", messages=chain, tools=TOOLS).choices[0].message
        if not message.tool_calls:
            return message.content
        chain += [message, *(tool_message(one) for one in message.tool_calls)]


# %% wrong 1.4 the answer of the tool instead of the model's
def answer(client, question, max_rounds=5):
    chain = [{"role": "user", "content": question}]
    message = client.chat.completions.create(model="gpt-5.4-mini", messages=chain, tools=TOOLS).choices[0].message
    return tool_message(message.tool_calls[0])["content"] if message.tool_calls else message.content


# %% wrong 1.4 each round starts again from the question
def answer(client, question, max_rounds=5):
    chain = [{"role": "user", "content": question}]
    for _ in range(max_rounds):
        message = client.chat.completions.create(model="gpt-5.4-mini", messages=chain, tools=TOOLS).choices[0].message
        if not message.tool_calls:
            return message.content
        chain = [chain[0], message, *(tool_message(one) for one in message.tool_calls)]


# %% right 1.4 by recursion
def answer(client, question, max_rounds=5):
    def go(chain, left):
        if not left:
            return None
        message = client.chat.completions.create(model="gpt-5.4-mini", messages=chain, tools=TOOLS).choices[0].message
        if not message.tool_calls:
            return message.content
        results = [
            {"role": "tool", "tool_call_id": c.id, "content": json.dumps(get_weather(**json.loads(c.function.arguments)))}
            for c in message.tool_calls
        ]
        return go([*chain, message.model_dump(exclude_none=True), *results], left - 1)

    return go([dict(role="user", content=question)], max_rounds)


# %% [markdown]
# ## 1.6 The rules of a chain are code
#
# The API finds a broken chain after a round trip. labkit's `check_chain` finds it before, by the same two rules: every
# call answered once, no result without its call.

# %%
show_source(messages.check_chain)

# %% [markdown]
# Does it agree with the API on the chains that we broke?

# %%
def as_messages(*links):
    """The same chain as labkit's own values."""
    calls = [messages.ToolCall(c.id, c.function.name, c.function.arguments) for c in (ONE, TWO)]
    for link in links:
        if link is ASKED:
            yield messages.assistant(calls=calls)
        else:
            yield messages.Message(link["role"], link["content"], call_id=link.get("tool_call_id", ""))


rows = [[ASKED, SUN, RAIN], [ASKED, *swapped], [ASKED, SUN], [SUN], [ASKED, SUN, RAIN, SUN]]
for row in rows:
    api_accepts, labkit_says = verdict(QUESTION, *row) == "accepted", "accepted"
    try:
        messages.check_chain(list(as_messages(QUESTION, *row)))
    except messages.BadChain as error:
        labkit_says = str(error)
    print(f"API accepts: {api_accepts!s:5} labkit: {labkit_says}")
    assert api_accepts == (labkit_says == "accepted")

# %% [markdown]
# The second line is the exchanged weather: no rule of form can find it. What is well formed may still be wrong. That
# sentence comes back in every notebook.

# %% [markdown]
# ## 1.7 With a real model
#
# With `LABKIT_CLIENT` set, everything above went to that API. This cell asks it for one thing more: an answer in words.

# %%
if os.environ.get("LABKIT_CLIENT", "sim") not in ("sim", "script", "replay"):
    told = client.chat.completions.create(model=MODEL, messages=[QUESTION, ASKED, SUN, RAIN], tools=TOOLS)
    print(told.choices[0].message.content)

# %% [markdown]
# ## What stays
#
# The model asks, your code acts, and the result goes back. The assistant message is replayed as it came, each call gets
# one `tool` message with its id, and content is a string. A link that is missing gives a 400 that names it. A link that
# is there but wrong gives a fluent lie. Loops end by a rule, not by hope.
#
# - Why does the API want the assistant message again, when it wrote it itself a second ago?
# - Which of the mistakes in 1.3 would your monitoring notice, and which only your customers?
# - A function raised an exception. What goes into its `tool` message, and why must there be one?
# - Two calls in one message: when may you run them at the same time?
# - Why is `max_rounds` not enough to make a loop that refunds money safe?
# - What is in `sent(client)` after a loop of three rounds, and what do you pay for it?
#
# Next: [2. Find out why the model ignores your tool](02_the_model_ignores_my_tool.ipynb)
