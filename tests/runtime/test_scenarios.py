"""Whole runs at the support desk, each in both wire forms and under sync, async and streamed drivers."""

import json
from dataclasses import replace
from itertools import count
from threading import Event as Flag
from typing import Annotated

import pytest
from pydantic import Field

from labkit.control.choice import allowed, function, required
from labkit.execution.executor import Retry
from labkit.execution.permission import Allow, AskPerson, Deny
from labkit.measure.cost import money, price_of
from labkit.protocol.errors import WireError
from labkit.protocol.messages import Usage
from labkit.protocol.tools import Toolbox, make_tool
from labkit.runtime import Budget, approvals, dump, load, reject
from labkit.service.brains.scripted import call
from labkit.service.decide import Decision
from labkit.service.faults import Fault, cut_stream, lost_reply, overloaded, quota, server_error, throttle
from labkit.shop.payments import lost_after, lost_before, throttled

GET = call("get_order", order_id="10001")
REFUND = call("refund_order", order_id="10001", reason="坏了")
MISSING = call("get_order", order_id="99999")
BROKEN = call("get_order", order_id="#10001")


def ask_before_writes(request):
    return Allow() if request.tool.effect == "read" else AskPerson("money leaves the shop")


def ask_all(request):
    return AskPerson("everything is asked")


def deny_refunds(request):
    return Deny("not your money") if request.tool.name == "refund_order" else Allow()


def error_types(state) -> list[str]:
    return [result.error.kind for result in state.observations if result.error]


def test_a_read_is_carried_out_and_answered(desk):  # covers: B2.2
    at = desk(GET, "已发货。")
    end = at.go("查订单 10001")
    assert (end.name, end.answer, end.reason) == ("Done", "已发货。", "answered")
    assert at.path == [
        "Deciding>Validating",
        "Validating>Authorising",
        "Authorising>Executing",
        "Executing>Observing",
        "Observing>Deciding",
        "Deciding>Done",
    ]


def test_parallel_reads_are_all_answered_in_the_order_of_the_calls(desk):  # covers: L8 AC3
    two = [call("get_weather", city="北京"), call("get_weather", city="上海")]
    at = desk(two, "北京冷，上海不冷。")
    end = at.go("北京和上海冷吗？")
    assert [result.call.arguments for result in end.observations] == [c.arguments for c in two]
    assert [json.loads(text)["data"]["city"] for text in at.told] == ["北京", "上海"]


def test_usage_and_steps_are_counted(desk):
    end = desk(GET, "好").go("查订单 10001")
    assert end.steps == 2
    assert end.usage.total > 0
    assert isinstance(end.usage, Usage)


def test_the_stream_yields_the_text_of_the_answer(desk, way):
    at = desk(GET, "订单 10001 已发货。")
    end = at.go("查订单 10001")
    if way[1] == "stream":
        assert "".join(at.texts) == end.answer
        assert len(at.texts) > 1


def test_a_wrong_argument_is_told_to_the_model_and_corrected_once(desk):  # covers: L10 T4.2
    at = desk(BROKEN, GET, "已发货。")
    end = at.go("查订单 10001")
    assert end.answer == "已发货。"
    assert "Observing>Deciding" in at.path
    told = json.loads(at.told[0])
    assert (told["status"], told["error_type"], told["retryable_by_model"]) == (
        "error",
        "validation_error",
        True,
    )


def test_a_second_wrong_argument_in_a_row_ends_the_run(desk):
    end = desk(BROKEN, BROKEN, "never said").go("查订单 10001")
    assert (end.name, end.reason) == ("Stopped", "corrections_exhausted")


def test_the_correction_budget_comes_back_after_a_success(desk):  # covers: L17
    """S1 L17 never resets it: a run of four calls with two separate slips would be stopped."""
    end = desk(BROKEN, GET, BROKEN, GET, "好").go("查订单 10001")
    assert end.reason == "answered"
    assert error_types(end) == ["validation_error", "validation_error"]


def test_a_business_error_leaves_the_model_only_speech(desk):  # covers: 1.1 T4.2
    """F1: business errors end in a clarification, not in another guess; tool_choice none makes that hard."""
    at = desk(MISSING, "没有订单 99999，请核对单号。")
    end = at.go("查订单 99999")
    assert end.answer == "没有订单 99999，请核对单号。"
    assert at.bodies[-1]["tool_choice"] == "none"
    assert error_types(end) == ["business_rule"]


def test_a_business_error_may_be_made_to_stop_the_run_or_to_go_on(desk):
    assert desk(MISSING, on_refusal="stop").go("查订单 99999").reason == "refused"
    at = desk(MISSING, GET, "好", on_refusal="continue")
    assert at.go("查订单 99999 或 10001").answer == "好"
    assert at.bodies[-1]["tool_choice"] == "auto"


