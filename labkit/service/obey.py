"""What no decision may break: the caller's hard controls, which a real API enforces while it decodes.

A script that breaks one is told so in words; a real model cannot do it.
"""

import json
from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json

from labkit.protocol.messages import ToolCall
from labkit.service.decide import Ask, Decision, ToolSpec

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float)}
TYPES |= {"boolean": bool, "null": type(None)}
Json = dict[str, Any]


def broken_rule(ask: Ask, decision: Decision) -> str | None:
    """The control that a decision breaks, in words, or None.

    >>> broken_rule(Ask("m", (), mode="none"), Decision(calls=(ToolCall("", "get_order", "{}"),)))
    "it calls 'get_order' although tool_choice is none or there are no tools"
    """
    calls = decision.calls
    if not calls:
        ended = decision.refusal is not None or decision.finish in ("length", "content_filter")
        forced = ask.mode == "required" and ask.callable and not ended
        return "it calls no tool although tool_choice requires one" if forced else None
    if ask.mode == "none":
        return f"it calls {calls[0].name!r} although tool_choice is none or there are no tools"
    if len(calls) > 1 and not ask.parallel:
        return f"it makes {len(calls)} calls at once although parallel calls are off or one function is named"
    offered = {tool.name: tool for tool in ask.callable}
    cut = calls[-1] if decision.finish == "length" else None
    return next((said for call in calls if (said := _broken_call(call, offered, call is cut))), None)


def _broken_call(call: ToolCall, offered: dict[str, ToolSpec], cut: bool) -> str | None:
    if not isinstance(call.arguments, str):
        return f"the arguments of {call.name!r} are no JSON string but {type(call.arguments).__name__}"
    if call.name not in offered:
        return f"it calls {call.name!r}, but only {', '.join(map(repr, offered))} may be called"
    if not offered[call.name].strict:
        return None
    schema = offered[call.name].parameters
    try:
        misfit = next(misfits(json.loads(call.arguments), schema, schema), None)
    except (ValueError, RecursionError):
        misfit = None if cut and _begins_json(call.arguments) else "they are not JSON"
    return misfit and f"the arguments of strict tool {call.name!r} do not fit its schema: {misfit}"


def _begins_json(text: str) -> bool:
    """The guarantee of strict ends where the output limit cuts: a beginning of an object may stand there."""
    try:
        return isinstance(from_json(text or "{", allow_partial=True), dict)
    except ValueError:
        return False


def misfits(value: Any, schema: Any, root: Json, path: str = "arguments") -> Iterator[str]:
    """Where a value leaves the strict subset's schema (types, keys, enums, unions, references).

    >>> list(misfits({"n": "1"}, {"type": "object", "properties": {"n": {"type": "integer"}}}, {}))
    ['arguments.n is of type string, not integer']
    """
    if not isinstance(schema, dict):
        return
    if reference := schema.get("$ref"):
        yield from misfits(value, _target(reference, root), root, path)
    branches = schema.get("anyOf")
    if branches and all(next(misfits(value, branch, root, path), None) for branch in branches):
        yield f"{path} fits no branch of its union"
    if value not in schema.get("enum", [schema.get("const", value)]):
        yield f"{path} is {value!r}, not one of {schema.get('enum', [schema.get('const')])}"
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if kinds and not any(_is(value, kind) for kind in kinds):
        kind = next(kind for kind in TYPES if _is(value, kind))
        yield f"{path} is of type {kind}, not {' or '.join(kinds)}"
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from misfits(item, schema.get("items"), root, f"{path}[{position}]")
    elif isinstance(value, dict):
        yield from _wrong_keys(value, schema, root, path)


def _wrong_keys(value: Json, schema: Json, root: Json, path: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    yield from (f"{path}.{key} is missing" for key in schema.get("required", ()) if key not in value)
    for key, inner in value.items():
        if key in properties:
            yield from misfits(inner, properties[key], root, f"{path}.{key}")
        elif schema.get("additionalProperties") is False:
            yield f"{path}.{key} is not in the schema"


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, TYPES.get(kind, object)) and (kind == "boolean" or not isinstance(value, bool))


def _target(reference: str, root: Any) -> Any:
    for step in reference.split("/")[1:]:
        root = root.get(step) if isinstance(root, dict) else None
    return root
