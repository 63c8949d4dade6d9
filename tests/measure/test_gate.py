"""The gate sees what it promises to see, is silent otherwise, and says which cases decide."""

import numpy as np
import pytest

from labkit.measure.cases import golden
from labkit.measure.gate import Rule, decide, load_rules, repeats_for
from labkit.measure.metrics import confusion
from labkit.measure.runner import Desk, desk_unit
from labkit.protocol.errors import BadFile
from labkit.protocol.tools import Toolbox, make_tool
from labkit.shop.tools import shop_tools
from tests.measure.desk import made_row

SELECTION = (Rule(metric="selection", not_worse=True),)
CASES = 60


def _rows(rates, repeats, random):
    hits = random.random((repeats, len(rates))) < rates
    return [
        made_row(f"c{c}", r, called=["get_order" if hit else "get_weather"])
        for r, row in enumerate(hits)
        for c, hit in enumerate(row)
    ]


def _experiments(drop, number=200):
    """How often the gate blocks, over experiments with rates that differ from case to case."""
    random, blocked = np.random.default_rng(6), 0
    rates = random.beta(8, 1.5, CASES)
    repeats = repeats_for(SELECTION, _rows(rates, 3, random), 0.10)
    worse = np.clip(rates - drop * rates / rates.mean(), 0, 1)
    for seed in range(number):
        before, after = _rows(rates, repeats, random), _rows(worse, repeats, random)
        blocked += not decide(SELECTION, before, after, seed=seed).passed
    return blocked / number


def test_a_drop_of_ten_points_is_caught_in_95_of_100_experiments():
    """Issue 6.2, at the repeats that `repeats_for` asks for."""
    assert _experiments(drop=0.10) >= 0.95


def test_where_nothing_changed_it_blocks_in_at_most_5_of_100():
    assert _experiments(drop=0.0) <= 0.05


def test_it_names_the_cases_that_decide():
    before = [made_row(f"c{n}", r) for n in range(30) for r in range(2)]
    after = [
        made_row(f"c{n}", r, called=["get_weather" if n < 6 else "get_order"])
        for n in range(30)
        for r in range(2)
    ]
    verdict = decide(SELECTION, before, after)
    assert not verdict.passed and {case for case, _ in verdict.findings[1].deciding} == {
        f"c{n}" for n in range(6)
    }
    assert "decided by c0" in str(verdict)


def test_a_grader_error_blocks_whatever_the_numbers_say():
    rows = [made_row("a"), made_row("b")]
    verdict = decide(
        SELECTION, rows, [rows[0], rows[1] | {"grader_error": "KeyError", "grade": None}, made_row("b", 1)]
    )
    assert not verdict.passed and "1 grader errors: b" in str(verdict)


@pytest.mark.parametrize(
    ("rule", "seconds", "passed"),
    [
        (Rule(metric="latency", p=95, at_most=2.0), 1.0, True),
        (Rule(metric="latency", p=95, at_most=2.0), 3.0, False),
        (Rule(metric="latency", at_most=2.0), 3.0, True),
        (Rule(metric="task_success", at_least=0.9), 1.0, True),
    ],
)
def test_bounds_hold_for_a_mean_or_a_percentile(rule, seconds, passed):
    """Every tenth run is slow: P95 sees it, the mean does not."""
    rows = [made_row(f"c{n}", trace={"seconds": seconds if n % 10 == 0 else 0.5}) for n in range(50)]
    assert decide((rule,), rows, rows).passed is passed


def test_retries_may_not_rise():
    before = [made_row(f"c{n}") for n in range(20)]
    after = [made_row(f"c{n}", trace={"retry_count": n % 2}) for n in range(20)]
    rule = (Rule(metric="retry", not_worse=True),)
    assert not decide(rule, before, after).passed and decide(rule, after, before).passed


def test_the_shipped_rules_are_those_of_the_article():
    """covers: 5.5 AC7"""
    assert [rule.metric for rule in load_rules()] == [
        "task_success",
        "selection",
        "retry",
        "latency",
        "tokens",
    ]


@pytest.mark.parametrize(
    "text", ["", "[[rule]]\nmetric = 'speed'", "[[rule]]\nmetric='retry'\nnotworse=true", "x = ["]
)
def test_rules_that_are_none_are_refused(tmp_path, text):
    (tmp_path / "gate.toml").write_text(text, encoding="utf-8")
    with pytest.raises(BadFile, match="no list of gate rules"):
        load_rules(tmp_path / "gate.toml")


def track_parcel(order_id: str) -> dict:
    """查订单，看订单状态、物流、是否发货、送达。Check an order, its status, whether it has shipped.

    Args:
        order_id: 订单号 order number
    """
    return {"order_id": order_id, "state": "shipped"}


def with_a_new_tool(shop):
    contract = {
        "use_when": "查订单、发货了吗、到哪了 status of an order, has it shipped",
        "not_when": "天气 weather",
    }
    return Toolbox([*shop_tools(shop), make_tool(track_parcel, effect="read", **contract)])


def test_a_new_tool_that_quietly_hurts_an_old_one_is_found():
    """covers: 5.5 B6.3 -- on the real golden set, with the simulated model."""
    cases = golden()[::3]
    old, new = (
        [desk_unit(Desk("sim", tools=tools))(case, 0) for case in cases]
        for tools in (shop_tools, with_a_new_tool)
    )
    verdict = decide(SELECTION, old, new)
    assert not verdict.passed
    assert confusion(new)[("get_order", "track_parcel")] > 3
    assert {case for case, _ in verdict.findings[1].deciding} >= {
        row["case"] for row in new if row["expected"] == "get_order" and row["called"][:1] == ["track_parcel"]
    } & {row["case"] for row in old if row["grade"]["selected"]}