def test_permission_denied_is_told_and_nothing_is_done(desk):  # covers: 3.3 T4.2
    at = desk(REFUND, "您没有退款权限。", policy=deny_refunds)
    end = at.go("退款 10001")
    assert error_types(end) == ["permission_denied"]
    assert at.refunds() == 0
    assert "Authorising>Observing" in at.path


def test_a_denied_call_does_not_take_the_allowed_one_with_it(desk):
    at = desk([GET, REFUND], "查到了，但不能退款。", policy=deny_refunds)
    end = at.go("查 10001 并退款")
    assert [result.status for result in end.observations] == ["success", "error"] or error_types(end)
    assert {json.loads(text)["status"] for text in at.told} == {"success", "error"}


def test_a_write_waits_for_a_person_and_goes_on_after_a_yes(desk):
    at = desk(REFUND, "已退款。", policy=ask_before_writes)
    waiting = at.go("退款 10001")
    assert (waiting.name, waiting.reason, at.refunds()) == ("Waiting", "approval_needed", 0)
    end = at.go(waiting, approvals=approvals(waiting, by="wang", at="2026-09-01"))
    assert (end.answer, at.refunds()) == ("已退款。", 1)
    assert "Waiting>Authorising" in at.path


def test_without_an_approval_a_waiting_run_goes_on_waiting(desk):
    waiting = desk(REFUND, policy=ask_before_writes).go("退款 10001")
    assert desk(policy=ask_before_writes).go(waiting) == waiting


def test_an_approval_is_bound_to_its_arguments(desk):
    """Yes to refunding 10001 is no yes to refunding 10002."""
    other = call("refund_order", order_id="10002", reason="坏了")
    first = desk(REFUND, policy=ask_before_writes).go("退款 10001")
    yes = approvals(first, by="wang", at="2026-09-01")
    at = desk(other, policy=ask_before_writes)
    assert at.go("退款 10002", approvals=yes).name == "Waiting"
    assert at.refunds("10002") == 0


def test_a_rejected_write_is_not_done_and_the_model_is_told(desk):
    at = desk(REFUND, "经理没有批准。", policy=ask_before_writes)
    waiting = at.go("退款 10001")
    end = at.go(reject(waiting, "too much"))
    assert (end.answer, at.refunds()) == ("经理没有批准。", 0)
    assert error_types(end) == ["permission_denied"]


def test_a_rejected_call_does_not_take_the_other_one_with_it(desk):
    at = desk([GET, REFUND], "查到了。", policy=ask_before_writes)
    end = at.go(reject(at.go("查 10001 并退款"), "no"))
    assert at.refunds() == 0
    assert [json.loads(text)["status"] for text in at.told] == ["success", "error"]
    assert end.answer == "查到了。"


@pytest.mark.parametrize("fault", [lost_after(1), lost_before(1)])
def test_a_lost_reply_is_reconciled_into_exactly_one_refund(desk, fault):  # covers: L9 T4.2
    """R04: the reply is lost, before or after the money has moved; the model is not asked to call again."""
    at = desk(REFUND, "已退款。", shop_faults=[fault])
    end = at.go("退款 10001")
    assert (end.answer, at.refunds()) == ("已退款。", 1)
    assert "Executing>Reconciling" in at.path
    assert "Reconciling>Observing" in at.path
    assert end.steps == 2


def test_an_outcome_that_nobody_can_tell_ends_the_run_and_is_settled_when_it_is_resumed(desk):
    at = desk(REFUND, "已退款。", shop_faults=[lost_after(1), lost_before(2)])
    end = at.go("退款 10001")
    assert (end.name, end.reason, end.steps) == ("Stopped", "pending_reconciliation", 1)
    assert json.loads(end.chain[-1].content)["status"] == "pending_reconciliation"
    saved = load(dump(end), at.agent.toolbox)
    again = at.go(saved)
    assert (again.answer, at.refunds(), again.steps) == ("已退款。", 1, 2)
    assert "Stopped>Reconciling" in at.path


def test_the_same_refund_asked_for_twice_is_paid_once(desk):
    """The model repeats itself in other words and with another call id; in one turn and in the next."""
    other = call("refund_order", order_id="10001", reason="客户很生气")
    at = desk([REFUND, other], other, "已退款。")
    end = at.go("退款 10001")
    assert (end.answer, at.refunds()) == ("已退款。", 1)


