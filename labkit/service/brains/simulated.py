"""A simulated model that can be looked into: scores, a softmax, a seeded draw; no weights, no network.

It claims the direction of what real models were seen to do (local-model, real-models figures), never their size.
"""

import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log1p
from statistics import NormalDist
from typing import Any
from zlib import crc32

from labkit.protocol.messages import Message, ToolCall
from labkit.service.brains.filling import Filled, fill, kinds_in
from labkit.service.brains.reading import ACTIONS, Reading, kind_of, properties, read_tool, shares, terms
from labkit.service.decide import Ask, Decision, ToolSpec

WORDINGS = 30  # ways to answer in prose for each way to make one call: why heat favours prose
NO_TOOL = 4.0
_NOISE = NormalDist(0, 0.45)
_PULLS = (  # what a system prompt adds to "no tool"
    (
        "says: admit that you do not know",
        6.0,
        r"如实告知|不知道就说|不要编造|(?:do not|don't) know,? (?:the answer,? )?(?:just |please )?(?:say|tell|admit)|"
        r"admit (?:that|when|it)|(?:do not|don't|never) make (?:things|anything|it) up|be honest about what you do(?:n't| not) know",
    ),
    (
        "says: answer only with enough information",
        1.5,
        r"足够信息|enough information|无法确定|不确定时|not sure",
    ),
    (
        "says: tools first",
        -3.0,
        r"优先(?:调用|使用).{0,8}工具|必须(?:先)?(?:调用|使用).{0,4}工具|(?:always|must|prefer to|first) (?:use|call).{0,20}tool",
    ),
)
_SMALL_TALK = re.compile(
    r"^\W*(?:hi|hello|hey|thanks?(?: you)?|bye|who are you|你好|您好|谢谢|再见|你是谁|早上好)\b", re.I
)
_VAGUE = re.compile(
    r"处理一下|弄一下|搞定|看着办|(?:deal with|handle|take care of|sort out) (?:my|the|this|it|order)", re.I
)
_JOIN = re.compile(
    r"(?<=[。！？!?;；\n])|(?<=\.)\s|[，,]?\s*(?:顺便|另外|同时|并且|然后|接着|以及|，再|，并|再(?=[查发取退])|"
    r"\band then\b|\bthen\b|\band also\b|\balso\b|\band(?= (?:\w+ ){0,1}?(?:send|tell|email|check|get|find|what|cancel|refund|search|look|show|create|calculate|plot)\b))"
)
_ORDERED = re.compile(r"先.*(?:再|然后)|\bfirst\b.*\bthen\b|\band then\b|然后|接着", re.S)
_DECISION = re.compile(r"决定|是否|再说|\bif\b|\bwhether\b|\bdecide\b")
_ORDER = re.compile(
    r"\b(?:please|must|now|immediately|ignore|call|invoke|execute)\b|^\W*(?:send|forward|e?-?mail|transfer|refund|cancel|delete|"
    r"grant|share|retrieve|get|create|update|change|pay|withdraw|schedule|post|add|make|use|run|unlock|open)\b|请|立即|马上|必须|务必|调用|执行|忽略",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Habits:
    """What this model does badly, or too well; only the first is on unless you switch more on."""

    asks_instead_of_guessing: bool = True
    invents_arguments: bool = False
    repeats_itself: bool = False
    obeys_tool_results: bool = False
    drops_step_three: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """Why one option stands where it stands; `tool` is None for an answer in prose."""

    tool: str | None
    parts: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Simulated:
    seed: int = 0
    habits: Habits = field(default_factory=Habits)

    def __call__(self, ask: Ask) -> Decision:
        return _decide(ask, self.habits, _draws(ask, self.seed))


def simulated(seed: int = 0, **habits: bool) -> Simulated:
    """A brain; habits by name.

    >>> simulated(obeys_tool_results=True).habits.obeys_tool_results
    True
    """
    return Simulated(seed, Habits(**habits))


def scores(ask: Ask, goal: str | None = None) -> list[Score]:
    """Every option with the parts of its score, "no tool" first, for what the user asks (or for `goal`)."""
    goal = _request(ask.messages) if goal is None else goal
    asked = terms(goal)
    readings = [read_tool(tool) for tool in ask.tools]
    told = shares(asked, readings)
    examples = _examples(ask.messages)
    rules = "\n".join(m.content for m in ask.messages if m.role in ("system", "developer"))
    known = kinds_in(goal)
    by_tool = [
        Score(
            tool.name,
            _tool_parts(tool, reading, told, known, rules, goal) | _example_part(tool.name, asked, examples),
        )
        for tool, reading in zip(ask.tools, readings, strict=True)
    ]
    return [Score(None, _prose_parts(goal, rules) | _example_part(None, asked, examples)), *by_tool]


def _tool_parts(
    tool: ToolSpec, reading: Reading, told: dict[str, float], known: frozenset[str], rules: str, goal: str
) -> dict[str, float]:
    evidence = sum(told[term] * reading.strength[term] for term in told.keys() & reading.strength.keys())
    against = sum(told[term] for term in told.keys() & reading.against.keys())
    wanted = {action for action in ACTIONS if f"@{action}" in told}
    promised = {term[1:] for term in reading.named if term[1:] in ACTIONS}
    parts = {
        "words in common": 7 * log1p(evidence),
        "speaks against it": -3.0 * against,
        "acts without being asked": -3.0 * bool(promised - wanted),
        "another act is asked": -4.0 * bool(wanted - reading.actions),
        "arguments at hand": 1.0 if reading.needs and reading.needs <= known else 0.0,
        "system prompt": _rule_pull(tool.name, rules),
        "misreading": _NOISE.inv_cdf(
            (crc32(f"{goal}|{tool.name}|{tool.description}".encode("utf-8", "replace")) + 0.5) / 2**32
        ),
    }
    return {name: part for name, part in parts.items() if part}


def _prose_parts(goal: str, rules: str) -> dict[str, float]:
    parts = {"no tool": NO_TOOL}
    parts |= {
        f"system prompt {name}": weight for name, weight, pattern in _PULLS if re.search(pattern, rules, re.I)
    }
    parts |= {"small talk": 3.0} if _SMALL_TALK.search(goal) else {}
    return parts | ({"vague request": 4.0} if _VAGUE.search(goal) else {})


def _rule_pull(name: str, rules: str) -> float:
    only = re.findall(
        r"(?:只能|仅能|只|仅|only|nothing but)\s*(?:调用|使用|call|use)\s*(?:the )?[`'\"]?([\w-]+)",
        rules,
        re.I | re.A,
    )
    never = rf"(?:不要|禁止|不得|不能|never|do not|don't|must not)\s*(?:调用|使用|call|use)\s*(?:the )?[`'\"]?{re.escape(name)}"
    return (1.0 if name in only else -6.0 if only else 0.0) - 6.0 * bool(re.search(never, rules, re.I))


def _examples(messages: Sequence[Message]) -> list[tuple[dict[str, float], str | None]]:
    """(what was asked, which tool answered) from earlier turns, and from lines of the rules that name a tool."""
    last = max((i for i, m in enumerate(messages) if m.role == "user"), default=0)
    found, asked = [], {}
    for message in messages[:last]:
        if message.role == "user":
            asked = terms(message.content)
        elif message.role == "assistant" and asked:
            found.append((asked, message.calls[0].name if message.calls else None))
            asked = {}
        elif message.role in ("system", "developer"):
            lines = re.findall(r"^(.*?)\s*(?:->|→|=>)\s*`?([\w-]+)", message.content, re.M | re.A)
            found += [
                (terms(text), None if name in ("none", "ask", "no_tool") else name) for text, name in lines
            ]
    return found


def _example_part(tool: str | None, asked: dict[str, float], examples: list) -> dict[str, float]:
    whole = sum(asked.values()) or 1.0
    alike = [
        sum(asked[t] for t in asked.keys() & shown.keys()) / whole for shown, name in examples if name == tool
    ]
    return {"like an example": 7 * max(alike)} if alike and max(alike) > 0.2 else {}


def probabilities(ask: Ask, goal: str | None = None) -> dict[str | None, float]:
    """How likely each option is after `tool_choice`, temperature and top_p; None is an answer in prose.

    >>> ask = Ask("m", (Message("user", "Weather in Beijing?"),), (spec := (ToolSpec("get_weather"),)), spec)
    >>> round(probabilities(ask)["get_weather"], 2)
    0.94
    """
    names = {tool.name for tool in ask.callable}
    options = [s for s in scores(ask, goal) if s.tool in names or (s.tool is None and ask.mode == "auto")]
    heat = max(ask.temperature, 0.01)
    top = max(option.total for option in options)
    each = [
        (exp((option.total - top) / heat), WORDINGS if option.tool is None else 1, option.tool)
        for option in options
    ]
    kept: dict[str | None, float] = {}
    left = ask.top_p * sum(weight * ways for weight, ways, _ in each)
    for weight, ways, name in sorted(each, key=lambda entry: -entry[0]):
        if left <= 0:
            break
        used = min(ways, -(-left // weight)) if weight else ways
        kept[name] = weight * used
        left -= weight * used
    whole = sum(kept.values())
    return {option.tool: kept.get(option.tool, 0.0) / whole for option in options}


def _draws(ask: Ask, seed: int) -> random.Random:
    key = ask.seed if ask.seed is not None else f"{seed}/{ask.turn}"
    return random.Random(f"{key}/{ask.choice}/{[m.content for m in ask.messages]}")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is asked for: the words, the tool that fits best, and its arguments."""

    goal: str
    tool: str | None
    filled: Filled
    order: bool = False


def _decide(ask: Ask, habits: Habits, draws: random.Random) -> Decision:
    results = tuple(message.content for message in _this_turn(ask.messages) if message.role == "tool")
    if ask.mode == "none" or not ask.callable:
        return _prose(ask, results, habits)
    steps = _plan(ask, habits, results)
    made = sum(len(message.calls) for message in _this_turn(ask.messages))
    left = steps if habits.repeats_itself else steps[made:]
    if not left and ask.mode == "required":
        left = steps[-1:]
    calls, missing = _draw_calls(ask, left, habits, draws)
    if calls:
        alone = not ask.parallel or _ORDERED.search(_request(ask.messages))
        return Decision(calls=calls[:1] if alone else calls)
    return Decision(text=_question(ask, missing)) if missing else _prose(ask, results, habits)


def _draw_calls(
    ask: Ask, steps: list[Step], habits: Habits, draws: random.Random
) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
    tools = {tool.name: tool for tool in ask.callable}
    drawn: dict[str, str | None] = {}
    calls, missing = [], ()
    for step in steps:
        if step.goal not in drawn:
            chances = probabilities(ask, step.goal)
            drawn[step.goal] = (
                step.tool if step.order else draws.choices(list(chances), list(chances.values()))[0]
            )
        name = drawn[step.goal]
        if name is None:
            continue
        filled = step.filled if name == step.tool else _fill(tools[name], step.goal, habits, several=False)[0]
        if filled.missing and ask.mode == "auto" and habits.asks_instead_of_guessing:
            missing += filled.missing
        else:
            calls.append(ToolCall("", name, json.dumps(filled.arguments, ensure_ascii=False)))
    return tuple(calls), missing


def _plan(ask: Ask, habits: Habits, results: tuple[str, ...]) -> list[Step]:
    tools = {tool.name: tool for tool in ask.callable}
    steps = []
    for goal in _goals(ask, _request(ask.messages)):
        best = _best(ask, goal)
        filled = _fill(tools[best], goal, habits) if best else [Filled({})]
        steps += [Step(goal, best, one) for one in filled]
    steps = [step for step in steps if step.tool] or steps[:1]
    return steps + (_obeyed(ask, results) if habits.obeys_tool_results else [])


def _best(ask: Ask, goal: str) -> str | None:
    chances = probabilities(replace(ask, temperature=0.01, top_p=1.0), goal)
    return max(chances, key=chances.__getitem__)


def _fill(tool: ToolSpec, text: str, habits: Habits, several: bool = True) -> list[Filled]:
    return fill(
        tool.parameters, text, missing="invent" if habits.invents_arguments else "ask", several=several
    )


def _goals(ask: Ask, text: str) -> list[str]:
    """The request cut where it asks for another thing; a part that can't be served alone stays with its neighbour."""
    tools = {tool.name: tool for tool in ask.callable}
    goals: list[str] = []
    for part in filter(str.strip, _JOIN.split(text)):
        best = _best(replace(ask, mode="auto"), part) if goals else None
        if (
            goals
            and best
            and not _DECISION.search(part)
            and not fill(tools[best].parameters, part)[0].missing
        ):
            goals.append(part)
        elif goals:
            goals[-1] += " " + part
        else:
            goals = [part]
    return goals or [text]


def _obeyed(ask: Ask, results: tuple[str, ...]) -> list[Step]:
    """Orders found in tool results, each with the callable tool that carries it out; texts to send hold all that was read."""
    steps = []
    read = "\n".join(results)[:2000]
    for sentence in dict.fromkeys(
        part.strip() for leaf in _leaves(results) for part in re.split(r"[。！!；;\n]|\.\s", leaf)
    ):
        if not _ORDER.search(sentence):
            continue
        for goal in _goals(ask, sentence):
            named = [tool for tool in ask.callable if tool.name.lower() in goal.lower()]
            best = named[0].name if named else _best(replace(ask, mode="auto"), goal)
            tool = next((tool for tool in ask.callable if tool.name == best), None)
            if tool:
                arguments = fill(tool.parameters, goal, missing="invent", several=False)[0].arguments
                texts = {
                    k: read for k in arguments if kind_of(k, properties(tool.parameters).get(k, {})) == "text"
                }
                steps.append(Step(goal, tool.name, Filled(arguments | texts), order=True))
    return steps


def _leaves(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, dict):
            yield from _leaves(value.values())
        elif isinstance(value, list):
            yield from _leaves(value)
        elif isinstance(value, str):
            inner = _json(value)
            yield from _leaves([inner]) if isinstance(inner, dict | list) else [value]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _this_turn(messages: Sequence[Message]) -> Sequence[Message]:
    last = max((i for i, m in enumerate(messages) if m.role == "user"), default=-1)
    return messages[last + 1 :]


def _request(messages: Sequence[Message]) -> str:
    """What the user wants now; an answer to the model's question is read together with what was asked before."""
    users = [i for i, m in enumerate(messages) if m.role == "user"]
    if not users:
        return ""
    text = messages[users[-1]].content
    asked_back = (
        users[-1] > 1
        and messages[users[-1] - 1].role == "assistant"
        and "?" in messages[users[-1] - 1].content
    )
    return f"{messages[users[-2]].content} {text}" if asked_back and len(users) > 1 else text


def _prose(ask: Ask, results: tuple[str, ...], habits: Habits) -> Decision:
    chinese = _is_chinese(_request(ask.messages))
    if ask.response_format and ask.response_format.get("type") == "json_schema":
        schema = (ask.response_format.get("json_schema") or ask.response_format).get("schema") or {}
        return Decision(
            text=json.dumps(fill(schema, _request(ask.messages))[0].arguments, ensure_ascii=False)
        )
    if not results or habits.drops_step_three:
        return Decision(
            text="（模拟模型）我无法获取这方面的实时信息，只能凭常识回答。"
            if chinese
            else "(simulated) I have no live information on this and can only answer in general."
        )
    facts = "; ".join(_facts(result) for result in results)
    return Decision(
        text=f"（模拟模型）查询结果：{facts}" if chinese else f"(simulated) The tools say: {facts}"
    )


def _facts(result: str) -> str:
    value = _json(result)
    value = value.get("data", value) if isinstance(value, dict) else value
    shown = ", ".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)
    return shown[:500]


def _question(ask: Ask, missing: tuple[str, ...]) -> str:
    names = ", ".join(dict.fromkeys(missing))
    return (
        f"（模拟模型）请提供：{names}?"
        if _is_chinese(_request(ask.messages))
        else f"(simulated) Please tell me: {names}?"
    )


def _is_chinese(text: str) -> bool:
    return re.search(r"[\u4e00-\u9fff]", text) is not None
