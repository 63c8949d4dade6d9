# %% [markdown]
# # 9. Leave a trace of every run
#
# You will be able to
# - name, for every question about a run, the field that answers it, and read one run step by step,
# - ask a thousand runs which tools are mixed up, which run was slowest, and which change broke them,
# - keep traces through a crash, keep secrets out of them, and hand them to OpenTelemetry.
#
# Before this: [6. Turn errors into states](06_error_state_machine.ipynb) · 45 minutes · network: none · sources: S1 §5.3; S2 §6.1
#
# ```mermaid
# flowchart LR
#     R["a run"] -->|"every arrow of the machine"| T["one record<br/>9.2"]
#     T --> F[("runs.jsonl<br/>append-only · 9.3")]
#     F --> Q["SQL over a thousand<br/>9.4"]
#     T --> S["secrets out<br/>9.5"]
#     T --> O["OpenTelemetry spans<br/>9.6"]
# ```

# %%
import json
import os
from collections import Counter
from dataclasses import asdict, fields, replace
from importlib.util import find_spec
from math import log
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from labkit.classroom.check import check
from labkit.classroom.plots import canvas
from labkit.classroom.show import show_source
from labkit.connect import connect, model_for
from labkit.control.choice import function as forced
from labkit.execution.executor import Executor
from labkit.execution.permission import Allow
from labkit.files import append_jsonl, dataset, read_appended, read_jsonl
from labkit.measure import trace
from labkit.protocol.tools import Toolbox
from labkit.runtime import Agent, run
from labkit.service.api import VirtualClock
from labkit.service.brains.scripted import call, script
from labkit.service.brains.simulated import simulated
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

# %% [markdown]
# ## 9.1 What is printed cannot be asked
#
# Four tools, a *simulated* model, and a clock that moves only while the model thinks. How long it thinks is drawn so
# that median and P95 are those that a public leaderboard logged for gpt-4o-mini in 2024: 1.58 s and 5.74 s.

# %%
clock, draws, brain = VirtualClock(), Random(9), simulated(3)

def thinking(ask):
    clock.sleep(round(64 * draws.lognormvariate(log(1.58), log(5.74 / 1.58) / 1.645)) / 64)
    return brain(ask)

tools = shop_tools(Shop()).subset(["get_weather", "get_order", "get_ticket", "get_calendar_events"])
client = connect("script", thinking, keep=1)

# %% [markdown]
# The naive way to know what happened: a print where it happens. Two customers ask.

# %%
def agent(client=client, toolbox=tools, model="gpt-4.1-mini-2025-04-14", **more):
    settings = {"options": {"temperature": 1.0}, "clock": clock} | more
    return Agent(client, model, toolbox, Executor(toolbox, clock=clock), lambda request: Allow(), **settings)

def printing(before, after, seconds):
    for seen in after.observations[len(before.observations) :]:
        print("called", seen.tool_name, seen.status)

for sentence in ("帮我查订单 10001", "Where is order 99999?"):
    run(agent(on_step=printing), sentence)

# %% [markdown]
# One of them failed. Whose order was it, which prompt was that, what did it cost? The lines don't say, and tomorrow
# there are ten thousand of them. S1 wants more: when accuracy falls, you must know whether the prompt, the schemas, the
# model or the set of tools has changed.

# %% [markdown]
# ## 9.2 One record answers the questions
# <!-- covers: B6.1 5.3b -->
#
# A **trace** is one record a run, with a line for each step and each call in it. `traced` runs an agent and gives
# both back: how it ended, and the record.

# %%
state, record = trace.traced(agent(), "Where is order 99999?", run_id="run-0001", prompt_version="desk-v3")
for field in fields(record):
    if field.name not in ("calls", "steps"):
        print(f"{field.name:20} {getattr(record, field.name)!s:.80}")

# %% [markdown]
# These are the fields that the two articles name, and a few more. Three of them are versions: of the prompt (yours to
# write), of the model (ask for the *dated* name, then the record has it), and of the tools: a fingerprint of all that
# the model reads about them. The same model name can decide otherwise a month later (9.4 shows how often it did);
# without the version you look for the bug in your own code.
#
# The steps are the arrows of notebook 6:

# %%
for step in record.steps:
    spent = f"in {step.input_tokens:4}  out {step.output_tokens:3}"
    print(f"{step.state:12} > {step.next:11} {step.seconds:5.2f} s  {spent}")
