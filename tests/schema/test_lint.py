"""Each rule of the strict subset: a schema that breaks it, what the API says, and the schema put right."""

import json
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from labkit.files import dataset, read_jsonl
from labkit.protocol.schema import RULES, lint

CLOSED = "'additionalProperties' is required to be supplied and to be false."


def tool(properties, **more):
    """A strict root around some properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        **more,
    }


A = {"a": {"type": "string"}}
DEEP = {"type": "string"}
for _ in range(11):
    DEEP = tool({"x": DEEP})

TWINS = [  # rule, broken, what the API says, put right
    (
        "root_union",
        {"anyOf": [tool(A), tool({})]},
        "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
        tool({"request": {"anyOf": [tool(A), tool({})]}}),
    ),
    (
        "root_object",
        {"properties": A},
        "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.",
        tool(A),
    ),
    (
        "root_object",
        {"type": "array", "items": {"type": "string"}},
        "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.",
        tool({"list": {"type": "array", "items": {"type": "string"}}}),
    ),
    ("json_schema", tool(A) | {"required": None}, "None is not of type 'array'.", tool(A)),
    ("json_schema", tool({"a": []}), "[] is not of type 'object', 'boolean'.", tool(A)),
    (
        "json_schema",
        tool({"a": {"type": "string", "$id": "Parameters Schema"}}),
        "'Parameters Schema' is not a 'uri-reference'.",
        tool(A),
    ),
    (
        "json_schema",
        tool({"a": {"type": "dict"}}),
        "'dict' is not valid under any of the given schemas.",
        tool({"a": tool({})}),
    ),
    (
        "json_schema",
        tool({"a": {"type": "string", "pattern": "^\\p{Letter}+$"}}),
        "'^\\\\p{Letter}+$' is not a 'regex'.",
        tool({"a": {"type": "string", "pattern": "^\\w+$"}}),
    ),
    ("properties", {"type": "object"}, "In context=(), object schema missing properties.", tool({})),
    (
        "items",
        tool({"paths": {"type": "array"}}),
        "In context=('properties', 'paths'), array schema missing items.",
        tool({"paths": {"type": "array", "items": {"type": "string"}}}),
    ),
    (
        "items",
        tool({"paths": {"type": ["null", "array"]}}),
        "In context=('properties', 'paths', 'type', '1'), array schema missing items.",
        tool({"paths": {"type": ["null", "array"], "items": {"type": "string"}}}),
    ),
    (
        "reference_alone",
        tool({"a": {"$ref": "#/$defs/A", "description": "x"}}, **{"$defs": {"A": {"type": "string"}}}),
        "In context=('properties', 'a'), $ref cannot have keywords {'description'}.",
        tool(
            {"a": {"anyOf": [{"$ref": "#/$defs/A"}], "description": "x"}},
            **{"$defs": {"A": {"type": "string"}}},
        ),
    ),
    (
        "reference_target",
        tool({"a": {"$ref": "#/properties/b"}, "b": {"type": "string"}}),
        "In context=('properties', 'a'), reference can only point to definitions defined at the top level of "
        "the schema.",
        tool(
            {"a": {"$ref": "#/$defs/B"}, "b": {"$ref": "#/$defs/B"}}, **{"$defs": {"B": {"type": "string"}}}
        ),
    ),
    (
        "permitted",
        tool({"a": {"allOf": [{"type": "string"}]}}),
        "In context=('properties', 'a'), 'allOf' is not permitted.",
        tool(A),
    ),
    (
        "permitted",
        tool({"a": {"oneOf": [{"type": "string"}, {"type": "null"}]}}),
        "In context=('properties', 'a'), 'oneOf' is not permitted.",
        tool({"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}),
    ),
    (
        "permitted",
        tool({"a": {"type": "string", "default": "x"}}),
        "In context=('properties', 'a'), 'default' is not permitted.",
        tool(A),
    ),
    ("type", tool({"x": {}}), "In context=('properties', 'x'), schema must have a 'type' key.", tool(A)),
    (
        "type",
        tool({"x": {"const": "sale"}}),
        "In context=('properties', 'x'), schema must have a 'type' key.",
        tool({"x": {"type": "string", "const": "sale"}}),
    ),
    (
        "closed",
        {"type": "object", "properties": A, "required": ["a"]},
        f"In context=(), {CLOSED}",
        tool(A),
    ),
    (
        "closed",
        tool({"m": {"type": "object", "additionalProperties": {"type": "integer"}}}),
        f"In context=('properties', 'm'), {CLOSED}",
        tool(
            {
                "m": {
                    "type": "array",
                    "items": tool({"key": {"type": "string"}, "value": {"type": "integer"}}),
                }
            }
        ),
    ),
    (
        "required",
        tool(A | {"unit": {"type": "string"}}) | {"required": ["a"]},
        "In context=(), 'required' is required to be supplied and to be an array including every key in "
        "properties. Missing 'unit'.",
        tool(A | {"unit": {"type": ["string", "null"]}}),
    ),
    (
        "not_required",
        tool(A) | {"required": ["a", "recipe"]},
        "In context=(), 'required' must be an array that includes every key in `properties`. "
        "Extra required key 'recipe' supplied.",
        tool(A),
    ),
    (
        "format",
        tool({"url": {"type": "string", "format": "uri"}}),
        "In context=('properties', 'url'), 'uri' is not a valid format.",
        tool({"url": {"type": "string"}}),
    ),
    (
        "enum",
        tool({"n": {"type": ["integer", "null"], "enum": ["0", "1"]}}),
        "In context=('properties', 'n'), enum value 0 does not validate against "
        "{'type': ['integer', 'null']}.",
        tool({"n": {"type": ["integer", "null"], "enum": [0, 1, None]}}),
    ),
    ("limits", DEEP, "11 levels of nesting exceeds limit of 10.", DEEP["properties"]["x"]),
]


@pytest.mark.parametrize(("rule", "broken", "message", "right"), TWINS, ids=[twin[0] for twin in TWINS])
def test_a_broken_rule_is_reported_in_the_words_of_the_api(rule, broken, message, right):  # covers: L6 AC2
    first, *_ = lint(broken)
    assert (first.rule, first.api_message) == (rule, message)
    assert lint(right) == []


def test_every_rule_has_a_twin():
    assert {rule for rule, *_ in TWINS} == set(RULES)


def test_every_refusal_that_the_wire_rules_record_is_the_first_problem_of_the_linter():
    told = 0
    for row in read_jsonl(dataset("wire_rules") / "rules.jsonl"):
        prefix, _, message = row["expect"].get("message", "").partition("': ")
        if prefix.startswith("Invalid schema for function"):
            sent = row["request"].get("tools") or row["request"].get("functions")
            found = {spec["name"]: spec for spec in (tool.get("function", tool) for tool in sent)}
            spec = found[prefix.rpartition("'")[2]]
            assert lint(spec["parameters"], strict=spec.get("strict", False))[0].api_message == message
            told += 1
    assert told >= 14


@pytest.mark.parametrize("keyword", ["default", "minLength", "maxLength"])
def test_what_reports_disagree_about_is_flagged_as_uncertain(keyword):
    (problem,) = lint(tool({"a": {"type": "string", keyword: 1}}))
    assert not problem.certain


def test_problems_that_need_no_strict_mode_come_first_and_are_all_that_a_loose_tool_hears():
    broken = {"type": "object", "properties": {"ids": {"type": "array"}, "x": {}}}
    assert lint(broken, strict=False) == [problem for problem in lint(broken) if not problem.strict_only]
    assert lint(broken)[0].rule == "items"


def test_a_nested_object_without_properties_is_accepted_unless_it_is_strict():
    loose = {"type": "object", "properties": {"filters": {"type": "object"}}}
    assert lint(loose, strict=False) == []


def test_recursion_through_the_root_and_through_definitions_is_fine():
    node = tool({"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}})
    root = tool({"tree": {"$ref": "#/$defs/node"}, "next": {"$ref": "#"}}, **{"$defs": {"node": node}})
    assert lint(root) == []


@pytest.mark.parametrize(
    ("schema", "counted"),
    [
        (tool({f"p{n}": {"type": "string"} for n in range(5_001)}), "5001 parameters exceeds limit of 5000."),
        (
            tool({"e": {"type": "integer", "enum": list(range(1_001))}}),
            "1001 enum values exceeds limit of 1000.",
        ),
        (
            tool({"n" * 119_999: {"type": "string"}, "mm": {"type": "string"}}),
            "120001 characters of names and values exceeds limit of 120000.",
        ),
        (
            tool({"n" * 100: {"type": "string", "enum": ["v" * 119_901]}}),
            "120001 characters of names and values exceeds limit of 120000.",
        ),
        (
            tool({"e": {"type": "string", "enum": [f"{n:060}" for n in range(251)]}}),
            "15060 characters in 251 enum values exceeds limit of 15000.",
        ),
    ],
)
def test_a_limit_is_counted_exactly(schema, counted):
    assert [problem.api_message for problem in lint(schema)] == [counted]


def test_what_is_just_at_the_limits_passes():
    names = {f"p{n}": {"type": "string"} for n in range(4_999)}
    assert lint(tool(names | {"e": {"type": "string", "enum": [f"{n:060}" for n in range(250)]}})) == []
    assert lint(tool({"e": {"type": "integer", "enum": list(range(1_000))}})) == []
    assert lint(DEEP["properties"]["x"]) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
WORDS = st.sampled_from(
    ["type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"]
) | st.sampled_from(
    ["$defs", "additionalProperties", "pattern", "format", "minLength", "maxItems", "minimum", "$id", "if"]
)
RUBBISH = st.recursive(
    JSON,
    lambda inner: st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=20,
)


@given(RUBBISH)
def test_the_linter_never_raises_whatever_it_is_given(rubbish):
    for strict in (True, False):
        assert all(isinstance(problem.api_message, str) for problem in lint(rubbish, strict=strict))


def test_what_goes_too_deep_or_in_circles_is_refused_and_not_followed():
    circle = tool({})
    circle["properties"]["again"] = circle
    assert "limits" in {problem.rule for problem in lint(circle)}
    deep = nest = []
    for _ in range(900):
        nest.append([])
        nest = nest[0]
    assert lint({"type": "object", "properties": {"a": {"type": "string", "enum": deep}}})


META = Draft202012Validator(
    Draft202012Validator.META_SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER
)
NODE = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "object", "array", "dict", ["string", "null"], [], 5, None]),
            "required": st.sampled_from([[], ["a"], None, True, [1], "a"]),
            "enum": st.sampled_from([["a"], [], None, "a"]),
            "pattern": st.sampled_from(["a+", "(", "\\p{L}", 3]),
            "$id": st.sampled_from(["a", "a b", 5]),
            "title": st.sampled_from(["t", None, 5]),
            "minimum": st.sampled_from([1, "1", True, 1.5]),
            "minLength": st.sampled_from([1, -1, 1.0, 1.5, True]),
            "uniqueItems": st.sampled_from([True, "x"]),
        },
    )
    | st.sampled_from([True, False, [], 5, "x", None]),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.just("object"),
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
            | st.sampled_from([[], None]),
            "items": inner,
            "anyOf": st.lists(inner, max_size=2),
            "not": inner,
            "additionalProperties": inner,
            "$defs": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
        },
    ),
    max_leaves=10,
)


@given(NODE)
def test_a_schema_is_called_json_schema_exactly_where_the_jsonschema_library_agrees(schema):
    """The library is the judge here; it is no part of labkit."""
    with warnings.catch_warnings(action="ignore"):
        theirs = META.is_valid(json.loads(json.dumps(schema)))
    ours = all(problem.rule != "json_schema" for problem in lint(schema, strict=False))
    assert ours == theirs
