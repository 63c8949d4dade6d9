"""Bugs that others have had, each by its id: what comes over the wire is played back byte for byte."""

import asyncio
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import httpx2
import openai
import pytest
from pydantic import Field

from labkit.control.context import trim
from labkit.execution.executor import Executor
from labkit.execution.permission import Allow
from labkit.protocol.messages import ToolCall, assistant, check_chain, system, tool, user
from labkit.protocol.tools import CallContext, Toolbox, make_tool
from labkit.runtime import Agent, run

Text = Annotated[str, Field(description="文本")]


def get_weather(city: Text) -> dict[str, Any]:
    """查询天气。"""
    return {"city": city, "condition": "晴"}


def list_orders() -> list[str]:
    """列出订单。"""
    return ["10001"]


def search(
    limit: Annotated[int, Field(description="条数")],
    code: Text,
    flag: Annotated[bool, Field(description="开关")],
) -> dict:
    """搜索。"""
    return {"limit": limit, "code": code, "flag": flag}


def add_todos(todos: Annotated[list[str], Field(description="待办")], note: Text) -> dict:
    """记下待办。"""
    return {"todos": todos, "note": note}


def read(function, **rest):
    return make_tool(function, effect="read", use_when="需要时", not_when="不需要时", **rest)


TOOLS = [read(function) for function in (get_weather, list_orders, search, add_todos)]


def wanting(*calls: dict[str, Any], finish: str = "tool_calls", **usage: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}


def saying(text: str) -> dict[str, Any]:
    return {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]
    }


def wants(name: str, arguments: Any, id: str = "c1") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


class Vendor:
    """An agent whose provider says exactly these bodies; `sent` holds what it was asked."""

    def __init__(self, *bodies: Any, tools=TOOLS, executor=None, **options: Any):
        self.sent: list[dict[str, Any]] = []
        self.bodies = iter(bodies)
        http = httpx2.Client(transport=httpx2.MockTransport(self._answer))
        client = openai.OpenAI(api_key="sk-test", base_url="http://vendor/v1", http_client=http)
        toolbox = Toolbox(tools)
        hands = executor or Executor(toolbox, sleep=lambda seconds: None)
        self.agent = Agent(
            client, "m", toolbox, hands, lambda request: Allow(), sleep=lambda s: None, **options
        )

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(json.loads(request.content))
        body = next(self.bodies)
        return body if isinstance(body, httpx2.Response) else httpx2.Response(200, json=body)

    def run(self, text: str = "?"):
        end = run(self.agent, text)
        check_chain(end.chain)
        return end

    @property
    def told(self) -> list[Any]:
        return [json.loads(m["content"]) for m in self.sent[-1]["messages"] if m["role"] == "tool"]


def test_H01_two_calls_come_although_parallel_calls_are_off():
    two = [wants("get_weather", f'{{"city":"{city}"}}', f"c:{n}") for n, city in enumerate(("北京", "上海"))]
    vendor = Vendor(wanting(*two), saying("好"), parallel=False)
    vendor.run()
    assert vendor.sent[0]["parallel_tool_calls"] is False
    answers = [m["tool_call_id"] for m in vendor.sent[1]["messages"] if m["role"] == "tool"]
    assert answers == ["c:0", "c:1"]


def test_H03_trimming_keeps_a_call_and_its_result_together_or_drops_both():
    call = ToolCall("c1", "get_order", '{"order_id":"10001"}')
    chain = [
        system("s"),
        user("查订单 10001"),
        assistant(calls=[call]),
        tool("c1", "{}"),
        assistant("已发货"),
        user("谢谢"),
    ]
    vendor = Vendor(saying("不客气"), context=lambda chain: trim(chain, 3))
    run(vendor.agent, chain)
    assert [m["role"] for m in vendor.sent[0]["messages"]] == ["system", "assistant", "user"]


def test_H05_an_empty_plain_answer_is_replayed_as_empty_text():
    vendor = Vendor({"choices": [{"message": {"role": "assistant", "content": None}}]}, saying("好"))
    first = vendor.run("hi")
    run(vendor.agent, [*first.chain, user("again")])
    assert vendor.sent[1]["messages"][1] == {"role": "assistant", "content": ""}


def test_H07_a_tool_that_returns_a_dict_is_told_as_text():
    vendor = Vendor(wanting(wants("get_weather", '{"city":"北京"}')), saying("好"))
    vendor.run()
    assert isinstance(vendor.sent[1]["messages"][-1]["content"], str)


def test_H09_an_id_that_comes_back_in_the_next_turn_is_a_call_of_its_own():
    turns = [wanting(wants("get_weather", f'{{"city":"{city}"}}', "list_dir:0")) for city in ("北京", "上海")]
    end = Vendor(*turns, saying("好")).run()
    assert [result.value["city"] for result in end.observations] == ["北京", "上海"]
    assert len({result.operation_id for result in end.observations}) == 2


def test_L03_calls_are_dispatched_whatever_the_finish_reason_says():
    end = Vendor(wanting(wants("get_weather", '{"city":"北京"}'), finish="stop"), saying("晴")).run()
    assert (end.answer, len(end.observations)) == ("晴", 1)


