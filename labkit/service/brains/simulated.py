"""A simulated model that can be looked into: scores, a softmax, a seeded draw; no weights, no network.

It is built to move in the direction in which real models were seen to move; its numbers are nobody else's.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from math import exp, log
from statistics import NormalDist
from typing import Any
from zlib import crc32

from labkit.protocol.arguments import read_json
from labkit.protocol.messages import Message, ToolCall
from labkit.service.brains.filling import fill, kinds_in
from labkit.service.brains.reading import ACTIONS, KNOWLEDGE, kind_of, properties, read_tool, terms
from labkit.service.decide import Ask, Decision, ToolSpec

WORDINGS = 30  # an answer can be worded in many ways and a call in one: why heat favours prose
NO_TOOL = 4.0
_SAYS = {name: re.compile(pattern, re.I | re.M) for name, pattern in KNOWLEDGE["request"].items()}
_PULLS = [(pull["part"], pull["weight"], re.compile(pull["phrase"], re.I)) for pull in KNOWLEDGE["pull"]]
_HEARD = ("words in common", "called by its name", "arguments at hand", "leaves something unused")
_MISREADING = NormalDist(0, 0.45)


@dataclass(frozen=True, slots=True)
class Score:
    """Why an option stands where it stands; `tool` is None for an answer in prose."""

    tool: str | None
    parts: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True)
class Simulated:
    """The brain, with its bad habits; the same seed and the same requests give the same decisions."""

    seed: int = 0
    asks_instead_of_guessing: bool = True
    invents_arguments: bool = False
    repeats_itself: bool = False
    obeys_tool_results: bool = False
    drops_step_three: bool = False

    def __call__(self, ask: Ask) -> Decision:
        key = ask.seed if ask.seed is not None else f"{self.seed}/{ask.turn}"
        said = [message.content for message in ask.messages]
        return decide(ask, self, random.Random(f"{key}/{ask.choice}/{said}"))


simulated = Simulated


def scores(ask: Ask, goal: str | None = None) -> list[Score]:
    """Every option with the parts of its score, "no tool" first, for what is asked now or for `goal`."""
    goal = request(ask.messages) if goal is None else goal
    before = ask.messages[: _last_user(ask.messages)]
    return list(_scores(goal, _rules(ask.messages), before, ask.tools))


@lru_cache(1024)
def _scores(
    goal: str, rules: str, before: tuple[Message, ...], tools: tuple[ToolSpec, ...]
) -> tuple[Score, ...]:
    asked, known, readings = terms(goal), kinds_in(goal), [read_tool(tool) for tool in tools]
    counts = Counter(term for reading in readings for term in asked.keys() & reading.strength.keys())
    told = {term: weight / (1 + 0.5 * log(counts[term] or 1)) for term, weight in asked.items()}
    wanted = {act for act in ACTIONS if f"@{act}" in asked}
    shown = _shown(before, asked)
    only, never = _SAYS["only"].findall(rules), _SAYS["never"].findall(rules)
    options = {None: _prose_parts(goal, rules) | {"like an example": 7 * shown.get(None, 0)}}
    for tool, reading in zip(tools, readings, strict=True):
        evidence = sum(told[term] * reading.strength[term] for term in told.keys() & reading.strength.keys())
        meant = any(counts[term] == 1 for term in reading.when & asked.keys())
        chance = (crc32(f"{goal}|{tool.name}|{tool.description}".encode("utf-8", "replace")) + 0.5) / 2**32
        options[tool.name] = {
            "words in common": 12.5 * evidence**2 / (evidence**2 + 0.8),
            "called by its name": 9.0 * (tool.name.lower() in goal.lower()),
            "speaks against it": -4 * sum(told[term] for term in told.keys() & reading.against.keys()),
            "acts without being asked": -3.0 * (not reading.acts <= wanted and not meant),
            "another act is asked": -4.0 * (not wanted <= reading.offers),
            "arguments at hand": (1.0 if reading.needs <= known else -2.0) if reading.needs else 0,
            "leaves something unused": -1.5 * (not {"id", "email", "city"} & known <= reading.takes),
            "like an example": 7 * shown.get(tool.name, 0),
            "rules: only": (1.0 if tool.name in only else -6.0) if only else 0,
            "rules: never": -6.0 * (tool.name in never),
            "misreading": _MISREADING.inv_cdf(chance),
        }
    return tuple(Score(tool, {part: w for part, w in parts.items() if w}) for tool, parts in options.items())


def _prose_parts(goal: str, rules: str) -> dict[str, float]:
    pulls = {part: weight for part, weight, phrase in _PULLS if phrase.search(rules)}
    talk, vague = 3.0 * bool(_SAYS["small_talk"].search(goal)), 9.0 * bool(_SAYS["vague"].search(goal))
    return {"no tool": NO_TOOL} | pulls | {"small talk": talk, "vague request": vague}


def _shown(messages: Sequence[Message], asked: dict[str, float]) -> dict[str | None, float]:
    """How much of what is asked was shown before, by the tool that answered it, in chains or in the rules."""
    shown: dict[str | None, float] = {}
    said, whole = "", sum(asked.values()) or 1
    for message in messages:
        lines = _SAYS["example"].findall(message.content) if message.role in ("system", "developer") else []
        if message.role == "assistant":
            lines, said = [(said, message.calls[0].name if message.calls else "none")], ""
        said = message.content if message.role == "user" else said
        for text, name in lines:
            alike = sum(asked[term] for term in asked.keys() & terms(text).keys()) / whole
            tool = None if name == "none" else name
            shown[tool] = max(shown.get(tool, 0.0), alike if alike > 0.2 else 0.0)
    return shown


def probabilities(ask: Ask, goal: str | None = None) -> dict[str | None, float]:
    """How likely each option is under `tool_choice`, temperature and top_p; None is an answer in prose.

    >>> weather = (ToolSpec("get_weather"),)
    >>> ask = Ask("m", (Message("user", "Weather in Beijing?"),), weather, weather, temperature=0.2)
    >>> round(probabilities(ask)["get_weather"], 2)
    1.0
    """
    options = _open(ask, goal, ask.mode)
    best = max(option.total for option in options)
    ways = {option.tool: WORDINGS if option.tool is None else 1 for option in options}
    each = {option.tool: exp((option.total - best) / max(ask.temperature, 0.01)) for option in options}
    left = max(ask.top_p, 1e-9) * sum(each[tool] * ways[tool] for tool in each)
    kept = dict.fromkeys(each, 0.0)
    for tool in sorted(filter(each.__getitem__, each), key=each.__getitem__, reverse=True):
        kept[tool] = each[tool] * max(0, min(ways[tool], -(-left // each[tool])))
        left -= kept[tool]
    return {tool: weight / sum(kept.values()) for tool, weight in kept.items()}


def _open(ask: Ask, goal: str | None, mode: str) -> list[Score]:
    names = {tool.name for tool in ask.callable} | ({None} if mode == "auto" else set())
    return [score for score in scores(ask, goal) if score.tool in names]


def _best(ask: Ask, goal: str) -> ToolSpec | None:
    name = max(_open(ask, goal, "auto"), key=lambda score: score.total).tool
    return next((tool for tool in ask.callable if tool.name == name), None)


def decide(ask: Ask, habits: Simulated, draws: random.Random) -> Decision:
    turn = ask.messages[_last_user(ask.messages) + 1 :]
    results = [message.content for message in turn if message.role == "tool"]
    calls, missing = [], []
    if ask.callable and ask.mode != "none":
        calls, missing = _wanted(ask, habits, draws)
        calls += _orders(ask, results) if habits.obeys_tool_results else []
    made = Counter(call.name for message in turn for call in message.calls)
    left = calls if habits.repeats_itself else [call for call in calls if not _take(made, call.name)]
    if left or (ask.mode == "required" and calls):
        one = not ask.parallel or _SAYS["ordered"].search(request(ask.messages))
        return Decision(calls=tuple((left or calls)[: 1 if one else None]))
    return Decision(text=_prose(ask, [] if habits.drops_step_three else results, missing))


def _take(made: Counter[str], name: str) -> bool:
    made[name] -= 1
    return made[name] >= 0


def _wanted(ask: Ask, habits: Simulated, draws: random.Random) -> tuple[list[ToolCall], list[str]]:
    """The calls that the request asks for, and the arguments that it leaves out."""
    calls, missing = [], []
    for goal in _goals(ask, request(ask.messages)):
        chances = probabilities(ask, goal)
        name = draws.choices(list(chances), list(chances.values()))[0]
        for tool in (tool for tool in ask.callable if tool.name == name):
            for filled in fill(tool.parameters, goal, invent=habits.invents_arguments):
                asks = filled.missing and ask.mode == "auto" and habits.asks_instead_of_guessing
                missing += filled.missing if asks else ()
                calls += [] if asks else [_call(tool, filled.arguments)]
    return calls, missing


def _call(tool: ToolSpec, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall("", tool.name, json.dumps(arguments, ensure_ascii=False))


def _goals(ask: Ask, text: str) -> list[str]:
    """The request, cut where it asks for something that can be served by itself; what is undecided waits."""
    goals: list[str] = []
    for part in filter(str.strip, _SAYS["join"].split(text)):
        best = _best(ask, part) if goals else None
        if not goals or (best and not fill(best.parameters, part)[0].missing):
            goals.append(part)
        elif not _SAYS["undecided"].search(part):
            goals[-1] += " " + part
    return goals or [text]


def _orders(ask: Ask, results: list[str]) -> list[ToolCall]:
    """The orders found in tool results, as calls; whatever text they want sent holds all that was read."""
    tools = {tool.name: tool for tool in ask.callable}
    orders: dict[tuple[str, str], ToolCall] = {}
    sentences = (part for text in results for part in _SAYS["sentence"].split(str(read_json(text, text))))
    for sentence in filter(_SAYS["order"].search, sentences):
        for clause in _SAYS["clause"].split(sentence):
            heard = {s.tool: sum(s.parts.get(part, 0) for part in _HEARD) for s in scores(ask, clause)}
            name = max(tools, key=heard.__getitem__)
            arguments = fill(tools[name].parameters, sentence, invent=True)[0].arguments
            kinds = {key: kind_of(key, part) for key, part in properties(tools[name].parameters).items()}
            read = {key: "\n".join(results)[:2000] for key in arguments if kinds[key] == "text"}
            if heard[name] > NO_TOOL:
                orders.setdefault((name, sentence), _call(tools[name], arguments | read))
    return list(orders.values())


def _last_user(messages: Sequence[Message]) -> int:
    return max((i for i, message in enumerate(messages) if message.role == "user"), default=-1)


def request(messages: Sequence[Message]) -> str:
    """What the user wants now, with dates where the rules say what day it is; an answer with its question."""
    last = _last_user(messages)
    text = messages[last].content if last >= 0 else ""
    if last > 0 and messages[last - 1].role == "assistant" and re.search("[?？]", messages[last - 1].content):
        text = f"{request(messages[: last - 1])} {text}"
    today = _SAYS["today"].search(_rules(messages))
    with suppress(ValueError):
        for word, days in KNOWLEDGE["days"].items() if today else ():
            text = re.sub(word, str(date.fromisoformat(today[1]) + timedelta(days)), text, flags=re.I)
    return text


def _rules(messages: Sequence[Message]) -> str:
    return "\n".join(message.content for message in messages if message.role in ("system", "developer"))


def _prose(ask: Ask, results: list[str], missing: list[str]) -> str:
    wanted, text = ask.response_format or {}, request(ask.messages)
    if wanted.get("type") == "json_schema":
        schema = (wanted.get("json_schema") or wanted).get("schema") or {}
        return json.dumps(fill(schema, text)[0].arguments, ensure_ascii=False)
    says = KNOWLEDGE["says"]["zh" if re.search("[\u4e00-\u9fff]", text) else "en"]
    if missing:
        return says["missing"].format(", ".join(dict.fromkeys(missing)))
    nothing = says[next((kind for kind in ("vague", "small_talk") if _SAYS[kind].search(text)), "nothing")]
    return says["found"].format("; ".join(map(_facts, results))) if results else nothing


def _facts(result: str) -> str:
    value = read_json(result, result)
    value = value.get("data", value) if isinstance(value, dict) else value
    return (", ".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, dict) else str(value))[:500]
