"""Schemas made from models and functions, and loose schemas repaired."""

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from labkit.protocol.errors import BadSchema, BadTool
from labkit.protocol.schema import arguments_model, lint, parse_arguments, plain_schema, repair, strict_schema
from tests.schema.test_lint import NODE, tool


def search_product(keyword: str, limit: int = 10, sort: Literal["price", "sales"] | None = None):
    """Search products by keyword.

    Longer explanations stay here.

    Args:
        keyword: What the customer looks for,
            in Chinese or English.
        limit (int): How many at most.
        sort: Order of the result; null for relevance.

    Returns:
        keyword: not an argument.
    """


def test_a_signature_with_its_docstring_becomes_a_strict_schema():
    assert strict_schema(search_product) == {
        "type": "object",
        "properties": {
            "keyword": {
                "type": "string",
                "description": "What the customer looks for, in Chinese or English.",
            },
            "limit": {"type": "integer", "description": "How many at most. Default: 10."},
            "sort": {
                "anyOf": [{"type": "string", "enum": ["price", "sales"]}, {"type": "null"}],
                "description": "Order of the result; null for relevance.",
            },
        },
        "required": ["keyword", "limit", "sort"],
        "additionalProperties": False,
    }


def test_a_chinese_docstring_describes_its_arguments_too():
    def get_order(order_id: str):
        """查询订单。

        参数：
            order_id：订单号，不是用户 ID。
        """

    assert plain_schema(get_order)["properties"]["order_id"]["description"] == "订单号，不是用户 ID。"


def test_an_annotation_may_carry_the_description_and_the_constraint():
    def refund(amount: Annotated[float, Field(gt=0, le=5000, description="In yuan.")]):
        """Refund."""

    assert strict_schema(refund)["properties"]["amount"] == {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": 5000,
        "description": "In yuan.",
    }


def test_the_callers_context_is_no_argument_of_the_model():
    def get_order(order_id: str, *, context: Any = None):
        """Order.

        Args:
            order_id: Number.
        """

    assert list(arguments_model(get_order).model_fields) == ["order_id"]


def undescribed(city: str):
    """Weather."""


def unannotated(city):
    """Weather.

    Args:
        city: Name.
    """


def starred(*cities: str):
    """Weather.

    Args:
        cities: Names.
    """


def unresolvable(city: "Stadt"):  # noqa: F821
    """Weather.

    Args:
        city: Name.
    """


def unmodelled(city: object.__class__.__call__.__class__):
    """Weather.

    Args:
        city: Name.
    """


def private(_city: str):
    """Names a private argument, which a model would leave out without a word.

    Args:
        _city: The city.
    """


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (undescribed, "undescribed: argument 'city' is not described"),
        (unannotated, "unannotated: argument 'city' has no annotation"),
        (starred, "starred: argument 'cities' cannot be sent by name"),
        (private, "private: argument '_city' cannot be sent by name"),
        (unresolvable, "unresolvable: no schema can be made"),
        (unmodelled, "unmodelled: no schema can be made"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_naming_function_and_argument(function, complaint):
    with pytest.raises(BadTool, match=complaint.replace("(", r"\(")):
        arguments_model(function)


class Node(BaseModel):
    name: str
    children: list["Node"] = []


def test_a_recursive_model_gets_an_object_at_its_root():
    schema = strict_schema(Node)
    assert (schema["type"], lint(schema)) == ("object", [])


class Free(BaseModel):
    filters: dict[str, Any]


def test_a_dict_is_refused_with_the_alternatives_and_never_closed_silently():
    with pytest.raises(
        BadSchema, match="explicit fields, make it an array of key/value objects, or set strict"
    ):
        strict_schema(Free)


@pytest.mark.parametrize(
    "loose",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": True},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {}, "additionalProperties": True},
    ],
)
def test_no_spelling_of_a_free_form_object_slips_through(loose):
    with pytest.raises(BadSchema):
        repair(tool({"filters": loose}))


def test_a_function_without_arguments_stays_one():
    assert repair({"type": "object", "properties": {}})[0] == tool({})


def test_repair_lists_what_changes_in_meaning():
    loose = {
        "type": "object",
        "properties": {
            "url": {"type": "string", "format": "uri", "maxLength": 99},
            "unit": {"enum": ["c", "f"], "default": "c"},
            "tags": {"type": "array", "items": {"oneOf": [{"type": "string"}, {"type": "integer"}]}},
        },
        "required": ["url"],
    }
    fixed, changes = repair(loose)
    assert fixed == tool(
        {
            "url": {"type": "string"},
            "unit": {"enum": ["c", "f"], "description": 'Default: "c".', "type": "string"},
            "tags": {
                "type": ["array", "null"],
                "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            },
        }
    )
    assert changes == [
        "root: other fields are refused",
        "url: maxLength 99 is not enforced",
        "url: format 'uri' is not enforced",
        "unit: must be sent, the default is only told",
        "tags.items: more than one alternative may fit",
        "tags: null means left out",
    ]


@pytest.mark.parametrize(
    ("optional", "nullable"),
    [
        ({"type": "integer"}, {"type": ["integer", "null"]}),
        ({"type": ["integer", "null"]}, {"type": ["integer", "null"]}),
        ({"type": "string", "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"const": 5}, {"anyOf": [{"const": 5, "type": "integer"}, {"type": "null"}]}),
        ({"anyOf": [{"type": "string"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"$ref": "#"}, {"anyOf": [{"$ref": "#"}, {"type": "null"}]}),
        ({"allOf": [{"type": "string"}]}, {"type": ["string", "null"]}),
    ],
)
def test_optional_becomes_nullable_in_each_form_of_a_type(optional, nullable):
    fixed, _ = repair({"type": "object", "properties": {"x": optional}})
    assert fixed == tool({"x": nullable})


@pytest.mark.parametrize(
    "loose",
    [
        {"type": "object", "properties": {"a": {"type": "string"}}, "allOf": [{"properties": {"b": {}}}]},
        {"anyOf": [{"type": "string"}], "oneOf": [{"type": "null"}]},
        {"anyOf": [{"type": "string"}], "$ref": "#"},
    ],
)
def test_a_schema_is_refused_rather_than_losing_half_of_its_meaning(loose):
    with pytest.raises(BadSchema):
        repair(tool({"x": loose}))


def test_that_one_alternative_no_longer_excludes_the_other_is_told():
    union = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    assert repair(tool({"x": union}))[1] == ["x: more than one alternative may fit"]


@settings(max_examples=300)
@given(NODE)
def test_what_repair_returns_passes_the_linter_and_anything_else_is_an_error(schema):
    try:
        fixed, _ = repair(schema)
    except BadSchema:
        return
    assert lint(fixed) == []


def test_repair_is_done_at_once_and_leaves_its_input_alone():
    loose = {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}
    fixed, changes = repair(loose)
    assert repair(fixed) == (fixed, [])
    assert changes and loose == {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}


def test_what_fits_the_strict_schema_of_a_model_fits_the_model():
    sent = {"keyword": "键盘", "limit": 3, "sort": None}
    Draft202012Validator(strict_schema(search_product)).validate(sent)
    assert parse_arguments(sent, arguments_model(search_product)).model_dump() == sent