def async_tools(seen: list[Any]) -> list[Any]:
    async def get_first(name: Text) -> str:
        """第一个。"""
        await asyncio.sleep(0)
        seen.append(name)
        return name

    async def get_second(name: Text) -> str:
        """第二个。"""
        await asyncio.sleep(0)
        seen.append(name)
        return name

    return [read(get_first), read(get_second)]


def batch() -> list[dict[str, Any]]:
    return [
        wanting(wants("get_first", '{"name":"a"}', "1"), wants("get_second", '{"name":"b"}', "2")),
        saying("好"),
    ]


def test_L05_async_tools_run_from_a_cell_whose_loop_is_running():
    seen = []

    async def cell():
        return Vendor(*batch(), tools=async_tools(seen)).run()

    assert asyncio.run(cell()).answer == "好"
    assert sorted(seen) == ["a", "b"]


def test_L05_async_tools_run_from_a_pool_of_threads():
    seen = []
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(lambda _: Vendor(*batch(), tools=async_tools(seen)).run(), range(4)))
    assert [end.answer for end in ends] == ["好"] * 4
    assert len(seen) == 8


@pytest.mark.parametrize("arguments", ["", "  ", None, "{}"])
def test_P01_no_arguments_in_any_spelling_run_the_tool_and_are_replayed_as_an_object(arguments):
    vendor = Vendor(wanting(wants("list_orders", arguments)), saying("好"))
    assert vendor.run().observations[0].status == "success"
    assert vendor.sent[1]["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize("arguments", ["", "  ", None, "{}"])
def test_P01_no_arguments_for_a_tool_that_needs_one_name_the_missing_field(arguments):
    vendor = Vendor(wanting(wants("get_weather", arguments)), saying("哪个城市？"))
    vendor.run()
    assert vendor.told[0]["error_type"] == "validation_error"
    assert "city" in vendor.told[0]["message"]


@pytest.mark.parametrize("finish", ["tool_calls", "length"])
def test_P02_arguments_cut_off_by_the_output_limit_are_not_run_and_not_replayed(finish):
    cut = wants("get_weather", '{"city":"北京","note":"客户反映')
    vendor = Vendor(
        wanting(cut, finish=finish, completion_tokens=300), saying("好"), options={"max_tokens": 300}
    )
    end = vendor.run()
    assert [result.error.kind for result in end.observations] == ["truncated_arguments"]
    assert "output limit" in vendor.told[0]["message"]
    assert vendor.sent[1]["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_P02_an_answer_that_just_reaches_the_limit_is_an_answer():
    said = saying("好") | {"usage": {"completion_tokens": 300}}
    assert Vendor(said, options={"max_tokens": 300}).run().answer == "好"


def test_P02_at_most_one_retry_follows():
    cut = wanting(wants("get_weather", '{"city":"北'), finish="length")
    end = Vendor(cut, cut, saying("never")).run()
    assert end.reason == "corrections_exhausted"


def test_P05_json_inside_a_string_is_unwrapped_where_the_schema_says_so_in_lenient_mode_only(caplog):
    text = '{"todos":"[\\"a\\",\\"b\\"]","note":"[1,2]"}'
    with caplog.at_level(logging.INFO):
        end = Vendor(wanting(wants("add_todos", text)), saying("好"), lenient=True).run()
    assert end.observations[0].value == {"todos": ["a", "b"], "note": "[1,2]"}
    assert "todos" in caplog.text
    strict = Vendor(wanting(wants("add_todos", text)), saying("好")).run()
    assert strict.observations[0].error.kind == "validation_error"


def test_P07_arguments_that_come_as_an_object_run_and_are_replayed_as_text():
    vendor = Vendor(wanting(wants("get_weather", {"city": "北京"})), saying("晴"))
    assert vendor.run().observations[0].value["city"] == "北京"
    replayed = vendor.sent[1]["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(replayed) == {"city": "北京"}
    assert "北京" in replayed


def test_P09_a_wrapper_that_the_model_made_up_is_an_unknown_tool_and_the_next_request_is_valid():
    inner = {"recipient_name": "functions.get_weather", "parameters": {"city": "北京"}}
    made_up = wants("multi_tool_use.parallel", json.dumps({"tool_uses": [inner, inner]}))
    vendor = Vendor(wanting(made_up), saying("好"))
    vendor.run()
    assert vendor.told[0]["error_type"] == "unknown_tool"
    assert "get_weather" in vendor.told[0]["message"]
    assert vendor.sent[1]["messages"][1]["tool_calls"][0]["function"]["name"] == "multi_tool_use_parallel"


@pytest.mark.parametrize(
    ("lenient", "given", "expected"),
    [
        (False, {"limit": 20.0, "code": "00123", "flag": True}, {"limit": 20, "code": "00123", "flag": True}),
        (False, {"limit": "20", "code": "x", "flag": True}, None),
        (True, {"limit": "20", "code": "x", "flag": True}, {"limit": 20, "code": "x", "flag": True}),
        (True, {"limit": "20.0", "code": "x", "flag": "true"}, {"limit": 20, "code": "x", "flag": True}),
        (False, {"limit": 20, "code": "x", "flag": "true"}, None),
        (True, {"limit": 20.5, "code": "x", "flag": True}, None),
        (True, {"limit": "NaN", "code": "x", "flag": True}, None),
    ],
)
def test_P11_numbers_and_booleans_in_other_spellings(lenient, given, expected):
    vendor = Vendor(wanting(wants("search", json.dumps(given))), saying("好"), lenient=lenient)
    assert vendor.run().observations[0].value == expected


def test_P13_arguments_or_type_left_out_altogether():
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "list_orders"}},
        {"id": "c2", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}, "index": 0},
    ]
    end = Vendor(wanting(*calls), saying("好")).run()
    assert [result.status for result in end.observations] == ["success", "success"]


