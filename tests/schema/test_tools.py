"""A tool is refused when it is made, not when the model calls it; a toolbox says what will be mixed up."""

import subprocess
import sys
from dataclasses import replace

import pytest

from labkit.files import ROOT, dataset, read_jsonl
from labkit.protocol.errors import BadTool, UnknownTool
from labkit.protocol.tools import NAME, CallContext, Identity, Toolbox, make_tool, safe_names


def get_order(order_id: str, *, context: CallContext):
    """查询指定订单的状态、物流节点和预计送达时间。

    Args:
        order_id: 订单号，例如 10001，不是用户 ID。
    """
    return {"order_id": order_id, "by": context.identity.user}


def get_weather(city: str):
    """Current weather of a city: temperature, humidity, wind.

    Args:
        city: City name, e.g. 北京.
    """


ORDER = make_tool(
    get_order,
    effect="read",
    use_when="用户询问订单状态或物流进度。",
    not_when="修改、取消、退款或支付。",
    examples=("帮我查订单 10001", "订单 20002 到哪了"),
)
WEATHER = make_tool(
    get_weather,
    effect="read",
    use_when="the user asks for the weather, or whether to take an umbrella.",
    not_when="calendars and meetings (get_calendar_events).",
)
BOX = Toolbox([ORDER, WEATHER])


def test_the_contract_becomes_the_description_that_the_model_reads():  # covers: L5
    assert ORDER.description == (
        "查询指定订单的状态、物流节点和预计送达时间。\n适用：用户询问订单状态或物流进度。\n"
        "不适用：修改、取消、退款或支付。\n例：帮我查订单 10001 | 订单 20002 到哪了"
    )
    assert WEATHER.description.splitlines()[1:] == [
        "Use when: the user asks for the weather, or whether to take an umbrella.",
        "Not for: calendars and meetings (get_calendar_events).",
    ]


def test_the_two_wire_forms_carry_the_same_contract():
    function = WEATHER.chat()["function"]
    assert WEATHER.responses() == {"type": "function", **function}
    assert function["strict"] and function["parameters"]["required"] == ["city"]


def test_a_form_once_handed_out_can_be_changed_without_changing_the_tool():
    WEATHER.chat()["function"]["parameters"]["properties"].clear()
    assert WEATHER.schema["properties"]


def test_the_context_reaches_the_function_and_not_the_schema():
    assert list(ORDER.schema["properties"]) == ["order_id"]
    assert ORDER.run(order_id="10001", context=CallContext(Identity("ann")))["by"] == "ann"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"use_when": " "}, "get_weather: use_when is empty"),
        ({"not_when": ""}, "get_weather: not_when is empty"),
        ({"effect": "delete"}, "get_weather: effect must be read or write, not 'delete'"),
        ({"timeout": 0}, "get_weather: timeout must be some seconds"),
        ({"timeout": float("inf")}, "get_weather: timeout must be some seconds"),
    ],
)
def test_what_breaks_the_contract_is_refused_when_it_is_made(changes, complaint):
    contract = {"effect": "read", "use_when": "weather", "not_when": "orders"}
    with pytest.raises(BadTool, match=complaint):
        make_tool(get_weather, **contract | changes)


def undocumented(city: str): ...


def 查询天气():
    """天气。"""


def search(filters: dict):
    """Search.

    Args:
        filters: Anything.
    """


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (undocumented, "undocumented: argument 'city' is not described"),
        (查询天气, "查询天气: the name must match"),
        (search, "search: no strict form"),
    ],
)
def test_a_function_that_makes_no_tool_is_refused_by_name(function, complaint):
    with pytest.raises(BadTool, match=complaint):
        make_tool(function, effect="read", use_when="x", not_when="y")


def test_a_dict_may_be_had_by_giving_up_strictness():
    loose = make_tool(search, effect="read", use_when="x", not_when="y", strict=False)
    assert loose.schema["properties"]["filters"]["additionalProperties"] is True


