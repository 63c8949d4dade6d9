"""The JSON Schema Test Suite against our linter, our repair and our argument validation, with exact counts.

labkit validates arguments with Pydantic models, not with JSON Schema. So each schema of the suite that can
be a strict argument is translated into an annotation here, in the test, and `parse_arguments` judges the
suite's values for it. Repaired schemas are judged by the `jsonschema` library, which is no part of labkit.
"""

import json
from collections import Counter
from functools import reduce
from pathlib import Path
from typing import Annotated, Any

from jsonschema import Draft202012Validator
from pydantic import AfterValidator, BaseModel, ConfigDict, create_model

from labkit.protocol.errors import BadSchema, InvalidArguments
from labkit.protocol.schema import lint, parse_arguments, repair
from tests.schema.test_lint import tool

GROUPS = [
    (path.stem, group)
    for path in sorted((Path(__file__).parent.parent / "json_schema_test_suite").glob("*.json"))
    for group in json.loads(path.read_text(encoding="utf-8"))
]
PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}


def among(values: list[Any]) -> Any:
    """A validator for values that Literal cannot hold: equal as JSON, so that 1 is 1.0 and is not true."""

    def check(value: Any) -> Any:
        assert any(same(value, wanted) for wanted in values)
        return value

    return AfterValidator(check)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def annotation(schema: dict[str, Any]) -> Any:
    if "anyOf" in schema:
        return reduce(lambda one, other: one | other, map(annotation, schema["anyOf"]))
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    found = reduce(lambda one, other: one | other, [one_type(kind, schema) for kind in kinds])
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return found if values is None else Annotated[found or type(None), among(values)]


def one_type(kind: str, schema: dict[str, Any]) -> Any:
    if kind == "array":
        return list[annotation(schema["items"])]
    if kind == "object":
        fields = {name: (annotation(child), ...) for name, child in schema["properties"].items()}
        return create_model("Object", __config__=ConfigDict(extra="forbid"), **fields)
    return PLAIN[kind]


def accepts(model: type[BaseModel], value: Any) -> bool:
    try:
        parse_arguments(json.dumps({"value": value}), model)
    except InvalidArguments:
        return False
    return True


def test_the_linter_calls_214_of_the_215_schemas_json_schema():
    wrong = [
        problem.detail
        for _, group in GROUPS
        for problem in lint(group["schema"], strict=False)
        if problem.rule == "json_schema"
    ]
    assert len(GROUPS) == 215
    assert wrong == ["'^\\\\p{Letter}+$' is not a 'regex'."]  # as the API says: its patterns are Python's


def test_of_the_9_schemas_that_are_strict_as_they_stand_all_61_values_are_judged_as_the_suite_does():
    counts = Counter()
    for file, group in GROUPS:
        wrapped = tool({"value": group["schema"]})
        if not lint(wrapped):
            model = one_type("object", wrapped)
            agreed = [accepts(model, case["data"]) == case["valid"] for case in group["tests"]]
            counts.update({"schemas": 1, file: len(agreed), "agreed": sum(agreed)})
    assert counts == {"schemas": 9, "type": 56, "anyOf": 2, "items": 3, "agreed": 61}


def test_of_the_43_schemas_that_can_be_repaired_none_lets_through_what_the_suite_refuses():
    counts = Counter()
    for _, group in GROUPS:
        try:
            fixed, _ = repair(tool({"value": group["schema"]}))
        except BadSchema:
            continue
        judge = Draft202012Validator(fixed)
        counts["schemas"] += 1
        counts += Counter((judge.is_valid({"value": case["data"]}), case["valid"]) for case in group["tests"])
    assert counts == {"schemas": 43, (True, True): 59, (False, False): 94, (False, True): 15}
