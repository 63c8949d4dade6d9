"""One rule book: what the linter says is what the offline service answers, for schemas nobody thought of."""

import json

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from labkit.files import dataset, read_jsonl
from labkit.protocol.errors import BadSchema
from labkit.protocol.schema import RULES, lint, repair
from labkit.service.api import Service
from labkit.service.brains.scripted import script
from labkit.service.checks import CheckContext, check_chat, check_responses

LEAF = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            ["string", "integer", "array", "object", ["string", "null"], ["array", "null"]]
        ),
        "description": st.just("x"),
        "enum": st.sampled_from([["a", "b"], [1, 2], ["a", None]]),
        "format": st.sampled_from(["email", "uri", "date"]),
        "default": st.sampled_from([None, "a"]),
        "minLength": st.sampled_from([1, -1]),
        "uniqueItems": st.just(True),
        "$ref": st.sampled_from(["#", "#/$defs/A", "#/nowhere"]),
        "pattern": st.sampled_from(["a+", "("]),
    },
)


def objects(inner):
    properties = st.dictionaries(st.sampled_from(["a", "b", "城市"]), inner, max_size=3)
    return st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "properties": properties,
            "additionalProperties": st.sampled_from([False, False, True]) | inner,
            "required": st.lists(st.sampled_from(["a", "b", "城市"]), max_size=3),
            "$defs": st.fixed_dictionaries({"A": inner}),
        },
    )


def strict_objects(inner):
    properties = st.dictionaries(st.sampled_from(["a", "b", "城市"]), inner, max_size=3)
    return properties.map(
        lambda found: {
            "type": "object",
            "properties": found,
            "required": list(found),
            "additionalProperties": False,
        }
    )


def lists(inner):
    union = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {"type": st.just("array")}, optional={"items": inner}
    ) | st.fixed_dictionaries({}, optional={"anyOf": union, "oneOf": union, "allOf": union})


ANYTHING = st.recursive(
    LEAF, lambda inner: objects(inner) | strict_objects(inner) | lists(inner), max_leaves=8
)

RIGHT = st.sampled_from(
    [
        {"type": "string"},
        {"type": ["integer", "null"]},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "string", "format": "date"},
        {"$ref": "#"},
    ]
)
DEEP = {"type": "string"}
for _ in range(9):
    DEEP = {"type": "array", "items": DEEP}
WRONG = st.sampled_from(
    [
        {},
        DEEP,
        {"type": "array"},
        {"type": "object"},
        {"type": "string", "format": "uri"},
        {"type": "integer", "enum": ["1"]},
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"$ref": "#/nowhere"},
        {"$ref": "#", "description": "x"},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
        {"type": "object", "properties": {}, "required": ["a"], "additionalProperties": False},
    ]
)


def right_lists(inner):
    return inner.map(lambda found: {"type": "array", "items": found}) | st.lists(
        inner, min_size=1, max_size=2
    ).map(lambda found: {"anyOf": found})


NEARLY = st.recursive(
    st.one_of(RIGHT, RIGHT, RIGHT, WRONG),
    lambda inner: strict_objects(inner) | right_lists(inner),
    max_leaves=5,
)
ROOT = st.one_of(strict_objects(NEARLY), strict_objects(NEARLY), objects(ANYTHING), ANYTHING)

PATIENT = settings(max_examples=3000, derandomize=True, deadline=None, phases=[Phase.generate], database=None)


def expected(schema, strict, profile="strict"):
    problems = lint(schema, strict=strict)
    first = next((problem for problem in problems if problem.certain or profile == "strict"), None)
    return first and f"Invalid schema for function 'f': {first.api_message}"


@settings(max_examples=1500, deadline=None)
@given(ROOT, st.booleans(), st.sampled_from(["strict", "lenient"]))
def test_the_service_says_of_thousands_of_schemas_what_the_linter_says(schema, strict, profile):
    function = {"name": "f", "parameters": schema, "strict": strict}
    user = [{"role": "user", "content": "hi"}]
    context, model = CheckContext(profile=profile), "gpt-4.1-mini"
    chat = {"model": model, "messages": user, "tools": [{"type": "function", "function": function}]}
    responses = {"model": model, "input": user, "tools": [{"type": "function", **function}]}
    answers = check_chat(chat, context), check_responses(responses, context)
    assert [answer and answer.message for answer in answers] == [expected(schema, strict, profile)] * 2
    if answers[0]:
        assert [answer.param for answer in answers] == ["tools[0].function.parameters", "tools[0].parameters"]
        assert {answer.code for answer in answers} == {"invalid_function_parameters"}


@pytest.mark.parametrize("rule", [*RULES, None])
def test_the_schemas_of_this_test_break_each_rule_and_none(rule):
    first = find(ROOT, lambda schema: next((p.rule for p in lint(schema)), None) == rule, settings=PATIENT)
    assert next((problem.rule for problem in lint(first)), None) == rule


def sent(schema, strict):
    """Status and message of a request with one tool, over the service's own door."""
    tool = {"type": "function", "function": {"name": "f", "parameters": schema, "strict": strict}}
    body = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "hi"}], "tools": [tool]}
    answer = Service(script("hi")).handle(
        "POST", "/v1/chat/completions", {"authorization": "Bearer sk-test"}, json.dumps(body).encode()
    )
    return answer.status, json.loads(answer.body).get("error", {}).get("message")


@pytest.mark.parametrize("name", ["github_mcp_tools", "injecagent_tools"])
def test_real_tools_are_refused_in_the_linters_words_and_accepted_once_repaired(name):
    for row in read_jsonl(dataset("tool_catalogs") / f"{name}.jsonl"):
        schema = row["function"]["parameters"]
        assert sent(schema, True) == (400, expected(schema, True))
        loose = expected(schema, False)
        assert sent(schema, False) == ((400, loose) if loose else (200, None))
        try:
            assert sent(repair(schema)[0], True) == (200, None)
        except BadSchema:
            continue
