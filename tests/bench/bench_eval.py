"""Target 4: what an eval costs a sample, beside a bare SDK loop and, where installed, pydantic-evals.

CPU time of one process, all sides in turns, in one run: python -m tests.bench.bench_eval [rounds]
"""

import asyncio
import gc
import json
import logging
import resource
import sys
import tempfile
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from pydantic import TypeAdapter

from labkit.connect import connect
from labkit.execution.executor import Executor
from labkit.execution.permission import Allow
from labkit.measure.cases import Case
from labkit.measure.metrics import Grade, grade
from labkit.measure.quick import quick, straight
from labkit.measure.runner import Desk, aevaluate, desk_unit, evaluate, graded
from labkit.measure.trace import plain, record, watch
from labkit.runtime import Agent, arun, run
from labkit.service.brains.scripted import call
from labkit.service.decide import Decision
from labkit.service.transport import Transport
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

QUESTION, MODEL, BATCH = "帮我查订单 10001", "gpt-4.1-mini", 20
GRADE = TypeAdapter(Grade)
TOOLS = shop_tools(Shop()).subset(["get_order", "get_weather"])


def answering(ask):
    """One call, then an answer, whoever asks."""
    if ask.messages[-1].role == "tool":
        return Decision(text="订单 10001 已发货。")
    return Decision(calls=(call("get_order", order_id="10001"),))


def cases(number):
    calls = [{"name": "get_order", "arguments": {"order_id": ["10001"]}}]
    about = {"kind": "happy", "language": "zh", "input": QUESTION, "action": "call", "calls": calls}
    return [Case(id=f"c{n}", **about) for n in range(number)]


def bare(client):
    """The loop as a tutorial has it: two create(), one tool, one comparison."""
    messages = [{"role": "user", "content": QUESTION}]
    tools = TOOLS.chat()
    message = client.chat.completions.create(model=MODEL, messages=messages, tools=tools).choices[0].message
    made = message.tool_calls[0]
    result = TOOLS[made.function.name].run(**json.loads(made.function.arguments))
    answer = {"role": "tool", "tool_call_id": made.id, "content": json.dumps(result, default=str)}
    messages += [message, answer]
    said = client.chat.completions.create(model=MODEL, messages=messages, tools=tools).choices[0].message
    return made.function.name == "get_order" and "10001" in said.content


def prepared(agent, case, repeat):
    watched, arrows = watch(agent)
    return watched, arrows, {"identity": case.identity, "run_id": f"{case.id}#{repeat}"}


def row(agent, arrows, state, case, repeat):
    about = {"case": case.id, "repeat": repeat, "trace": plain(record(agent, state, arrows))}
    return about | graded(lambda: GRADE.dump_python(grade(case, state, ())))


def harness(agent):
    """Everything that an eval does: the machine, trace, grade; without the shop of a sample."""

    def unit(case, repeat):
        watched, arrows, who = prepared(agent, case, repeat)
        return row(watched, arrows, run(watched, case.input, **who), case, repeat)

    async def aunit(case, repeat):
        watched, arrows, who = prepared(agent, case, repeat)
        return row(watched, arrows, await arun(watched, case.input, **who), case, repeat)

    return aunit if "Async" in type(agent.client).__name__ else unit


def agent(client):
    return Agent(client, MODEL, TOOLS, Executor(TOOLS), lambda request: Allow())


def cpu(work):
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


def fresh(folder=[]):  # noqa: B006
    folder.append(tempfile.TemporaryDirectory())
    return Path(folder[-1].name) / "rows.jsonl"


def memory():
    """Peak resident memory in KB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class Slow(Transport):
    """50 ms for every request, as a network has."""

    async def handle_async_request(self, request):
        await asyncio.sleep(0.05)
        return await super().handle_async_request(request)


def waiting(number):
    client = connect("script", answering, asynchronous=True, keep=1)
    client._client._transport = Slow(client._client.labkit.service)
    unit = harness(replace(agent(client), door=quick))
    began, used = time.perf_counter(), time.process_time()
    asyncio.run(aevaluate(cases(number), 1, unit, fresh(), concurrency=100))
    return time.perf_counter() - began, time.process_time() - used


def peer():
    """pydantic-evals with the same bare loop as its task."""
    from pydantic_evals import Case as PeerCase
    from pydantic_evals import Dataset

    logging.disable()
    client = connect("script", answering, keep=1)
    data = Dataset(name="bench", cases=[PeerCase(name=str(n), inputs=QUESTION) for n in range(BATCH)])
    return lambda: data.evaluate_sync(lambda question: bare(client), progress=False)


def sides():
    """Batches of samples; `a shop each` is all that `labkit eval run` does for one."""
    client, loop = connect("script", answering, keep=1), connect("script", answering, keep=1)
    doors = {"post": None, "its own HTTP": quick, "no HTTP": straight}
    units = {f"labkit, {name}": harness(replace(agent(client), door=door)) for name, door in doors.items()}
    units["labkit, a shop each"] = desk_unit(Desk("sim"))
    work = {
        name: (lambda unit=unit: evaluate(cases(BATCH), 1, unit, fresh())) for name, unit in units.items()
    }
    work = {"bare SDK loop": lambda: [bare(loop) for _ in range(BATCH)]} | work
    return work | ({"pydantic-evals": peer()} if find_spec("pydantic_evals") else {})


def main(rounds=20):
    work = sides()
    taken = {name: [] for name in work}
    for _ in range(rounds):
        for name, side in work.items():
            taken[name].append(cpu(side) / BATCH * 1e3)
    floor, least = median(taken["bare SDK loop"]), min(taken["bare SDK loop"])
    for name, some in taken.items():
        middle, best = median(some), min(some)
        said = f"{middle:6.2f} ms a sample, {middle / floor:.2f}"
        print(f"{name:20} {said}; at best {best:.2f}, {best / least:.2f}")
    wall, used = waiting(1000)
    print(f"50 ms, 100 at a time: 1,000 samples in {wall:.1f} s, ideal 1.0 s; {used:.1f} s of CPU")


def line(short=1000, long=10_000):
    """Linear in samples, and flat in memory."""
    unit = harness(replace(agent(connect("script", answering, keep=1)), door=straight))
    some = cases(short)
    first = cpu(lambda: evaluate(some, 1, unit, fresh())) / short
    before = memory()
    second = cpu(lambda: evaluate(some, long // short, unit, fresh())) / long
    print(f"{short}: {first * 1e3:.2f} ms, {long}: {second * 1e3:.2f} ms a sample, {second / first:.2f}")
    print(f"memory: +{(memory() - before) / long:.3f} KB a sample")


def flat(number=100_000):
    """The runner alone, with rows of a real size."""
    case = cases(1)[0]
    agent_ = agent(connect("script", answering, keep=1))
    example = harness(agent_)(case, 0)
    many = cases(1000)
    evaluate(many, 1, lambda case, repeat: example | {"case": case.id, "repeat": repeat}, fresh())
    before, repeats = memory(), number // 1000
    path = fresh()
    used = cpu(lambda: evaluate(many, repeats, lambda c, r: example | {"case": c.id, "repeat": r}, path))
    grown = memory() - before
    print(f"{number} samples: {used / number * 1e6:.0f} µs each, {path.stat().st_size / 1e6:.0f} MB on disk, "
          f"+{grown / number:.4f} KB of memory a sample")  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    line()
    flat()
