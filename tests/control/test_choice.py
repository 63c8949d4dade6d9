"""A choice becomes what each wire, vendor and family takes; the service accepts all of it."""

import json
from itertools import product

import pytest

from labkit.control.choice import (
    allowed,
    auto,
    check_calls,
    function,
    none,
    parallel_for,
    parameters,
    required,
)
from labkit.protocol.errors import BadSetup, TooManyCalls, UnknownTool
from labkit.protocol.families import FAMILIES, VENDORS, family, vendor
from labkit.protocol.messages import ToolCall
from labkit.protocol.tools import Toolbox
from labkit.service.checks import CheckContext, check_chat, check_responses
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

BOX = shop_tools(Shop())
CHOICES = [
    auto(),
    required(),
    none(),
    function("get_order"),
    allowed(["get_order", "get_weather"], "required"),
]
OPENAI = vendor("openai")


@pytest.mark.parametrize(
    ("choice", "chat", "responses"),
    [
        (auto(), "auto", "auto"),
        (required(), "required", "required"),
        (none(), "none", "none"),
        (
            function("get_order"),
            {"type": "function", "function": {"name": "get_order"}},
            {"type": "function", "name": "get_order"},
        ),
        (
            allowed(["get_order"]),
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [{"type": "function", "function": {"name": "get_order"}}],
                },
            },
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "get_order"}]},
        ),
    ],
)
def test_each_choice_has_its_form_on_each_wire(choice, chat, responses):  # covers: L1 L2 B2.3
    assert parameters(choice, BOX, wire="chat")["tool_choice"] == chat
    assert parameters(choice, BOX, wire="responses")["tool_choice"] == responses


@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.parametrize("model", sorted(FAMILIES))
def test_what_comes_out_is_accepted_by_the_service_for_every_model(wire, model):
    """Effort none is added where openai-wire §1.9 asks for it; search models take no tools at all."""
    kind = family(model)
    who = vendor(kind.vendor)
    for choice, parallel in product(CHOICES, (None, True, False)):
        knobs = {"wire": wire, "vendor": who, "family": kind, "parallel": parallel}
        if wire == "chat" and kind.chat_tools == "never":
            with pytest.raises(BadSetup, match="Responses"):
                parameters(choice, BOX, **knobs)
            continue
        said = {("messages" if wire == "chat" else "input"): [{"role": "user", "content": "hi"}]}
        check = check_chat if wire == "chat" else check_responses
        error = check(
            {"model": model, **said, **parameters(choice, BOX, **knobs)}, CheckContext("strict", who)
        )
        assert error is None or "audio" in error.message, error


def test_allowed_tools_keep_the_list_of_tools_as_it_is():
    assert parameters(allowed(["get_order"]), BOX)["tools"] == parameters(auto(), BOX)["tools"]


def test_a_vendor_without_allowed_tools_gets_only_these_tools_and_a_note():
    result = parameters(allowed(["get_order"]), BOX, vendor=vendor("qwen"), family=family("qwen-flash"))
    assert [tool["function"]["name"] for tool in result["tools"]] == ["get_order"]
    assert result["tool_choice"] == "auto" and "allowed_tools" in result.notes[0]


def test_a_thinking_vendor_that_refuses_to_be_forced_gets_auto_and_a_note():
    deepseek = {"vendor": vendor("deepseek"), "family": family("deepseek-reasoner")}
    result = parameters(function("get_order"), BOX, **deepseek)
    assert result["tool_choice"] == "auto" and len(result["tools"]) == 1 and "check" in result.notes[0]


def test_a_family_that_refuses_the_parallel_knob_is_not_sent_it():
    result = parameters(auto(), BOX, vendor=OPENAI, family=family("o3"), parallel=False)  # covers: L3
    assert "parallel_tool_calls" not in result and "back end" in result.notes[0]


def test_a_model_that_needs_effort_none_gets_it():
    assert parameters(auto(), BOX, vendor=OPENAI, family=family("gpt-6-luna"))["reasoning_effort"] == "none"


def test_a_vendor_without_strict_is_not_sent_it():
    result = parameters(auto(), BOX, vendor=vendor("kimi"), family=family("kimi-k2.6"))
    assert "strict" not in result["tools"][0]["function"] and "strict" in result.notes[0]


def test_nothing_allowed_is_none():
    result = parameters(allowed([]), BOX)
    assert result["tool_choice"] == "none" and result.notes


def test_an_unknown_name_is_refused_before_anything_is_sent():
    with pytest.raises(UnknownTool, match="get_ordr"):
        parameters(allowed(["get_ordr"]), BOX)


def test_parameters_are_json_and_a_plain_dict_to_the_client():
    result = parameters(allowed(["get_order"]), BOX, parallel=False)
    assert json.loads(json.dumps({**result})) == result


def test_every_vendor_takes_an_auto_choice_without_a_note_on_the_choice():
    for name in VENDORS:
        assert parameters(auto(), BOX, vendor=vendor(name))["tool_choice"] == "auto"


def test_reads_may_go_in_parallel_and_writes_may_not():
    assert parallel_for(BOX.subset(["get_order", "get_weather"]))
    assert not parallel_for(BOX.subset(["get_order", "cancel_order"]))
    assert parallel_for(Toolbox(()))


@pytest.mark.parametrize("made", [0, 1, 2])
def test_calls_within_the_cap_pass(made):  # covers: B5.4
    check_calls([ToolCall("c", "get_weather", "{}")] * made, most=2)


def test_one_call_too_many_and_none_runs():
    with pytest.raises(TooManyCalls, match="3 calls in one turn, at most 2"):
        check_calls([ToolCall("c", "get_weather", "{}")] * 3, most=2)
