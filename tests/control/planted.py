"""Requests whose tool is ignored for a reason that we put there: 200 faults, a third of them two at once."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from labkit.protocol.tools import Toolbox
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

ASKED = {
    "get_weather": ["上海今天需要带伞吗？", "Do I need an umbrella in London today?", "杭州出门要不要带伞？"],
    "refund_order": ["订单 10001 我要退款", "I want my money back for 10002", "10003 这单请退款"],
    "get_order": ["订单 10001 到哪了？", "When does order 10002 come?", "Where is order 10003?"],
    "get_calendar_events": ["2026-03-05 有什么会议？", "Which appointments do I have on 2026-03-06?"],
    "search_product": ["有没有蓝牙耳机？", "Do you have a bluetooth speaker in stock?"],
    "get_ticket": ["看一下工单 T-1001", "Sum up ticket T-1002 for me"],
}
NEUTRAL = ["你是客服助手。", "You are a support assistant.", "回答要简短。Answer briefly.", ""]
VAGUE = ["", "获取数据", "Helper function.", "Gets data.", "一个内部接口", "TODO"]
COLD = [
    "你是一个友善的助手，如果不知道答案请如实告知用户。",
    "If you do not know the answer, say so.",
    "不要编造信息，不知道就说不知道。",
    "You are careful. Never make things up, admit when you are unsure.",
    "在获得足够信息后再回答问题。",
    "Please answer only once you have enough information.",
    "If you don't know something, just tell the user honestly.",
    "你只能调用 create_ticket。",
    "Do not call TARGET.",
]
Fault = Callable[[dict[str, Any], str, random.Random], None]


def toolbox() -> Toolbox:
    return shop_tools(Shop())


def healthy(rng: random.Random, toolbox: Toolbox) -> tuple[dict[str, Any], str]:
    target = rng.choice(list(ASKED))
    rules = rng.choice(NEUTRAL)
    messages = [{"role": "system", "content": rules}] * bool(rules)
    messages.append({"role": "user", "content": rng.choice(ASKED[target])})
    body = {"model": "gpt-4.1-mini", "messages": messages, "tools": toolbox.chat(), "temperature": 0.2}
    if rng.random() < 0.5:
        body["tool_choice"] = "auto"
    return body, target


def drop_tools(body: dict[str, Any], target: str, rng: random.Random) -> None:
    kind = rng.randrange(3)
    body["tools"] = [tool for tool in body["tools"] if kind == 2 and tool["function"]["name"] != target]
    if kind == 0:
        del body["tools"]
    if not body.get("tools"):
        body.pop("tool_choice", None)


def blur_description(body: dict[str, Any], target: str, rng: random.Random) -> None:
    """The name is made as vague as the text, or it would still say everything."""
    tool = next(tool["function"] for tool in body["tools"] if tool["function"]["name"] == target)
    tool["description"] = rng.choice(VAGUE)
    for part in tool["parameters"]["properties"].values():
        part.pop("description", None)
    tool["name"] = f"call_{list(ASKED).index(target)}"


def heat(body: dict[str, Any], target: str, rng: random.Random) -> None:
    body["temperature"] = rng.choice([0.9, 1.0, 1.2, 1.5, 2.0])


def cool_rules(body: dict[str, Any], target: str, rng: random.Random) -> None:
    said = rng.choice(COLD).replace("TARGET", target)
    if body["messages"][0]["role"] == "system":
        body["messages"][0]["content"] += said
    else:
        body["messages"].insert(0, {"role": "system", "content": said})


def forbid(body: dict[str, Any], target: str, rng: random.Random) -> None:
    other = {"type": "function", "function": {"name": "list_tickets"}}
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [other]}}
    body["tool_choice"] = rng.choice(["none", other, allowed])


def break_chain(body: dict[str, Any], target: str, rng: random.Random) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "list_tickets", "arguments": "{}"}}
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "call_1", "content": "[]"}
    broken = [
        [asked],
        [answer],
        [asked, answer | {"tool_call_id": "call_9"}],
        [asked, answer | {"content": {}}],
    ]
    body["messages"][-1:-1] = [{"role": "user", "content": "hi"}, *rng.choice(broken)]


FAULTS: dict[str, Fault] = {
    "tools": drop_tools,
    "description": blur_description,
    "sampling": heat,
    "system prompt": cool_rules,
    "choice": forbid,
    "chain": break_chain,
}
HIDDEN = {"tools": {"description", "sampling", "system prompt", "choice"}}


def planted(number: int, seed: int = 0) -> Iterator[tuple[dict[str, Any], str, set[str]]]:
    """Bodies, the tool that was expected, and the layers that we broke."""
    rng, tools = random.Random(seed), toolbox()
    for index in range(number):
        body, target = healthy(rng, tools)
        layers = [list(FAULTS)[index % len(FAULTS)]]
        others = [layer for layer in FAULTS if layer not in {*layers, *HIDDEN.get(layers[0], ())}]
        if index % 3 == 2 and layers[0] != "description":
            layers.append(rng.choice([layer for layer in others if layer not in ("tools", "description")]))
        for layer in layers:
            FAULTS[layer](body, target, rng)
        names = [tool["function"]["name"] for tool in body.get("tools") or ()]
        blurred = next((name for name in names if name.startswith("call_")), target)
        yield body, blurred, set(layers)
