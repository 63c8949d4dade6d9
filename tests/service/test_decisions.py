"""From request to decision: what a brain is asked, what it may not decide, and the brains that are told."""

import json

import openai
import pytest

from labkit.protocol.errors import ScriptEnded
from labkit.protocol.messages import ToolCall
from labkit.service.api import Service
from labkit.service.brains.scripted import call, looping, obedient, script
from labkit.service.decide import Ask, Decision, ask_of, chat_form
from labkit.service.obey import broken_rule, misfits
from tests.service.doors import ASKED, BODY, FLAT_GET_ORDER, GET_ORDER, client, post, say

CANCEL = {"type": "function", "function": {"name": "cancel_order", "description": "Cancel one order."}}
NAMED = {"type": "function", "function": {"name": "get_order"}}
ALLOWED = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NAMED]}}


def asked(**options):
    return ask_of({**BODY, "tools": [GET_ORDER, CANCEL], **options})


@pytest.mark.parametrize(
    ("choice", "mode", "named", "names"),
    [
        (None, "auto", None, ["get_order", "cancel_order"]),
        ("none", "none", None, []),
        ("required", "required", None, ["get_order", "cancel_order"]),
        (NAMED, "required", "get_order", ["get_order"]),
        (ALLOWED, "required", None, ["get_order"]),
        ({"type": "function", "name": "get_order"}, "required", "get_order", ["get_order"]),
        ({"type": "allowed_tools", "mode": "auto", "tools": [FLAT_GET_ORDER]}, "auto", None, ["get_order"]),
    ],
)
def test_a_choice_says_what_may_be_called(choice, mode, named, names):
    ask = asked(tool_choice=choice)
    assert (ask.mode, ask.named, [tool.name for tool in ask.callable]) == (mode, named, names)


def test_without_tools_nothing_may_be_called():
    assert ask_of(BODY).mode == "none"


def test_a_named_function_and_parallel_off_allow_one_call():
    assert [asked(**o).parallel for o in ({}, {"tool_choice": NAMED}, {"parallel_tool_calls": False})] == [
        True,
        False,
        False,
    ]


def test_both_wire_forms_are_read_alike():
    chat = [
        {"role": "system", "content": "Be kind."},
        *ASKED,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "get_order", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "shipped"},
    ]
    items = [
        *ASKED,
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "call_1", "name": "get_order", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "shipped"},
    ]
    flat = chat_form({"model": "gpt-4.1-mini", "instructions": "Be kind.", "tools": [FLAT_GET_ORDER]}, items)
    one, other = ask_of({**BODY, "messages": chat, "tools": [GET_ORDER]}), ask_of(flat)
    assert (one.messages, one.tools, one.mode) == (other.messages, other.tools, other.mode)


def test_what_a_vendor_adds_to_a_message_is_handed_on():
    message = {"role": "assistant", "content": "", "reasoning_content": "hm"}
    assert ask_of({**BODY, "messages": [message]}).messages[0].extra == {"reasoning_content": "hm"}


def decided(*calls, **options):
    return broken_rule(asked(**options), Decision(calls=calls))


@pytest.mark.parametrize(
    ("calls", "options", "said"),
    [
        ([call("get_order", order_id="1")], {"tool_choice": "none"}, "although tool_choice is none"),
        ([], {"tool_choice": "required"}, "it calls no tool although tool_choice requires one"),
        ([call("cancel_order")], {"tool_choice": NAMED}, "only 'get_order' may be called"),
        ([call("refund_order")], {}, "only 'get_order', 'cancel_order' may be called"),
        ([call("cancel_order")] * 2, {"parallel_tool_calls": False}, "it makes 2 calls at once"),
        ([call("get_order")], {}, "arguments.order_id is missing"),
        ([call("get_order", order_id=7)], {}, "arguments.order_id is of type integer, not string"),
        ([call("get_order", order_id="7", x=1)], {}, "arguments.x is not in the schema"),
        ([ToolCall("", "get_order", '{"order')], {}, "they are not JSON"),
        ([ToolCall("", "get_order", {"order_id": "7"})], {}, "no JSON string but dict"),
    ],
)
def test_a_decision_that_breaks_a_hard_control_is_named(calls, options, said):
    assert said in decided(*calls, **options)


@pytest.mark.parametrize(
    ("decision", "options"),
    [
        (Decision(calls=(call("get_order", order_id="1"),)), {"tool_choice": NAMED}),
        (Decision(calls=(ToolCall("", "cancel_order", "not JSON"),)), {}),
        (Decision(refusal="I may not do that."), {"tool_choice": "required"}),
        (Decision(text="", finish="content_filter"), {"tool_choice": "required"}),
    ],
)
def test_a_decision_within_the_controls_passes(decision, options):
    assert broken_rule(asked(**options), decision) is None


