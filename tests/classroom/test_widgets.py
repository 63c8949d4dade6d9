"""A knob turns, and what is shown follows; what is kept without a kernel is the first state."""

import json

import ipywidgets
import pytest

from labkit.classroom.plots import Picture
from labkit.classroom.widgets import (
    Live,
    chain_viewer,
    control_panel,
    decision_scores,
    eval_comparison,
    injection_range,
    machine,
    progress_view,
    request_inspector,
)
from labkit.measure.range import DEFENCES, Attack, Range, Task, load, measure
from labkit.protocol.families import family
from labkit.protocol.messages import ToolCall, assistant, tool, user
from labkit.protocol.tokens import count_request
from labkit.runtime import TRANSITIONS
from labkit.service.brains.simulated import probabilities
from labkit.service.decide import ask_of
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

VIEW = "application/vnd.jupyter.widget-view+json"
CALL = ToolCall("call_1", "get_order", '{"order_id": "10001"}')
CHAIN = [user("查订单 <10001>"), assistant(calls=[CALL]), tool("call_1", "shipped"), assistant("已发货")]


@pytest.fixture(scope="module")
def box():
    return shop_tools(Shop())


@pytest.fixture
def body(box):
    question = [{"role": "user", "content": "帮我查订单 20002"}]
    return {"model": "gpt-4.1-mini", "messages": question, "tools": box.chat(), "temperature": 0.2}


def texts(picture):
    return [text.get_text() for text in picture.axes[0].texts]


def test_a_widget_keeps_a_page_for_readers_without_a_kernel():
    kept = chain_viewer(CHAIN)._repr_mimebundle_()
    assert VIEW in kept and "已发货" in kept["text/html"]


def test_a_widget_keeps_a_picture_for_readers_without_a_kernel(body):
    kept = decision_scores(ask_of(body))._repr_mimebundle_()
    assert VIEW in kept and kept["image/png"].startswith("iVBOR") and kept["text/plain"] == "temperature: 0.2"


def test_a_turned_knob_draws_again():
    shown = Live(lambda n: f"<b>{n}</b>", n=ipywidgets.IntSlider(3))
    shown.knobs["n"].value = 5
    assert shown.screen.value == shown.shown == "<b>5</b>"


def test_what_a_user_wrote_is_text_and_no_html():
    assert "查订单 &lt;10001&gt;" in chain_viewer(CHAIN).shown


@pytest.mark.parametrize(("messages", "waits"), [(0, False), (1, False), (2, True), (3, False), (4, False)])
def test_a_chain_says_which_call_waits_for_its_result(messages, waits):
    shown = chain_viewer(CHAIN)
    shown.knobs["messages"].value = messages
    assert ("call_1 has no result yet" in shown.shown) is waits


def test_an_empty_chain_is_an_empty_page():
    assert chain_viewer([]).shown == ""


def test_the_inspector_shows_the_tokens_of_each_part(body):
    count = count_request(body, family("gpt-4.1-mini"))
    shown = request_inspector([body], family("gpt-4.1-mini"))
    assert texts(shown.shown) == [str(tokens) for tokens in count.by_part.values()]
    assert shown.shown.axes[0].get_title(loc="left").startswith(f"{count.total} tokens")


@pytest.mark.parametrize("heat", [0.0, 0.2, 1.5, 2.0])
def test_the_bars_of_a_decision_are_its_probabilities(heat, body):
    ask = ask_of(body)
    shown = decision_scores(ask)
    shown.knobs["temperature"].value = heat
    wanted = probabilities(ask_of(body | {"temperature": heat}))
    assert [bar.get_width() for bar in shown.shown.axes[0].patches] == pytest.approx(list(wanted.values()))


def test_a_panel_shows_what_would_be_sent(box):
    panel = control_panel(box)
    panel.knobs["allowed"].value = ("get_order",)
    assert "&quot;allowed_tools&quot;" in panel.shown
    panel.knobs["vendor"].value = "deepseek"
    assert "deepseek has no allowed_tools" in panel.shown and "&quot;auto&quot;" in panel.shown


def test_no_position_of_the_panel_fails(box):
    panel = control_panel(box)
    for knob in panel.knobs.values():
        for value in getattr(knob, "options", (False, True)):
            knob.value = (value,) if knob is panel.knobs["allowed"] else value
            assert "tool_choice" in panel.shown


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_the_path_of_a_run_is_lit_as_far_as_the_slider_says(steps):
    shown = machine(TRANSITIONS, [("Deciding", "Validating"), ("Validating", "Observing")])
    shown.knobs["steps"].value = steps
    assert sum(text.split(":")[0].isdigit() for text in texts(shown.shown)) == steps


@pytest.mark.parametrize(("defence", "harmed"), [("none", True), ("all", False)])
def test_a_run_behind_the_table_is_seen_and_not_run_again(defence, harmed):
    grounds, attacks = Range(), list(load(Attack, "attacks"))[:1]
    tasks = [task for task in load(Task, "tasks") if task.carrier == attacks[0].carrier][:1]
    shown = injection_range(
        {name: measure(grounds, attacks, tasks, DEFENCES[name]) for name in ("none", "all")}
    )
    grounds.shop.close()
    shown.knobs["defence"].value = defence
    assert ("payments" in shown.shown) is harmed


def row(case, good):
    grade = {"selected": good, "success": good, "complete": good}
    grade |= dict.fromkeys(("arguments", "valid", "business", "faithful"), (0, 0))
    trace = dict.fromkeys(("retry_count", "seconds", "input_tokens", "output_tokens"), 1)
    return {"case": case, "kind": "x", "grade": grade, "trace": trace}


def test_versions_are_compared_metric_by_metric():
    good, bad = ([row(f"c{n}", good) for n in range(10)] for good in (True, False))
    shown = eval_comparison({"before": bad, "after": good})
    line = shown.shown.axes[0].lines[0]
    assert list(line.get_xdata()) == [0.0, 1.0]
    assert "task_success" in shown.shown.axes[0].get_title(loc="left")


def test_progress_as_a_picture_follows_the_file(tmp_path, monkeypatch):
    monkeypatch.delenv("LABKIT_PROGRESS", raising=False)
    cells = [{"cell_type": "code", "metadata": {"labkit": "exercise 3.1"}, "source": "..."}]
    (tmp_path / "03_x.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    shown = progress_view(tmp_path)
    before = shown.shown.axes[0].patches[0].get_facecolor()
    (tmp_path / ".labkit").mkdir()
    (tmp_path / ".labkit" / "progress.json").write_text('{"3.1": {"state": "passed"}}', encoding="utf-8")
    shown.knobs["look_again"].value = True
    assert shown.shown.axes[0].patches[0].get_facecolor() != before


def test_chinese_is_drawn_without_a_warning(body):
    """Warnings are errors in a test run, a missing glyph among them."""
    shown = request_inspector([body | {"user": "订单"}], family("gpt-4.1-mini"))
    assert isinstance(shown.shown, Picture) and shown.shown._repr_png_()