def test_R01_an_account_without_money_is_asked_once():
    error = {
        "message": "quota used up",
        "type": "insufficient_quota",
        "param": None,
        "code": "insufficient_quota",
    }
    vendor = Vendor(httpx2.Response(429, json={"error": error}))
    assert (vendor.run().reason, len(vendor.sent)) == ("quota_exhausted", 1)


def test_R04_a_write_that_raises_after_it_has_happened_is_not_repeated():
    sent = []

    def send_parcel(order_id: Text, *, context: CallContext) -> str:
        """寄出包裹。"""
        sent.append(context.operation_id)
        raise TimeoutError("after the commit")

    write = make_tool(
        send_parcel, effect="write", use_when="寄", not_when="不寄", operation=lambda a: f"send:{a.order_id}"
    )
    end = Vendor(wanting(wants("send_parcel", '{"order_id":"10001"}')), tools=[write]).run()
    assert (end.reason, sent) == ("pending_reconciliation", ["send:10001"])


def test_R06_what_an_exception_says_never_reaches_the_model(caplog):
    password = "S3" + "cret"

    def get_rows(table: Text) -> str:
        """读取数据表。"""
        raise RuntimeError(f"could not connect postgresql://app:{password}@10.0.0.5/db")

    vendor = Vendor(wanting(wants("get_rows", '{"table":"t"}')), saying("好"), tools=[read(get_rows)])
    vendor.run()
    assert "S3cret" not in json.dumps(vendor.sent)
    assert "10.0.0.5" not in json.dumps(vendor.sent)
    assert "S3cret" not in caplog.text
    assert "RuntimeError" in vendor.told[0]["message"]


def test_R08_without_tools_nothing_is_said_about_tools():
    vendor = Vendor(saying("hi"), tools=[], parallel=False)
    vendor.run()
    assert vendor.sent[0].keys() == {"model", "messages"}


def test_J01_results_of_every_usual_kind_are_told_as_json():
    def get_facts() -> dict[str, Any]:
        """读取资料。"""
        return {
            "at": datetime(2026, 9, 1, 8, 0),
            "amount": Decimal("19.90"),
            "id": UUID(int=1),
            "tags": {"a"},
        }

    vendor = Vendor(wanting(wants("get_facts", "{}")), saying("好"), tools=[read(get_facts)])
    vendor.run()
    assert vendor.told[0]["data"] == {
        "at": "2026-09-01T08:00:00",
        "amount": "19.90",
        "id": "00000000-0000-0000-0000-000000000001",
        "tags": ["a"],
    }


def test_J03_chinese_stays_chinese_and_lone_surrogates_do_not_crash():
    def get_text() -> dict[str, str]:
        """读取文本。"""
        return {"city": "北京", "broken": "a\ud800b"}

    vendor = Vendor(wanting(wants("get_text", "{}")), saying("好"), tools=[read(get_text)])
    assert vendor.run("\udc00").answer == "好"
    assert "北京" in vendor.sent[1]["messages"][-1]["content"]


def test_a_vendor_that_ignores_tool_choice_none_after_a_refusal_is_stopped():
    def get_nothing(order_id: Text) -> str:
        """查订单。"""
        raise PermissionError(order_id)

    again = wanting(wants("get_nothing", '{"order_id":"1"}'))
    vendor = Vendor(again, again, tools=[read(get_nothing)])
    end = vendor.run()
    assert (end.name, end.reason, len(vendor.sent)) == ("Stopped", "refused", 2)
    assert vendor.sent[1]["tool_choice"] == "none"


@pytest.mark.parametrize("body", ["<html>busy</html>", [], {"error": {"message": "no"}}, {"choices": []}])
def test_a_provider_that_answers_rubbish_is_a_named_outcome(body):
    reply = httpx2.Response(200, text=body) if isinstance(body, str) else body
    end = Vendor(reply).run()
    assert (end.name, end.reason) == ("Stopped", "provider_error")


def test_reasoning_content_is_sent_back_in_the_tool_loop():
    """openai-wire §8.2: DeepSeek refuses the second request without it."""
    thinking = wanting(wants("list_orders", "{}"))
    thinking["choices"][0]["message"]["reasoning_content"] = "用户想看订单"
    vendor = Vendor(thinking, saying("好"))
    vendor.run()
    assert vendor.sent[1]["messages"][1]["reasoning_content"] == "用户想看订单"
