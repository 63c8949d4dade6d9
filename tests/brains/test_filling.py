"""Arguments come from the text by the schema; what is not there is named as missing."""

import json

import pytest

from labkit.service.brains.filling import fill, placeholder
from labkit.service.decide import ToolSpec
from labkit.service.obey import misfits
from tests.brains.public_cases import SETS, cases


def schema(required=None, **properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
    }


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("properties", "text", "wanted"),
    [
        ({"order_id": TEXT}, "帮我查订单 10001", {"order_id": "10001"}),
        ({"order_id": TEXT}, "Where is order #10001?", {"order_id": "10001"}),
        ({"ticket_id": TEXT}, "看一下工单 T-1001 吧", {"ticket_id": "T-1001"}),
        ({"city": TEXT}, "北京今天多少度", {"city": "北京"}),
        ({"location": TEXT}, "What is the weather in New York?", {"location": "New York"}),
        ({"date": TEXT}, "2026年3月5日有空吗", {"date": "2026年3月5日"}),
        ({"date": TEXT}, "Book it for March 5, 2026 please", {"date": "March 5, 2026"}),
        ({"to": TEXT}, "给 li@example.com 发信", {"to": "li@example.com"}),
        ({"amount": {"type": "number"}}, "转账 19.9 元", {"amount": 19.9}),
        (
            {"amount": {"type": "number"}, "account": TEXT},
            "Send $500 to account 6222001",
            {"amount": 500, "account": "6222001"},
        ),
        ({"amount": {**TEXT, "pattern": r"^\d+\.\d{2}$"}}, "退 19.9 元", {"amount": "19.90"}),
        (
            {"unit": {**TEXT, "enum": ["celsius", "fahrenheit"]}},
            "in Fahrenheit please",
            {"unit": "fahrenheit"},
        ),
        ({"keyword": TEXT}, "搜索无线耳机", {"keyword": "无线耳机"}),
        ({"query": TEXT}, "Search for red umbrellas, please", {"query": "red umbrellas"}),
        ({"body": TEXT}, "给他发邮件说货已发出", {"body": "货已发出"}),
        (
            {"from_city": TEXT, "to_city": TEXT},
            "Fly from Boston to Chicago",
            {"from_city": "Boston", "to_city": "Chicago"},
        ),
        (
            {"radius": {"type": "integer"}, "height": {"type": "integer"}},
            "height 7 and radius 3",
            {"radius": 3, "height": 7},
        ),
        ({"tags": {"type": "array", "items": TEXT}}, 'tag it "new" and "hot"', {"tags": []}),
        (
            {"emails": {"type": "array", "items": TEXT}},
            "to a@x.com and b@x.com",
            {"emails": ["a@x.com", "b@x.com"]},
        ),
        ({"where": schema(city=TEXT)}, "上海", {"where": {"city": "上海"}}),
    ],
)
def test_a_value_is_found_by_what_its_property_is(properties, text, wanted):
    assert fill(schema(**properties), text)[0].arguments == wanted


def test_two_kinds_of_number_are_not_mixed_up():
    filled = fill(schema(city=TEXT, order_id=TEXT), "订单 10001 的收货地北京天气")[0]
    assert filled.arguments == {"city": "北京", "order_id": "10001"}


def test_what_is_missing_is_named_and_holds_the_emptiest_value():
    filled = fill(schema(order_id=TEXT, city=TEXT), "北京")[0]
    assert filled.missing == ("order_id",) and filled.arguments["order_id"] == ""


def test_an_optional_property_that_is_not_spoken_of_is_left_out():
    assert fill(schema(required=["city"], city=TEXT, note=TEXT), "北京")[0].arguments == {"city": "北京"}


def test_a_nullable_property_becomes_null_and_is_not_missing():
    for nullable in ({"type": ["string", "null"]}, {"anyOf": [TEXT, {"type": "null"}]}):
        filled = fill(schema(order_id=nullable), "你好")[0]
        assert filled.arguments == {"order_id": None} and not filled.missing


def test_of_a_union_the_branch_is_taken_that_the_text_speaks_of():
    weather = schema(tool={"const": "get_weather"}, city=TEXT)
    order = schema(tool={"const": "get_order"}, order_id=TEXT)
    decision = {
        "$defs": {"W": weather, "O": order},
        **schema(decision={"anyOf": [{"$ref": "#/$defs/W"}, {"$ref": "#/$defs/O"}]}),
    }
    assert fill(decision, "查订单 10001")[0].arguments == {
        "decision": {"tool": "get_order", "order_id": "10001"}
    }


def test_a_list_of_orders_is_a_list_of_calls():
    filled = fill(schema(order_id=TEXT), "查一下订单 10001、10002 和 10003")
    assert [one.arguments["order_id"] for one in filled] == ["10001", "10002", "10003"]


def misfit(value, spec):
    return next(misfits(value, spec.parameters, spec.parameters), None)


SPECS = [(case, spec) for source in SETS for case in cases(source) for spec in case.tools]
CONTRADICTION = {"Events_3_BuyEventTickets"}  # an integer whose enum holds strings


def test_a_placeholder_has_the_right_form_for_every_schema_of_the_data_sets():
    wrong = {spec.name for _, spec in SPECS if misfit(placeholder(spec.parameters, spec.parameters), spec)}
    assert wrong == CONTRADICTION


def test_what_is_filled_in_has_the_right_form_for_every_schema_of_the_data_sets():
    filled = (
        (spec, one.arguments)
        for case, spec in SPECS
        for one in fill(spec.parameters, case.messages[-1].content)
    )
    assert {spec.name for spec, arguments in filled if misfit(arguments, spec)} == CONTRADICTION


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"properties": []},
        {"properties": {"a": None}},
        {"properties": {"a": {"type": 3}}, "required": ["a"]},
        {"properties": {"a": {"$ref": "#/x/y"}}, "required": ["a"]},
        {"properties": {"a": {"anyOf": []}}, "required": ["a"]},
        {"properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"properties": {"a": {"enum": []}}, "required": ["a"]},
    ],
)
def test_a_broken_or_endless_schema_does_not_break_it(broken):
    assert json.dumps([filled.arguments for filled in fill(broken, "订单 10001")])
    assert ToolSpec("x", parameters=broken)