print(*[(made.tool_name, made.arguments, made.status, made.error_type) for made in record.calls])
assert sum(step.seconds for step in record.steps) == record.seconds
assert sum(step.input_tokens for step in record.steps) == record.input_tokens
assert record.calls[0].error_type == "business_rule"

# %% [markdown]
# All the time is in `Deciding`, where the model is asked, and the failure is a business rule: no such order. Nobody
# needs to guess. How does the record come about? The machine tells an `on_step` of every arrow; the rest is sums.

# %%
show_source(trace.watch)

# %% [markdown]
# For the next task, two helpers: a scripted run, and the same tools with other descriptions.

# %%
def told(*steps, question="帮我查订单 10001", version="v1", **more):
    steps = steps or (call("get_order", order_id="10001"), "已发货。")
    return trace.traced(agent(connect("script", script(*steps)), **more), question, prompt_version=version)[1]

def reworded(toolbox):
    return Toolbox(replace(tool, use_when=f"{tool.use_when}。常用。") for tool in toolbox)

# %% [markdown] task 9.1
# **9.1 Which field shows it?** Five things change between two runs. For each of them, name the field of the record that
# shows the change, and shows it most directly. The check makes each change on purpose, and looks at your field.
#
# <details><summary>Hint 1</summary>A changed description leaves the names of the tools as they were.</details>
# <details><summary>Hint 2</summary>The fingerprint of the tools is called toolset_version.</details>
# <details><summary>Hint 3</summary>prompt_version, toolset_version, model, tool_choice, retry_count.</details>

# %% exercise 9.1
### BEGIN SOLUTION
# blank: shows = {
# blank:     "the rules were reworded": ...,
# blank:     "a description was reworded": ...,
# blank:     "another snapshot of the model": ...,
# blank:     "a call was forced": ...,
# blank:     "the model had to correct itself": ...,
# blank: }
shows = {
    "the rules were reworded": "prompt_version",
    "a description was reworded": "toolset_version",
    "another snapshot of the model": "model",
    "a call was forced": "tool_choice",
    "the model had to correct itself": "retry_count",
}
### END SOLUTION

# %% check 9.1
with check("9.1", shows):
    wrong_id = (call("get_order", order_id="?"), call("get_order", order_id="10001"), "已发货。")
    changed = {
        "the rules were reworded": told(version="v2"),
        "a description was reworded": told(toolbox=reworded(tools)),
        "another snapshot of the model": told(model="gpt-4.1-mini"),
        "a call was forced": told(choice=forced("get_order")),
        "the model had to correct itself": told(*wrong_id),
    }
    for change, after in changed.items():
        name, before = shows.get(change), told()
        assert hasattr(before, name or "?"), f"a record has no field {name!r} (for: {change})"
        assert getattr(before, name) != getattr(after, name), f"{change}, and {name} stays as it was"
        others = [kind for kind, other in changed.items() if getattr(other, name) != getattr(before, name)]
        assert others == [change], f"{name} also moves when {' or when '.join({*others} - {change})}"

# %% wrong 9.1 the names of the tools
shows = {
    "the rules were reworded": "prompt_version",
    "a description was reworded": "tools_provided",
    "another snapshot of the model": "model",
    "a call was forced": "tool_choice",
    "the model had to correct itself": "retry_count",
}

# %% wrong 9.1 a symptom instead of the cause
shows = {
    "the rules were reworded": "prompt_version",
    "a description was reworded": "input_tokens",
    "another snapshot of the model": "model",
    "a call was forced": "tool_choice",
    "the model had to correct itself": "retry_count",
}

# %% wrong 9.1 model calls say too little
shows = {
    "the rules were reworded": "outcome",
    "a description was reworded": "toolset_version",
    "another snapshot of the model": "model",
    "a call was forced": "tool_choice",
    "the model had to correct itself": "model_calls",
}

# %% wrong 9.1 a field that is not there
shows = {
    "the rules were reworded": "prompt",
    "a description was reworded": "toolset_version",
    "another snapshot of the model": "model",
    "a call was forced": "tool_choice",
    "the model had to correct itself": "retry_count",
}

# %% right 9.1 the number of model calls shows a correction too
shows = dict(
    zip(
        ["the rules were reworded", "a description was reworded", "another snapshot of the model", "a call was forced"],
        ["prompt_version", "toolset_version", "model", "tool_choice"],
    )
) | {"the model had to correct itself": "model_calls"}

