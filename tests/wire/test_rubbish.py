"""Any JSON value gets an error or nothing, in time that grows with its size and no faster."""

import json
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.protocol.errors import WireError
from labkit.protocol.families import VENDORS
from labkit.service.checks import CheckContext, check_chat, check_responses
from labkit.service.checks.fields import CHAT_NAMES, RESPONSES_NAMES

WORDS = sorted(CHAT_NAMES | RESPONSES_NAMES)
WORDS += ["role", "content", "type", "function", "name", "arguments", "call_id", "id", "tool_call_id"]
WORDS += [
    "tool_calls",
    "user",
    "assistant",
    "tool",
    "function_call",
    "function_call_output",
    "schema",
    "custom",
]
WORDS += [
    "allowed_tools",
    "json_schema",
    "strict",
    "parameters",
    "properties",
    "object",
    "required",
    "effort",
]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(st.characters(), max_size=8),
    st.sampled_from(WORDS),
    st.sampled_from(["gpt-4.1-mini", "gpt-5.4-mini", "o3", "gpt-6-luna", "\ud800"]),
)
KEYS = st.one_of(st.sampled_from(WORDS), st.text(max_size=4))
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)
CHECKS = [
    (check, CheckContext("strict", vendor))
    for check in (check_chat, check_responses)
    for vendor in VENDORS.values()
]


def wire_form(error: WireError | None) -> bool:
    if error is None:
        return True
    return bool(error.message and json.dumps(error.body())) and error.status in (400, 404)


@given(JSON)
def test_any_json_value_is_answered(value):
    assert all(wire_form(check(value, context)) for check, context in CHECKS)


@given(
    st.dictionaries(st.sampled_from(sorted(CHAT_NAMES | RESPONSES_NAMES)), JSON, max_size=6),
    st.sampled_from(["gpt-4.1-mini", "gpt-5", "o3", "gpt-6-luna"]),
)
def test_any_value_of_a_known_field_is_answered(fields, model):
    body = {"messages": [{"role": "user", "content": "x"}], **fields, "model": model}
    assert all(wire_form(check(body, context)) for check, context in CHECKS)
    body = {"input": "x", **fields, "model": model}
    body.pop("messages", None)
    assert all(wire_form(check(body, context)) for check, context in CHECKS)


def nested(depth: int, leaf: object, key: str | None) -> object:
    for _ in range(depth):
        leaf = [leaf] if key is None else {key: leaf}
    return leaf


@pytest.mark.parametrize("key", [None, "properties", "content", "anyOf", "tools"])
@pytest.mark.parametrize(
    "field", ["messages", "tools", "tool_choice", "metadata", "response_format", "model", "input"]
)
def test_ten_thousand_levels_are_answered(field, key):
    body = {
        "model": "gpt-4.1-mini",
        "messages": [{"role": "user", "content": "x"}],
        field: nested(10_000, 1, key),
    }
    assert all(wire_form(check(body, context)) for check, context in CHECKS)


@pytest.mark.parametrize("strict", [False, True])
def test_a_schema_of_ten_thousand_levels_is_refused(strict):
    function = {
        "name": "f",
        "strict": strict,
        "parameters": {"type": "object", "properties": nested(10_000, {}, "x")},
    }
    body = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "x"}]}
    error = check_chat(body | {"tools": [{"type": "function", "function": function}]}, CheckContext())
    assert error.code == "invalid_function_parameters"


def chain(length: int) -> dict:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turn = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "y"},
    ]
    return {"model": "gpt-4.1-mini", "messages": turn * (length // 3)}


def broken_at_the_end(length: int) -> dict:
    body = chain(length)
    return body | {"messages": [*body["messages"], {"role": "user", "content": 1}]}


def many_calls(length: int) -> dict:
    calls = [
        {"type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": "{}"}
        for n in range(length // 2)
    ]
    outputs = [
        {"type": "function_call_output", "call_id": f"c{n}", "output": "x"} for n in range(length // 2)
    ]
    return {"model": "gpt-4.1-mini", "input": calls + outputs[::-1]}


def long_text(length: int) -> dict:
    return {
        "model": "gpt-4.1-mini",
        "messages": [{"role": "user", "content": "é" * 100 * length, "name": "n" * length}],
    }


def seconds(check, body) -> float:
    times = []
    for _ in range(3):
        start = process_time()
        check(body, CheckContext())
        times.append(process_time() - start)
    return min(times)


@pytest.mark.parametrize(
    ("check", "make"),
    [
        (check_chat, chain),
        (check_chat, broken_at_the_end),
        (check_responses, many_calls),
        (check_chat, long_text),
    ],
)
def test_checking_is_linear(check, make):
    """Eight times the request may take eight times as long; quadratic would be 64 times."""
    small, large = seconds(check, make(1_500)), seconds(check, make(12_000))
    assert large < 24 * max(small, 1e-4)


def test_one_megabyte_of_text_costs_next_to_nothing():
    body = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "x" * 1_000_000}]}
    assert seconds(check_chat, body) < 0.01
