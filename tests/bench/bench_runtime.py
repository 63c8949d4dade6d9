"""What a run costs beside the bare SDK loop that a tutorial would write; CPU time, all sides in one process.

    python tests/bench/bench_runtime.py [rounds]

Targets 1 and 2 of the project: ratios of the median round, measured side by side.
"""

import json
import sys
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from statistics import median
from typing import Annotated, Any

import httpx2
import openai
from pydantic import Field

from labkit.execution.executor import Executor
from labkit.execution.permission import Allow
from labkit.protocol import chat
from labkit.protocol.messages import Message, ToolCall, assistant, tool, user
from labkit.protocol.tools import Toolbox, make_tool
from labkit.runtime import Agent, begin, run
from labkit.runtime.drive import post
from labkit.runtime.machine import compose

MODEL = "gpt-4.1-mini"


def get_weather(city: Annotated[str, Field(description="城市名称，例如 北京")]) -> dict[str, Any]:
    """查询指定城市当前天气。"""
    return {"city": city, "temperature_c": 24, "condition": "晴"}


def reply(message: dict[str, Any], finish: str) -> bytes:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "refusal": None} | message,
        "finish_reason": finish,
    }
    usage = {"prompt_tokens": 80, "completion_tokens": 17, "total_tokens": 97}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [choice],
    }
    return json.dumps(body | {"usage": usage}, ensure_ascii=False).encode()


WANTED = {"name": "get_weather", "arguments": '{"city":"北京"}'}
CALL = reply(
    {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": WANTED}]}, "tool_calls"
)
TEXT = reply({"content": "北京今天晴，24 度。"}, "stop")


def answer(request: httpx2.Request) -> httpx2.Response:
    """The cheapest service there is, so that the numbers are those of the SDK and of the loop."""
    body = TEXT if b'"role":"tool"' in request.content else CALL
    return httpx2.Response(200, content=body, headers={"content-type": "application/json"})


TOOLBOX = Toolbox([make_tool(get_weather, effect="read", use_when="询问天气", not_when="查订单")])
HTTP = httpx2.Client(transport=httpx2.MockTransport(answer))
CLIENT = openai.OpenAI(api_key="sk-none", base_url="http://bench/v1", http_client=HTTP)
TOOLS = TOOLBOX.chat()


POOL = ThreadPoolExecutor(1)


def here(arguments: dict[str, Any]) -> Any:
    return get_weather(**arguments)


def in_a_thread(arguments: dict[str, Any]) -> Any:
    """What a timeout that really returns takes: a thread that can be left behind."""
    return POOL.submit(get_weather, **arguments).result(10)


def bare(ask: Callable[[list], Any], carry_out: Callable[[dict[str, Any]], Any] = here) -> str:
    """The loop of the articles: no validation, no authorisation, no trace."""
    messages: list = [{"role": "user", "content": "北京冷吗？"}]
    while True:
        message = ask(messages)
        calls = message["tool_calls"] if isinstance(message, dict) else message.tool_calls
        if not calls:
            return message["content"] if isinstance(message, dict) else message.content
        messages.append(message if isinstance(message, dict) else message.model_dump(exclude_none=True))
        for each in calls:
            function = each["function"] if isinstance(each, dict) else each.function.to_dict()
            id = each["id"] if isinstance(each, dict) else each.id
            result = carry_out(json.loads(function["arguments"]))
            messages.append(
                {"role": "tool", "tool_call_id": id, "content": json.dumps(result, ensure_ascii=False)}
            )


def by_create(messages: list) -> Any:
    reply = CLIENT.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS, tool_choice="auto")
    return reply.choices[0].message


def by_post(messages: list) -> dict[str, Any]:
    body = {"model": MODEL, "messages": messages, "tool_choice": "auto", "tools": TOOLS}
    message = post(CLIENT, chat.PATH, body)["choices"][0]["message"]
    return message | {"tool_calls": message.get("tool_calls")}


def create_door(client: Any, path: str, body: dict[str, Any], *, stream: bool = False) -> Any:
    """`create()` itself, its reply taken as it came: typed objects would only be undone again."""
    return json.loads(client.chat.completions.with_raw_response.create(**body).text)


TRACE: deque[tuple[str, str, float]] = deque(maxlen=1000)
AGENT = Agent(
    CLIENT,
    MODEL,
    TOOLBOX,
    Executor(TOOLBOX),
    lambda request: Allow(),
    on_step=lambda before, after, seconds: TRACE.append((before.name, after.name, seconds)),
)


def chain_of(length: int) -> list[Message]:
    asked = assistant(calls=[ToolCall("c1", "get_weather", '{"city":"北京"}')])
    turn = [user("北京冷吗？"), asked, tool("c1", '{"temperature_c": 24}'), assistant("24 度。")]
    return [*(turn * (length // 4)), user("再查一次。")]


def one_turn(length: int) -> Callable[[], Any]:
    state = begin(AGENT, chain_of(length))
    return lambda: post(CLIENT, chat.PATH, compose(AGENT, state.run))


def one_create(length: int) -> Callable[[], Any]:
    messages = [chat.to_wire(message) for message in chain_of(length)]
    return lambda: by_create(messages)


def costs(sides: dict[str, Callable[[], Any]], rounds: int, inner: int) -> dict[str, float]:
    """Median CPU microseconds of each side; the sides take turns, so that a busy machine is busy for all."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        side()
    for _ in range(rounds):
        for name, side in sides.items():
            began = time.process_time()
            for _ in range(inner):
                side()
            taken[name].append((time.process_time() - began) / inner * 1e6)
    return {name: median(times) for name, times in taken.items()}


def main(rounds: int = 30) -> None:
    runs = costs(
        {
            "bare loop, create()": lambda: bare(by_create),
            "bare loop, post": lambda: bare(by_post),
            "the same, with timeout": lambda: bare(by_post, in_a_thread),
            "run": lambda: run(AGENT, "北京冷吗？"),
            "run, create() forced": lambda: run(replace(AGENT, door=create_door), "北京冷吗？"),
        },
        rounds,
        5,
    )
    for name, cost in runs.items():
        print(f"{name:24}{cost:9.0f} us a run  {cost / runs['bare loop, create()']:6.2f} x create()")
    share = runs["run"] - runs["the same, with timeout"]
    print(f"{'own share':24}{share:9.0f} us a run    (target 100; beside a loop whose tool may time out)")
    turns = costs(
        {"create() at 101": one_create(101), "turn at 101": one_turn(101), "turn at 1": one_turn(1)},
        rounds,
        3,
    )
    for name, cost in turns.items():
        print(f"{name:24}{cost:9.0f} us         {cost / turns['create() at 101']:6.3f} x create()")
    added = (turns["turn at 101"] - turns["turn at 1"]) / 100
    print(f"{'each message added':24}{added:9.1f} us         (target 10)")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