@pytest.mark.parametrize("cut", ["", '{"order', '{"order_id": "100'])
def test_the_output_limit_may_cut_the_last_of_strict_arguments(cut):
    """The guarantee of strict ends where the output ends; whatever came before is whole."""
    whole, half = call("get_order", order_id="1"), ToolCall("", "get_order", cut)
    assert broken_rule(asked(), Decision(calls=(whole, half), finish="length")) is None
    assert "they are not JSON" in broken_rule(asked(), Decision(calls=(half, whole), finish="length"))
    assert "they are not JSON" in broken_rule(asked(), Decision(calls=(whole, half)))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [("order 1", "they are not JSON"), ("[1", "they are not JSON"), ('{"order_id": 1}', "of type integer")],
)
def test_the_output_limit_excuses_nothing_but_a_beginning(arguments, said):
    decision = Decision(calls=(ToolCall("", "get_order", arguments),), finish="length")
    assert said in broken_rule(asked(), decision)


@pytest.mark.parametrize(
    ("value", "schema", "count"),
    [
        ({"a": None}, {"properties": {"a": {"type": ["string", "null"]}}}, 0),
        ([1, "x"], {"type": "array", "items": {"type": "integer"}}, 1),
        (True, {"type": "integer"}, 1),
        ("b", {"enum": ["a"]}, 1),
        (2, {"const": 1}, 1),
        (1, {"anyOf": [{"type": "string"}, {"type": "null"}]}, 1),
        ({"next": {"next": None}}, {"$ref": "#"}, 0),
        ({"next": {"next": 1}}, {"$ref": "#"}, 1),
        (1, {"$ref": "#/$defs/Count"}, 0),
        ("1", {"$ref": "#/$defs/Count"}, 1),
    ],
)
def test_arguments_are_held_against_the_strict_subset(value, schema, count):
    root = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}
    root["$defs"] = {"Count": {"type": "integer"}}
    assert len(list(misfits(value, schema, root))) == count


def test_a_script_takes_a_step_a_request_and_then_says_that_it_is_dry():
    ask_by = client(Service(script("one", lambda ask: f"turn {ask.turn}")), max_retries=2)
    texts = [ask_by.chat.completions.create(**BODY).choices[0].message.content for _ in range(2)]
    with pytest.raises(
        openai.InternalServerError, match="the script has 2 steps, and this is request 3"
    ) as caught:
        ask_by.chat.completions.create(**BODY)
    assert texts == ["one", "turn 1"] and caught.value.code == ScriptEnded.kind


@pytest.mark.parametrize("step", [Decision(text="hi"), "hi", lambda ask: "hi", lambda ask: lambda ask: "hi"])
def test_a_step_may_be_a_decision_a_text_or_a_function(step):
    assert script(step)(asked()).text == "hi"


@pytest.mark.parametrize("step", [call("f"), [call("f")], (call("f"),)])
def test_a_step_may_be_one_call_or_several(step):
    assert [one.name for one in script(step)(asked()).calls] == ["f"]


def test_an_answer_that_is_no_decision_is_said_in_words():
    status, said = post(Service(lambda ask: 42), BODY)
    assert status == 500 and "it answered int, not a Decision" in json.loads(said)["error"]["message"]


@pytest.mark.parametrize("choice", ["required", NAMED, ALLOWED])
def test_obedient_calls_what_it_is_forced_to(choice):
    hello = [{"role": "user", "content": "Hello there."}]
    calls = obedient(asked(messages=hello, tool_choice=choice)).calls
    assert calls and broken_rule(asked(tool_choice=choice), Decision(calls=calls)) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Where is order 10001?", ["get_order"]),
        ("Cancel order 10001.", ["cancel_order"]),
        ("取消订单 10001", ["cancel_order"]),
        ("Good morning!", []),
    ],
)
def test_obedient_on_auto_calls_when_the_words_ask_for_it(text, names):
    calls = obedient(asked(messages=[{"role": "user", "content": text}])).calls
    assert [one.name for one in calls] == names


def test_obedient_answers_from_the_results():
    wanted = {"id": "call_1", "type": "function", "function": {"name": "get_order", "arguments": "{}"}}
    chain = [
        *ASKED,
        {"role": "assistant", "tool_calls": [wanted]},
        {"role": "tool", "tool_call_id": "call_1", "content": "shipped"},
    ]
    assert obedient(asked(messages=chain)).text == "Here is what I found: shipped"


def test_a_persona_keeps_its_habit():
    assert looping(asked(messages=[{"role": "user", "content": "Hello."}])).calls


def test_obedient_fills_a_response_format():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    content = say(Service(obedient), {**BODY, "response_format": form})["choices"][0]["message"]["content"]
    assert list(misfits(json.loads(content), schema, schema)) == []


def test_every_persona_is_a_brain():
    assert all(isinstance(brain(Ask("m", (), mode="none")), Decision) for brain in (obedient, looping))
