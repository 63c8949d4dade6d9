"""Schemas that broke other projects and what must happen here; the parse cases are in test_arguments."""

import pytest

from labkit.protocol.errors import BadSchema
from labkit.protocol.schema import lint, repair
from tests.schema.test_lint import tool
from tests.schema.test_lint_and_service import sent

NUMBER_OR_NULL = {"anyOf": [{"type": "integer"}, {"type": "null"}]}


def test_x01_an_optional_pydantic_field_breaks_two_rules_and_is_repaired_without_losing_null():
    """567-labs/instructor#1074"""
    broken = tool({"a": {"type": "string"}, "b": {**NUMBER_OR_NULL, "default": None}}) | {"required": ["a"]}
    found = {(problem.rule, problem.path, problem.detail[:9]) for problem in lint(broken)}
    assert found == {("required", (), "'required"), ("permitted", ("properties", "b"), "'default'")}
    assert repair(broken)[0] == tool({"a": {"type": "string"}, "b": NUMBER_OR_NULL})


def test_x04_a_free_form_object_is_an_error_with_three_ways_out_and_never_closed_silently():
    """dynamiq-ai/dynamiq#753, letta-ai/letta#3137"""
    broken = tool({"filters": {"type": "object"}})
    assert "A free-form object cannot be strict" in lint(broken)[0].repair
    with pytest.raises(
        BadSchema, match=r"explicit fields, .* array of key/value objects, or set strict to false"
    ):
        repair(broken)
    assert sent(broken, strict=False) == (200, None)


def test_x06_a_union_at_the_root_is_refused_even_without_strict_and_wrapped_by_one_property():  # covers: L7
    """twentyhq/twenty#22284, elie222/inbox-zero#2231"""
    union = {"anyOf": [tool({"a": {"type": "string"}}), tool({"b": {"type": "string"}})]}
    assert "one property" in lint(union, strict=False)[0].repair
    assert sent(union, strict=False)[0] == 400
    assert sent(tool({"request": union}), strict=True) == (200, None)


@pytest.mark.parametrize("strict", [True, False])
def test_x07_an_array_of_nobody_knows_what_is_refused_with_and_without_strict(strict):
    """ruvnet/ruflo#1294"""
    broken = tool({"ids": {"type": "array"}})
    assert lint(broken, strict=strict)[0].path == ("properties", "ids")
    said = "Invalid schema for function 'f': In context=('properties', 'ids'), array schema missing items."
    assert sent(broken, strict) == (400, said)