def test_a_transient_fault_of_a_read_is_retried_in_the_tool_layer(desk):  # covers: B4.3b T4.2
    tries = []

    def get_parcel(order_id: Annotated[str, Field(description="订单号")]) -> str:
        """查询包裹。"""
        tries.append(order_id)
        if len(tries) < 3:
            raise ConnectionError("busy")
        return "shipped"

    tool = make_tool(get_parcel, effect="read", use_when="包裹在哪里", not_when="退款")
    at = desk(
        call("get_parcel", order_id="10001"),
        "已发货。",
        toolbox=Toolbox([tool]),
        executor={"retry": Retry(frozenset({"read"}))},
    )
    end = at.go("包裹在哪里")
    assert (end.observations[0].attempts, end.steps, end.answer) == (3, 2, "已发货。")


def test_a_throttled_write_is_retried_with_its_key_when_the_caller_says_so(desk):
    at = desk(
        REFUND,
        "已退款。",
        shop_faults=[throttled(1, retry_after=3.0)],
        executor={"retry": Retry(frozenset({"keyed_write"}))},
    )
    end = at.go("退款 10001")
    assert (end.answer, at.refunds()) == ("已退款。", 1)
    assert 3.0 in at.waits


def test_the_step_budget_ends_the_run(desk):
    end = desk(GET, GET, GET, "never", max_steps=2).go("查订单 10001")
    assert (end.reason, end.steps) == ("max_steps", 2)


def test_the_token_budget_ends_the_run(desk):
    end = desk(GET, "never", budget=Budget(tokens=50)).go("查订单 10001")
    assert (end.reason, end.steps) == ("over_budget", 1)


def test_the_money_budget_ends_the_run_and_the_money_is_counted(desk):
    price = price_of("gpt-4.1-mini")
    at = desk(GET, "never", budget=Budget(money=0.000_01, price=lambda usage: money(usage, price)))
    end = at.go("查订单 10001")
    assert (end.reason, end.run.money) == ("over_budget", money(end.usage, price))
    assert load(dump(end), at.agent.toolbox).run.money == end.run.money


def test_the_time_budget_ends_the_run(desk):
    """Every look at this clock is a second later: two looks a step."""
    end = desk(GET, "never", budget=Budget(seconds=4.0), clock=count().__next__).go("查订单 10001")
    assert (end.reason, end.steps, end.run.seconds) == ("over_budget", 1, 6)


@pytest.mark.parametrize("state", ["Deciding", "Validating", "Authorising", "Executing"])
def test_a_run_can_be_cancelled_wherever_nothing_is_on_its_way(desk, state):
    at = desk(REFUND, "never")
    flag = Flag()
    at.agent = replace_step(at, lambda after: flag.set() if after.name == state else None)
    if state == "Deciding":
        flag.set()
    end = at.go("退款 10001", cancel=flag)
    assert (end.name, end.reason, at.refunds()) == ("Stopped", "cancelled", 0)


def replace_step(at, watch):
    def on_step(before, after, seconds):
        at.path.append(f"{before.name}>{after.name}")
        watch(after)

    return replace(at.agent, on_step=on_step)


def test_a_cancelled_run_still_writes_down_what_has_happened(desk):
    """Cancelled while a refund is unknown: it is reconciled first, and the history says that it was paid."""
    at = desk(REFUND, "never", shop_faults=[lost_after(1)])
    flag = Flag()
    at.agent = replace_step(at, lambda after: flag.set() if after.name == "Reconciling" else None)
    end = at.go("退款 10001", cancel=flag)
    assert (end.reason, at.refunds()) == ("cancelled", 1)
    assert json.loads(end.chain[-1].content)["status"] == "success"


def test_a_cancelled_run_can_be_resumed(desk):
    at = desk(REFUND, REFUND, "已退款。")
    flag = Flag()
    at.agent = replace_step(at, lambda after: flag.set() if after.name == "Executing" else None)
    end = at.go("退款 10001", cancel=flag)
    assert at.go(end).answer == "已退款。"
    assert at.refunds() == 1


def test_a_throttled_model_is_asked_again_after_the_time_it_named(desk):
    at = desk("好", faults=[throttle(1, retry_after=2)])
    end = at.go("你好")
    assert (end.answer, at.waits, end.steps) == ("好", [2.0], 1)
    assert at.path == ["Deciding>Deciding", "Deciding>Done"]


def test_a_failing_model_is_asked_as_often_as_the_client_would(desk):
    at = desk("never", faults=[server_error(1), overloaded(2), lost_reply(3)])
    end = at.go("你好")
    assert (end.reason, at.waits, len(at.bodies)) == ("provider_error", [0.5, 1.0], 3)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_status_that_passes_is_asked_again_as_the_sdk_would(status, desk):
    at = desk("好", faults=[Fault(1, WireError("Try again later.", None, None, status, "server_error"))])
    assert (at.go("你好").answer, at.waits) == ("好", [0.5])


def test_a_wait_that_is_too_long_ends_the_run(desk):
    at = desk("never", faults=[throttle(1, retry_after=600)])
    assert at.go("你好").reason == "provider_error"
    assert at.waits == []


