"""Every metric against an example worked out by hand; faithfulness and actions by their rules."""

import pytest

from labkit.measure.cases import Case
from labkit.measure.metrics import METRICS, action_of, confusion, grade, scores
from labkit.measure.runner import desk_unit
from labkit.measure.stats import cluster_interval
from labkit.protocol.messages import Message
from labkit.runtime.states import Done, Run
from labkit.service.brains.scripted import call
from tests.measure.desk import made_row, scripted_build

NOTHING = {"arguments": [0, 0], "valid": [0, 0], "business": [0, 0], "complete": False}
WRONG = {"success": False, "business": [1, 2], "faithful": [0, 0]}
SLOW = {"retry_count": 2, "seconds": 3.0, "cached_tokens": 50}
ROWS = [
    made_row("a", 0, grade={"arguments": [1, 2], "valid": [3, 4], "faithful": [2, 4]}),
    made_row("a", 1, called=["get_weather"], grade=WRONG),
    made_row("b", 0, called=[], expected="none", grade=NOTHING | {"selected": True}),
    made_row("b", 1, called=["refund_order"], expected="none", trace=SLOW),
]


@pytest.mark.parametrize(
    ("metric", "by_hand"),
    [
        ("selection", {"a": [1, 0], "b": [1, 0]}),
        ("arguments", {"a": [0.5, 1], "b": [1]}),
        ("schema_valid", {"a": [0.75, 1], "b": [1]}),
        ("business_valid", {"a": [1, 0.5], "b": [1]}),
        ("retry", {"a": [0, 0], "b": [0, 2]}),
        ("task_success", {"a": [1, 0], "b": [1, 1]}),
        ("latency", {"a": [1, 1], "b": [1, 3]}),
        ("tokens", {"a": [110, 110], "b": [110, 110]}),
        ("completion", {"a": [1, 1], "b": [0, 1]}),
        ("faithfulness", {"a": [0.5], "b": [1, 1]}),
        ("cached", {"a": [0, 0], "b": [0, 0.5]}),
    ],
)
def test_metrics_are_what_a_hand_computes(metric, by_hand):
    """covers: T5.3 B6.3a B6.3b B6.3c B6.3d"""
    assert scores(ROWS, metric) == by_hand


def test_all_metrics_say_what_is_counted_over_what():
    assert len(METRICS) == 11 and all(" / " in metric.words for metric in METRICS.values())


def test_the_mean_of_case_means_is_the_rate():
    assert cluster_interval(scores(ROWS, "task_success")).value == 0.75


def test_confusion_counts_the_first_tool_against_the_label():
    found = confusion(ROWS)
    assert found[("get_order", "get_weather")] == 1 and found[("none", "none")] == 1


def _ended(answer, *contents):
    tools = tuple(Message("tool", content) for content in contents)
    return Done(Run("r", (Message("user", "订单 10001？"), *tools)), answer)


@pytest.mark.parametrize(
    ("answer", "counted"),
    [
        ("订单 10001 共 256.00 元。", [2, 2]),
        ("订单 10001 共 256 元。", [2, 2]),
        ("订单 10001 共 265 元。", [1, 2]),
        ("已发货。", [0, 0]),
        ("运单 SF123，２５６ 元", [2, 2]),
        ("运单 SF999", [0, 1]),
    ],
)
def test_faithfulness_counts_figures_that_a_result_or_the_user_gave(answer, counted):
    state = _ended(answer, '{"amount": "256.00", "tracking": "SF123"}')
    case = Case(id="x", kind="happy", language="zh", input="订单 10001？", action="answer")
    assert list(grade(case, state, ()).faithful) == counted


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("请问是哪个订单？", "clarify"),
        ("Which order do you mean?", "clarify"),
        ("抱歉，我不能退款。", "refuse"),
        ("You're welcome.", "answer"),
        ("", ""),
    ],
)
def test_without_calls_the_wording_decides_the_action(answer, action):
    assert action_of(_ended(answer), denied=False) == action


def _run(case, *steps):
    return desk_unit(scripted_build(lambda case: steps))(case, 0)["grade"]


WEATHER = Case(
    id="w", kind="happy", language="zh", input="北京天气？", action="call",
    calls=[{"name": "get_weather", "arguments": {"city": ["北京", "Beijing"]}}], answer="晴",
)  # fmt: skip


def test_valid_and_wrong_costs_arguments_not_selection():
    """The case of real-models.md: a value that fits the schema and is not the one that was asked for."""
    found = _run(WEATHER, call("get_weather", city="上海"), "上海有雨")
    assert (found["selected"], found["valid"], found["arguments"], found["success"]) == (
        True,
        (1, 1),
        (0, 1),
        False,
    )


def test_a_call_too_many_fails_the_task_and_its_rows_are_counted_as_harm():
    found = _run(
        WEATHER, [call("get_weather", city="北京"), call("refund_order", order_id="10001", reason="x")], "好"
    )
    assert not found["success"] and not found["selected"] and found["harm"] >= 1


def test_an_answer_without_its_tool_is_not_complete():
    assert _run(WEATHER, "北京今天晴。")["complete"] is False


def test_right_calls_without_the_rows_that_were_to_change_are_no_success():
    steps = call("get_weather", city="北京"), "晴"
    assert _run(WEATHER, *steps)["success"]
    assert not _run(WEATHER.model_copy(update={"changes": {"mail": 1}}), *steps)["success"]