def test_a_toolbox_finds_keeps_its_order_and_refuses_one_name_twice():
    assert BOX["get_order"] is ORDER
    assert BOX.subset(["get_weather", "get_order"]).names == BOX.names == ("get_order", "get_weather")
    assert Toolbox([WEATHER, ORDER]).subset(BOX.names).names == ("get_weather", "get_order")
    assert "get_order" in BOX and "get_orders" not in BOX and len(BOX) == 2
    with pytest.raises(BadTool, match="two tools are called get_order"):
        Toolbox([ORDER, ORDER])


def test_an_unknown_tool_is_told_with_the_names_there_are():
    with pytest.raises(UnknownTool, match=r"no tool 'refund'. There are: get_order, get_weather"):
        BOX["refund"]


def test_the_fingerprint_follows_what_the_model_sees_and_nothing_else():
    assert replace(WEATHER, timeout=1.0).fingerprint == WEATHER.fingerprint
    assert replace(WEATHER, not_when="").fingerprint != WEATHER.fingerprint
    assert Toolbox([WEATHER, ORDER]).fingerprint != BOX.fingerprint


def test_the_fingerprint_is_the_same_in_another_process():
    code = "from tests.schema.test_tools import BOX; print(BOX.fingerprint)"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert other.stdout.strip() == BOX.fingerprint


def renamed(name, tool=ORDER, **changes):
    return replace(tool, name=name, **changes)


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([renamed("a", not_when="")], ["a: does not say when not to use it"]),
        ([renamed("a", use_when="")], ["a: does not say when to use it"]),
        ([renamed("a", effect="write")], ["a: is a write without an operation key"]),
        ([ORDER, renamed("query_order", WEATHER)], ["get_order, query_order: the names mean the same"]),
        ([ORDER, renamed("searchOrder", WEATHER)], ["get_order, searchOrder: the names mean the same"]),
        ([ORDER, renamed("track")], ["get_order, track: the texts can hardly be told apart"]),
        (
            [ORDER, renamed("track", summary="查询指定订单的物流节点和预计送达时间。")],
            ["get_order, track: the texts can hardly be told apart"],
        ),
        ([ORDER, renamed("refund", summary="把订单的货款退给客户。", use_when="用户要求退款。")], []),
        ([ORDER, renamed("cancel_order", WEATHER)], []),
        ([ORDER, WEATHER], []),
    ],
)
def test_the_linter_of_a_toolbox_says_what_will_go_wrong(tools, said):  # covers: 2.2
    assert Toolbox(tools).lint() == said


@pytest.mark.parametrize(
    "name", ["hosting_restartNode.jsApplicationV1", "mcp_" + "a" * 63, "查询天气", "get weather"]
)
def test_x10_names_that_the_api_refuses_are_refused_here(name):
    with pytest.raises(BadTool, match="the name must match"):
        named = type(get_weather)(get_weather.__code__, get_weather.__globals__, name)
        named.__doc__, named.__annotations__ = get_weather.__doc__, get_weather.__annotations__
        make_tool(named, effect="read", use_when="x", not_when="y")


def test_x10_names_are_mapped_and_two_that_would_become_one_are_an_error():
    assert safe_names(["math.add", "get weather"]) == {"math.add": "math_add", "get weather": "get_weather"}
    for clash in (["math.add", "math_add"], ["a" * 65, "a" * 66], ["查询"]):
        with pytest.raises(BadTool, match="no name of its own"):
            safe_names(clash)


def test_x10_the_dotted_names_of_bfcl_get_names_of_their_own():
    cases = read_jsonl(dataset("bfcl_subset") / "cases.jsonl")
    names = sorted({function["name"] for case in cases for function in case["function"]})
    refused = [name for name in names if not NAME.fullmatch(name)]
    assert refused and all("." in name for name in refused)
    assert all(NAME.fullmatch(name) for name in safe_names(names).values())
