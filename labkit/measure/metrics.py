"""One run against one case: what it did right; and the metrics of both articles over many (S1 §5.3, S2 §6.3).

Each metric is a fraction whose numerator and denominator are written down; what is not countable in a run
(no call was made, so no arguments) is left out of the denominator.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from labkit.measure.cases import Case
from labkit.measure.match import Made, match_calls
from labkit.measure.stats import Scores
from labkit.protocol.arguments import read_json
from labkit.runtime import State
from labkit.shop.world import Change

DECLINES = re.compile(
    r"不能|无法|不可以|权限|不支持|办不到|抱歉|can ?not|can't|unable|not able|not allowed|sorry|permission",
    re.IGNORECASE,
)
ASKS = re.compile(r"[?？]\s*$|请提供|请告诉|哪一?[个笔张]|which |please (?:give|tell|provide)", re.IGNORECASE)
FIGURE = re.compile(r"[A-Z]{1,5}-?\d[\d-]*|\d+(?:[.:-]\d+)*")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Grade:
    """Counts of one run; a pair is (right, of how many)."""

    action: str
    selected: bool
    arguments: tuple[int, int]
    valid: tuple[int, int]
    business: tuple[int, int]
    complete: bool
    faithful: tuple[int, int]
    harm: int
    success: bool


def grade(case: Case, state: State, changes: Iterable[Change]) -> Grade:
    """Compare what a run did with what its case expects; never raises for what a model did.

    Success is the business goal: the right action, exactly the expected calls, exactly the expected rows
    changed, and in the answer what had to be in it.
    """
    seen = state.observations
    made = [Made(item.tool_name, _arguments(item.call.arguments)) for item in seen]
    denied = [item for item in seen if item.error and item.error.kind == "permission_denied"]
    invalid = [item for item in seen if item.error and item.error.who == "model"]
    refused = [item for item in seen if item.error and item.error.kind == "business_rule"]
    good = [one for one, item in zip(made, seen, strict=True) if item not in invalid]
    match = match_calls(good, case.calls, ordered=case.ordered)
    touched = Counter(change.table for change in changes if change.table != "operations")
    action = action_of(state, bool(denied))
    rows_right = touched == Counter(case.changes)
    said = all(_plain(text) in _plain(state.answer) for text in case.grounded)
    return Grade(
        action=action,
        selected={one.name for one in made} == {call.name for call in case.calls},
        arguments=(len(match.pairs), len(case.calls)),
        valid=(len(seen) - len(invalid), len(seen)),
        business=(len(good) - len(refused), len(good)),
        complete=bool(state.answer) and (not case.calls or bool(seen)),
        faithful=faithfulness(state),
        harm=sum((touched - Counter(case.changes)).values()),
        success=action == case.action and match.exact and rows_right and said,
    )


def action_of(state: State, denied: bool) -> str:
    """call, deny, clarify, refuse or answer; without calls the wording of the answer decides.

    A question at the end, or a request to provide something, clarifies; words of not being able refuse.
    """
    if state.observations or denied:
        return "deny" if denied else "call"
    if ASKS.search(state.answer.strip()):
        return "clarify"
    return "refuse" if DECLINES.search(state.answer) else "answer" if state.answer else ""


def faithfulness(state: State) -> tuple[int, int]:
    """How many figures and numbers of the answer stand in a tool result or in the user's words, of how many.

    A rule that can be checked, and no judge of meaning: it sees an invented price, not a twisted sentence.
    """
    source = " ".join(message.content for message in state.chain if message.role in ("tool", "user"))
    known = {_number(figure) for figure in FIGURE.findall(_plain(source))}
    claimed = [_number(figure) for figure in FIGURE.findall(_plain(state.answer))]
    return sum(figure in known for figure in claimed), len(claimed)


@dataclass(frozen=True, slots=True)
class Metric:
    """A fraction over rows: `count` gives (numerator, denominator) of one row; `better` says which way."""

    words: str
    count: Callable[[Row], tuple[float, float]]
    better: str = "higher"


def _flag(name: str) -> Callable[[Row], tuple[float, float]]:
    return lambda row: (float(row["grade"][name]), 1.0)


def _pair(name: str) -> Callable[[Row], tuple[float, float]]:
    return lambda row: tuple(map(float, row["grade"][name]))


def _sum(*names: str) -> Callable[[Row], tuple[float, float]]:
    return lambda row: (float(sum(row["trace"][name] for name in names)), 1.0)


def _cached(row: Row) -> tuple[float, float]:
    spent = row["trace"]
    return float(spent.get("cached_tokens", 0)), float(spent["input_tokens"])


METRICS = {
    "selection": Metric("runs whose called tools are the expected ones / runs", _flag("selected")),
    "arguments": Metric("expected calls made with accepted arguments / expected calls", _pair("arguments")),
    "schema_valid": Metric("calls that pass their schema / calls made", _pair("valid")),
    "business_valid": Metric("valid calls that no business rule refused / valid calls", _pair("business")),
    "retry": Metric("corrections and tool retries / runs", _sum("retry_count"), "lower"),
    "task_success": Metric("runs that reach the goal of their case / runs", _flag("success")),
    "latency": Metric("seconds of a run, model and tools / runs", _sum("seconds"), "lower"),
    "tokens": Metric("input and output tokens / runs", _sum("input_tokens", "output_tokens"), "lower"),
    "completion": Metric("runs that go from call to result to answer / runs", _flag("complete")),
    "faithfulness": Metric("numbers of answers that a result or the user gave / all", _pair("faithful")),
    "cached": Metric("input tokens read from the cache / input tokens", _cached),
}
"""The eight of S1 §5.3, the two that S2 §6.3 adds to them, and the cache hits of S1 §5.4."""


def scores(rows: Iterable[Row], metric: str) -> Scores:
    """The scores of each case, one a repeat, ready for `stats`; rows of grader errors are not scores."""
    result: dict[str, list[float]] = {}
    for row in rows:
        if not row.get("grader_error"):
            top, bottom = METRICS[metric].count(row)
            if bottom:
                result.setdefault(row["case"], []).append(top / bottom)
    return result


def confusion(rows: Iterable[Row]) -> Counter[tuple[str, str]]:
    """(expected first tool, called first tool) over runs; "none" where there is none."""
    return Counter(
        (row["expected"], (row["called"] or ["none"])[0]) for row in rows if not row.get("grader_error")
    )


def _arguments(text: str) -> dict[str, Any] | None:
    value = read_json(text or "{}")
    return value if isinstance(value, dict) else None


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _number(figure: str) -> str:
    try:
        return str(float(figure))
    except ValueError:
        return figure