# %% [markdown]
# ## 9.3 A trace outlives the crash that it should explain
#
# The naive way to keep them: one JSON file, written anew after every run. The process dies while it writes.

# %%
folder = Path(mkdtemp())
whole = json.dumps([asdict(told()) for _ in range(3)], ensure_ascii=False)
(folder / "naive.json").write_text(whole[: len(whole) * 2 // 3], encoding="utf-8")
try:
    json.loads((folder / "naive.json").read_text(encoding="utf-8"))
except ValueError as error:
    print(type(error).__name__, "- three runs were on disk, and none can be read")

# %% [markdown]
# Now one line a run, only ever appended. We tear the last line in half, as `kill -9` does.

# %%
path = folder / "runs.jsonl"
trace.append(path, [replace(told(), correlation_id=f"run-{n}") for n in range(3)])
path.write_bytes(path.read_bytes()[:-300])
print([one.correlation_id for one in trace.read(path)])
trace.append(path, [replace(told(), correlation_id="after the crash")])
print([one.correlation_id for one in trace.read(path)])
assert len(list(trace.read(path))) == 3

# %% [markdown]
# Only the torn run is lost. The reader passes over the half line and leaves the file alone; the writer *cuts it off* before
# it adds more. Without that the next record is glued to it: two are lost. And a damaged line in the middle is no crash:
# something is wrong, and it must be said.

# %% [markdown]
# A colleague reads the file with this. It passes his test with a torn file.

# %%
def careless(path):
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            pass
    return rows

# %% [markdown] task 9.2
# **9.2 Find the bug** in `careless`. Write `rows_of(path)`,
# which returns the same rows for a torn file, leaves the file as it is, and raises `ValueError` for a broken line that is
# not the last.
#
# <details><summary>Hint 1</summary>What does careless do with a broken line in the middle?</details>
# <details><summary>Hint 2</summary>A whole line ends in \n. Only what stands after the last \n is torn.</details>
# <details><summary>Hint 3</summary>text.rpartition("\n") gives what is whole and what is torn; parse every line of the first.</details>

# %% exercise 9.2
def rows_of(path):
    ### BEGIN SOLUTION
    whole, _, torn = path.read_text(encoding="utf-8").rpartition("\n")
    return [json.loads(line) for line in whole.splitlines()]
    ### END SOLUTION

# %% check 9.2
with check("9.2", rows_of):
    torn, half = folder / "torn.jsonl", '{"n": 1}\n{"n": 2}\n{"n":'
    torn.write_text(half, encoding="utf-8")
    assert rows_of(torn) == [{"n": 1}, {"n": 2}], "the two whole lines are there to be read"
    said = "who only reads must not write: one day he is given the wrong file, and cuts off its end"
    assert torn.read_text(encoding="utf-8") == half, said
    append_jsonl(torn, [{"n": 3}])
    assert rows_of(torn) == [{"n": 1}, {"n": 2}, {"n": 3}], "a row that was appended later is lost"
    torn.write_text('{"n": 1}\n{"n"\n{"n": 3}\n', encoding="utf-8")
    try:
        silent = rows_of(torn)
    except ValueError:
        silent = None
    assert silent is None, "a broken line in the middle is not a crash: raise, or a disk fault will go unseen"

# %% wrong 9.2 the colleague's
rows_of = careless

# %% wrong 9.2 mends the file while it reads
def rows_of(path):
    whole, end, torn = path.read_text(encoding="utf-8").rpartition("\n")
    path.write_text(whole + end, encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]

# %% wrong 9.2 stops at the first broken line
def rows_of(path):
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return rows

# %% wrong 9.2 drops the last line always
def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[:-1]]

# %% right 9.2 labkit's
def rows_of(path):
    try:
        return list(read_appended(path))
    except Exception as error:
        raise ValueError(str(error)) from None

# %% right 9.2 by bytes
def rows_of(path):
    data = path.read_bytes()
    return [*map(json.loads, data[: data.rfind(b"\n") + 1].splitlines())]

# %% [markdown]
# ## 9.4 A thousand runs answer what one cannot
# <!-- covers: B6.1b -->
#
# `datasets/traces` holds a thousand runs of this desk, in the order in which they ran: ten sentences, a hundred times
# each, with a label that says which tool is right. (Simulated too; its README says how.) Somewhere on the way orders
# began to go wrong, without a single error. Everybody says that nothing has changed. What would you ask first?

# %%
runs = [trace.from_json(row) for row in read_jsonl(dataset("traces/desk.jsonl.gz"))]
db = trace.database(runs)
print(len(runs), "runs:", Counter(one.outcome for one in runs))

# %% [markdown]
# Two tables, `runs` and `calls`, and SQL as you know it. S2 counts over a hundred runs which tools are mixed up:

# %%
for title, some in {"first 100": runs[:100], "last 100": runs[-100:], "all": runs}.items():
    print(f"{title:10}", trace.mixed_up(trace.database(some)))
assert ("get_order", "track_parcel") in [row[:2] for row in trace.mixed_up(trace.database(runs[-100:]))]

# %% [markdown]
# Lately orders are looked up with a tool that nobody has mentioned. Since when, and what else is new since then? Group by
# the versions.

# %%
VERSIONS = """SELECT toolset_version, model, prompt_version, min(correlation_id) AS first, count(*) FROM runs
              GROUP BY 1, 2, 3 ORDER BY first"""
for row in db.execute(VERSIONS):
    print(row)
halves = {row[0]: [one for one in runs if one.toolset_version == row[0]] for row in db.execute(VERSIONS)}
print("new:", {*runs[-1].tools_provided} - {*runs[0].tools_provided})
assert list(halves)[0] == tools.fingerprint

# %% [markdown]
# Model and prompt are the same; at run 500 a tool for parcels came. Whoever added it will have tried it with sentences
# about parcels. The same counts as a picture, before and after:

# %%
NAMES = ["get_weather", "get_order", "get_ticket", "get_calendar_events", "track_parcel", "none"]
SHORT = ["weather", "order", "ticket", "calendar", "parcel", "none"]
figure, axes = canvas(8, 3)
axes.remove()
for place, (version, some) in enumerate(halves.items(), 1):
    pairs = Counter((one.expected, *(one.tool_names or ("none",))[:1]) for one in some)
    table = [[pairs[want, got] for got in NAMES] for want in NAMES[:4]]
    axes = figure.add_subplot(1, 2, place, title=f"tools {version}", xlabel="called")
    axes.imshow(table, cmap="Blues", vmax=150, aspect="auto")
    axes.set_xticks(range(6), SHORT, rotation=30)
    axes.set_yticks(range(4), SHORT[:4])
    for y, row in enumerate(table):
        for x, count in enumerate(row):
            axes.text(x, y, count or "", ha="center", va="center", color="white" if count > 80 else "black")
figure.axes[0].set_ylabel("expected")
figure

# %% [markdown]
# `get_order` has lost what `track_parcel` took, and nobody saw an error: both calls succeed.

# %% [markdown] task 9.3
# **9.3 The share of each version.** Write `QUERY`: for every `toolset_version` the share of its runs whose *first* call
# (position 0) is not the expected tool, the worst version first. A run that called nothing was wrong too.
#
# <details><summary>Hint 1</summary>A run without calls has no row in calls: which join keeps it?</details>
# <details><summary>Hint 2</summary>LEFT JOIN calls ON the id matches AND position = 0. In SQLite, avg() of a comparison is a share.</details>
# <details><summary>Hint 3</summary>avg(coalesce(tool_name, 'none') != expected), GROUP BY toolset_version, ORDER BY 2 DESC.</details>

# %% exercise 9.3
### BEGIN SOLUTION
# blank: QUERY = ...  # your turn
QUERY = """
    SELECT toolset_version, avg(coalesce(tool_name, 'none') != expected) AS wrong
    FROM runs LEFT JOIN calls ON calls.correlation_id = runs.correlation_id AND position = 0
    GROUP BY toolset_version ORDER BY wrong DESC
"""
### END SOLUTION

# %% check 9.3
with check("9.3", QUERY):
    found = [(row[0], round(row[1], 3)) for row in db.execute(QUERY)]
    first = lambda one: (one.tool_names or ("none",))[0]
    truth = {name: sum(first(one) != one.expected for one in some) / 500 for name, some in halves.items()}
    assert len(found) == 2, f"one row for each of the two versions; there are {len(found)}"
    for name, share in found:
        said = f"{name}: {share}, by hand {truth.get(name, 0):.3f}; is silence counted as wrong, and the first call only?"
        assert share == round(truth.get(name, 0), 3), said
    assert found[0][1] >= found[1][1], "the worst version comes first"

# %% wrong 9.3 an inner join forgets the silent runs
QUERY = """SELECT toolset_version, avg(tool_name != expected) AS wrong FROM runs
           JOIN calls ON calls.correlation_id = runs.correlation_id AND position = 0 GROUP BY 1 ORDER BY 2 DESC"""

# %% wrong 9.3 a comparison with NULL is NULL
QUERY = """SELECT toolset_version, avg(tool_name != expected) AS wrong FROM runs
           LEFT JOIN calls ON calls.correlation_id = runs.correlation_id AND position = 0 GROUP BY 1 ORDER BY 2 DESC"""

# %% wrong 9.3 a number instead of a share
QUERY = """SELECT toolset_version, sum(coalesce(tool_name, 'none') != expected) FROM runs
           LEFT JOIN calls ON calls.correlation_id = runs.correlation_id AND position = 0 GROUP BY 1 ORDER BY 2 DESC"""

# %% wrong 9.3 the best first
QUERY = """SELECT toolset_version, avg(coalesce(tool_name, 'none') != expected) FROM runs
           LEFT JOIN calls ON calls.correlation_id = runs.correlation_id AND position = 0 GROUP BY 1 ORDER BY 2"""

# %% right 9.3 with a subquery
QUERY = """SELECT version, 1.0 * sum(wrong) / count(*) FROM (
             SELECT toolset_version AS version, CASE WHEN expected = ifnull((SELECT tool_name FROM calls c
               WHERE c.correlation_id = runs.correlation_id AND position = 0), 'none') THEN 0 ELSE 1 END AS wrong
             FROM runs) GROUP BY version ORDER BY 2 DESC"""

# %% [markdown]
# Slowest and dearest are one query each. Look at the times as a whole, too: the mean says little about what a tenth of
# the customers saw.

# %%
print(trace.worst(db, "seconds", 2), trace.worst(db, "usd", 1), sep="\n")
seconds = sorted(one.seconds for one in runs)
print(f"mean {sum(seconds) / 1000:.1f} s, P50 {seconds[500]:.1f} s, P95 {seconds[950]:.1f} s")
assert seconds[950] > 1.8 * sum(seconds) / 1000

# %% [markdown]
# Real services are like that. Logged in 2024, load and retries included (so don't compare the providers by it); and what
# became of the same questions, to the same model names, between two dates:

# %%
published = json.loads(dataset("published/decisions.json").read_text(encoding="utf-8"))
print(published["between_two_dates_of_2024"])
for row in published["rows"]:
    if row.get("p95_s"):
        print("{model:28} mean {mean_s:5.2f}  P50 {p50_s:5.2f}  P95 {p95_s:5.2f}".format(**row))

# %% [markdown]
# ## 9.5 A log is read by more people than the data
#
# Prompts and results hold what customers said, and sometimes a key. Naive logging writes it all down.

# %%
leaky = "我的邮箱 lina@example.com，password=hunter2，密钥 sk-proj-abcdefgh12345678，查订单 10001"
_, kept = trace.traced(agent(), leaky)
_, silent = trace.traced(agent(), leaky, content=False)
print(kept.user_message)
print(repr(silent.user_message), [made.tool_name for made in silent.calls], silent.input_tokens)
assert "hunter2" not in kept.user_message and "sk-proj-abc" not in kept.user_message

# %% [markdown]
# Keys and passwords are masked by pattern, which is a net with holes: the e-mail address went through. `content=False`
# writes no words at all, and still answers what 9.4 asked. Decide which of the two your data protection officer
# has to read.

# %% [markdown] task 9.4
# **9.4 Take the words out later.** Somebody has recorded everything. Write `wordless(record)`: a copy without anything
# that a person or a tool has said, that can still be asked which tool was called, how it ended and what it cost.
#
# <details><summary>Hint 1</summary>Two texts are in the run, two more in each call.</details>
# <details><summary>Hint 2</summary>dataclasses.replace makes the copy; calls is a tuple of values that replace works on too.</details>
# <details><summary>Hint 3</summary>user_message, final_answer; arguments, result_preview.</details>

# %% exercise 9.4
def wordless(record):
    ### BEGIN SOLUTION
    calls = tuple(replace(made, arguments="", result_preview="") for made in record.calls)
    return replace(record, user_message="", final_answer="", calls=calls)
    ### END SOLUTION

# %% check 9.4
with check("9.4", wordless):
    full = told(call("get_order", order_id="10001"), "订单 10001 由 SF123 运送。")
    bare = wordless(full)
    assert isinstance(bare, trace.RunRecord), f"a RunRecord, so that it can be stored; not a {type(bare).__name__}"
    text = json.dumps(asdict(bare), ensure_ascii=False)
    left = [word for word in ("10001", "SF123", "查订单") if word in text]
    assert not left, f"still in the record: {', '.join(left)}"
    assert [made.tool_name for made in bare.calls] == ["get_order"], "the name of the tool is no secret: keep it"
    assert (bare.input_tokens, bare.usd) == (full.input_tokens, full.usd), "what it cost can stay"
    assert "10001" in full.user_message, "the record that came in has changed: make a copy"

# %% wrong 9.4 the calls keep their arguments
def wordless(record):
    return replace(record, user_message="", final_answer="")

# %% wrong 9.4 the calls are gone
def wordless(record):
    return replace(record, user_message="", final_answer="", calls=())

# %% wrong 9.4 results stay
def wordless(record):
    calls = tuple(replace(made, arguments="") for made in record.calls)
    return replace(record, user_message="", final_answer="", calls=calls)

# %% wrong 9.4 a dict instead of a record
def wordless(record):
    return {name: value for name, value in asdict(record).items() if name not in ("user_message", "final_answer")}

# %% right 9.4 by way of a dict
def wordless(record):
    row = asdict(record) | {"user_message": "", "final_answer": ""}
    row["calls"] = [{**made, "arguments": "", "result_preview": ""} for made in row["calls"]]
    return trace.from_json(row)

# %% [markdown]
# ## 9.6 The same record in your own tools
#
# Your company has a place for traces already. OpenTelemetry carries them there, and it has names for what models
# do: the semantic conventions for generative AI. With the extra `labkit[otel]`, `export` makes spans of records.

# %%
if find_spec("opentelemetry.sdk"):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from labkit.measure import otel

    memory, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    otel.export([record], provider.get_tracer("labkit"), begin=1_788_000_000)
    spans = sorted(memory.get_finished_spans(), key=lambda span: (span.start_time, span.parent is not None))
    for span in spans:
        print("   " * bool(span.parent), span.name, f"{(span.end_time - span.start_time) / 1e9:.2f} s")
    assert spans[0].attributes["gen_ai.usage.input_tokens"] == record.input_tokens

# %% [markdown]
# One span over the run, one for each time the model was asked, one for each tool. For a collector, replace the memory by
# `OTLPSpanExporter` and its address. The words of customers are not in the attributes of the run.
#
# At a terminal the questions of 9.4 are `labkit trace summary datasets/traces/desk.jsonl.gz`, `mixed` and `worst --by usd`.

# %% [markdown]
# ## 9.7 With a real model
#
# One real run, one real record. With `LABKIT_CLIENT` set, this costs about a thousand tokens.

# %%
if os.environ.get("LABKIT_CLIENT", "sim") not in ("sim", "script", "replay"):
    real = connect()
    bare = Agent(real, model_for(real), tools, Executor(tools), lambda request: Allow())
    _, one = trace.traced(bare, "帮我查订单 10001")
    print(one.model, one.tool_names, one.input_tokens, f"{one.seconds:.1f} s", one.final_answer)

# %% [markdown]
# ## What stays
#
# A run leaves one record: who, which versions, what was called, what it cost, how it ended. Records go to the end of a
# file, one line each, so that a crash costs one of them. A thousand of them show what no single run can show, and the
# version in them says which change to undo. What people said is left out unless somebody has decided otherwise.
#
# - Which of your services would show that a tool's description was changed last Tuesday?
# - Why is the id of the run not the id of the customer?
# - Two runs are the same but for their latency. Which steps do you look at first?
# - What is lost when only failed runs are recorded?
# - The masked text still holds an e-mail address. Which layer should have kept it out?
# - How would you find runs in which a tool was tried three times and then succeeded?
#
# Next: [10. Measure before you believe](10_evals.ipynb)
