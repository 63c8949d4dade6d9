"""The BFCL and ACEBench subsets as requests, and whether a brain chose the right tools for them.

Rows whose label is wrong are left out.
Run it to print the table: python -m tests.brains.public_cases [temperature]
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from labkit.files import dataset, read_jsonl
from labkit.measure.stats import Interval, wilson
from labkit.protocol.messages import Message
from labkit.service.brains.simulated import simulated
from labkit.service.decide import Ask, Decision, ToolSpec
from tests.measure.public import excluded

TYPES = {
    "dict": "object",
    "float": "number",
    "tuple": "array",
    "int": "integer",
    "list": "array",
    "bool": "boolean",
}
SETS = ("bfcl_subset", "acebench_subset")
Chosen = tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """`right` says whether the names of the tools called, sorted, are what the data set wants."""

    id: str
    source: str
    category: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    right: Callable[[Chosen], bool]


def cases(source: str) -> Iterator[Case]:
    wrong = excluded(source)
    for row in read_jsonl(dataset(f"{source}/cases.jsonl")):
        if row["id"] in wrong:
            continue
        tools = tuple(_tool(function) for function in row["function"])
        messages, right = (
            _bfcl(row) if source == "bfcl_subset" else _acebench(row, {tool.name for tool in tools})
        )
        yield Case(row["id"], source, row["category"], messages, tools, right)


def _tool(function: dict[str, Any]) -> ToolSpec:
    parameters = function.get("parameters") or function.get("arguments") or {}
    return ToolSpec(_name(function["name"]), function.get("description", ""), _schema(parameters))


def _name(name: str) -> str:
    return re.sub(r"[^\w-]", "_", name)


def _schema(value: Any) -> Any:
    """JSON Schema's own type names; `any` has none."""
    if isinstance(value, list):
        return [_schema(item) for item in value]
    if not isinstance(value, dict):
        return value
    fixed = {key: _schema(part) for key, part in value.items()}
    if isinstance(fixed.get("type"), str):
        fixed["type"] = TYPES.get(fixed["type"], fixed["type"])
    return {key: part for key, part in fixed.items() if not (key == "type" and part == "any")}


def _bfcl(row: dict[str, Any]) -> tuple[tuple[Message, ...], Callable[[Chosen], bool]]:
    messages = tuple(Message(message["role"], message["content"]) for message in row["question"][0])
    if row["ground_truth"] is None:
        called = not row["category"].endswith("irrelevance")
        return messages, lambda chosen: bool(chosen) is called
    wanted = tuple(sorted(_name(name) for call in row["ground_truth"] for name in call))
    return messages, lambda chosen: chosen == wanted


def _acebench(row: dict[str, Any], names: set[str]) -> tuple[tuple[Message, ...], Callable[[Chosen], bool]]:
    turns = re.split(r"(?:^|\n)(user|system): ", row["question"])[1:]
    roles = {"user": "user", "system": "assistant"}
    messages = tuple(
        Message(roles[role], text.strip()) for role, text in zip(turns[::2], turns[1::2], strict=True)
    )
    truth = row["ground_truth"]
    if row["category"].startswith("special"):
        return messages, lambda chosen: not chosen
    calls = truth if isinstance(truth, list) else [truth]
    bare = (
        name if name in names else re.sub(r"_\d+$", "", name) for call in calls for name in map(_name, call)
    )
    wanted = tuple(sorted(bare))
    return messages, lambda chosen: chosen == wanted


def judge(case: Case, brain: Callable[[Ask], Decision], temperature: float = 0.0) -> bool:
    decision = brain(Ask("m", case.messages, case.tools, case.tools, temperature=temperature))
    return case.right(tuple(sorted(call.name for call in decision.calls)))


def accuracy(brain: Callable[[Ask], Decision], temperature: float = 0.0) -> dict[tuple[str, str], Interval]:
    """Right selections for each category and for each whole set, with Wilson intervals."""
    verdicts: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for source in SETS:
        for case in cases(source):
            verdict = judge(case, brain, temperature)
            verdicts[source, case.category].append(verdict)
            verdicts[source, "all"].append(verdict)
    return {key: wilson(sum(passed), len(passed)) for key, passed in sorted(verdicts.items())}


def table(temperature: float = 0.0) -> Iterator[str]:
    """The simulation, once asking for what is missing and once calling all the same; the genuine model."""
    asks = accuracy(simulated(), temperature)
    guesses = accuracy(simulated(asks_instead_of_guessing=False), temperature)
    small = genuine()
    yield f"| set | category | n | asks | calls anyway | SmolLM2, recorded | T={temperature:g}, Wilson 95%"
    for key, rate in asks.items():
        rates = " | ".join(_percent(one[key]) for one in (asks, guesses, small))
        yield f"| {' | '.join(key)} | {rate.n} | {rates} |"


def genuine() -> dict[tuple[str, str], Interval]:
    """What the small genuine model did on the same cases, as it was recorded."""
    recorded = json.loads(dataset("small_model/public_cases.json").read_text(encoding="utf-8"))
    return {(row["set"], row["category"]): wilson(row["right"], row["cases"]) for row in recorded["rows"]}


def _percent(rate: Interval) -> str:
    return f"{rate.value:4.0%} [{rate.low:.0%}, {rate.high:.0%}]"


if __name__ == "__main__":
    print("\n".join(table(float(sys.argv[1]) if len(sys.argv) > 1 else 0.0)))