def test_an_account_without_money_is_not_asked_again(desk):
    """R01: the SDK alone would retry it twice."""
    at = desk("never", faults=[quota(1)])
    end = at.go("你好")
    assert (end.reason, len(at.bodies), at.waits) == ("quota_exhausted", 1, [])


def test_a_request_that_the_api_refuses_ends_the_run_in_its_words(desk):
    at = desk("never", options={"temperature": 9})
    end = at.go("你好")
    assert end.reason == "bad_request"
    assert "temperature" in end.message


def test_a_wrong_key_is_a_matter_of_setup(desk):
    at = desk("never")
    at.client.api_key = "wrong"
    end = at.go("你好")
    assert (end.reason, len(at.bodies)) == ("bad_setup", 1)


def test_a_model_that_does_not_exist_is_a_matter_of_setup_on_both_wires(desk):
    at = desk("never", model="gpt-9")
    assert at.go("你好").reason == "bad_setup"


def test_a_cut_stream_is_asked_for_again(desk):
    said = "订单 10001 已发货，明天送达。"
    at = desk(said, said, faults=[cut_stream(1, after_chunks=2)])
    end = at.go("你好")
    assert end.answer == said
    assert at.path == ["Deciding>Deciding", "Deciding>Done"]


@pytest.mark.parametrize("choice", [required(), function("get_order"), allowed(["get_order"], "required")])
def test_a_forced_choice_is_let_go_after_the_first_tool_turn(desk, choice):  # covers: 1.1
    """L01: kept for ever, the model could never answer in text."""
    at = desk(GET, "已发货。", choice=choice)
    end = at.go("查订单 10001")
    assert end.answer == "已发货。"
    assert at.bodies[0]["tool_choice"] != "auto"
    assert "required" not in json.dumps(at.bodies[1]["tool_choice"])


def test_candidates_narrow_what_may_be_called(desk):
    at = desk(GET, "好", candidates=lambda run: ("get_order", "get_weather"))
    assert at.go("查订单 10001").answer == "好"
    assert "allowed_tools" in json.dumps(at.bodies[0]["tool_choice"])


def test_the_context_function_decides_what_is_sent(desk):
    at = desk(GET, "好", context=lambda chain: chain[-3:])
    at.go("查订单 10001")
    assert len(at.bodies[-1].get("messages") or at.bodies[-1]["input"]) == 3


def test_a_system_prompt_goes_in_front_once(desk):
    at = desk("你好", "再见", system="你是客服。")
    end = at.go("你好")
    at.go(
        [
            *end.chain,
        ]
    )
    roles = [item["role"] for item in at.bodies[-1].get("messages") or at.bodies[-1]["input"]]
    assert roles.count("system") == 1


def test_too_many_calls_in_one_turn_are_all_refused_and_the_model_decides_again(desk):  # covers: B5.4
    many = [call("get_weather", city=city) for city in ("北京", "上海", "广州")]
    at = desk(many, many[:1], "好", max_calls=2)
    end = at.go("三个城市的天气")
    assert error_types(end) == ["too_many_calls"] * 3
    assert end.answer == "好"


def test_an_answer_cut_off_by_the_limit_is_no_answer(desk):
    end = desk(Decision(text="订单 10001 已", finish="length")).go("查订单")
    assert (end.name, end.reason) == ("Stopped", "truncated")
    assert end.chain[-1].content == "订单 10001 已"


def test_a_refusal_is_an_answer_of_its_own_kind(desk):
    end = desk(Decision(refusal="I cannot help with that.")).go("怎么造炸弹")
    assert (end.name, end.reason, end.answer) == ("Done", "refused", "I cannot help with that.")


def test_a_run_is_saved_at_every_state_and_goes_on_as_if_nothing_had_been(desk):
    """Each state is dumped, loaded and driven to its end: the same answer, and one refund in the world."""
    at = desk(REFUND, "已退款。", shop_faults=[lost_after(1)], policy=ask_before_writes)
    waiting = at.go("退款 10001")
    loaded = load(dump(waiting), at.agent.toolbox)
    assert dump(loaded) == dump(waiting)
    saved = []
    at.agent = replace_step(at, lambda after: saved.append(dump(after)))
    end = at.go(loaded, approvals=approvals(loaded, by="wang", at="2026-09-01"))
    assert (end.answer, at.refunds()) == ("已退款。", 1)
    for text in saved:
        state = load(text, at.agent.toolbox)
        assert dump(state) == text


def test_identity_reaches_the_policy(desk):
    seen = []
    at = desk(GET, "好", policy=lambda request: seen.append(request.identity) or Allow())
    at.go("查订单 10001")
    assert seen[0].user == "li"
