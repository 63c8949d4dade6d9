"""The subset of JSON Schema that the API takes, as rules in the API's own words.

One linter for both sides: it tells the author before sending, and the offline service refuses by it.
It looks twice, as reported errors suggest: what every function owes, then what strict mode adds.
"""

import re
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

Path = tuple[str, ...]
Finding = tuple[Path, str, tuple[Any, ...]]

FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
MAX_PROPERTIES, MAX_LEVELS, MAX_CHARACTERS, MAX_ENUM = 5_000, 10, 120_000, 1_000
LONG_ENUM, MAX_LONG_ENUM = 250, 15_000
DEEPEST, MOST_NODES = 200, 200_000  # where the linter stops looking, so that no rubbish can hold it up

RULES = {  # name: (the API's words, what to do)
    "root_union": (
        "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
        "Wrap the union under one property of a root object.",
    ),
    "root_object": (
        "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{}\"'.",
        "Make the root an object with properties.",
    ),
    "json_schema": ("{}.", "Write valid JSON Schema, draft 2020-12."),
    "properties": ("object schema missing properties.", "Add properties, {} when there are none."),
    "items": ("array schema missing items.", "Say what the items are."),
    "reference_alone": ("$ref cannot have keywords {{{}}}.", "Put the $ref alone into an anyOf beside them."),
    "reference_target": (
        "reference can only point to definitions defined at the top level of the schema.",
        "Move the definition into $defs of the root.",
    ),
    "permitted": ("'{}' is not permitted.", "Drop it, and check it in the argument model."),
    "type": ("schema must have a 'type' key.", "Give it a type, or a union with anyOf."),
    "closed": (
        "'additionalProperties' is required to be supplied and to be false.",
        "Add it. A free-form object cannot be strict: give it explicit fields, make it an array of key/value "
        "objects, or set strict to false.",
    ),
    "required": (
        "'required' is required to be supplied and to be an array including every key in properties. "
        "Missing '{}'.",
        "Require every key; one that may be left out becomes a union with null.",
    ),
    "not_required": (
        "'required' must be an array that includes every key in `properties`. "
        "Extra required key '{}' supplied.",
        "Describe it in properties, or require it no longer.",
    ),
    "format": ("'{}' is not a valid format.", f"Drop it, or take one of {', '.join(FORMATS)}."),
    "enum": ("enum value {} does not validate against {{'type': {!r}}}.", "Make type and enum agree."),
    "limits": ("{} {} exceeds limit of {}.", "Split the tool, or shorten the schema."),
}
_UNPLACED = ("root_union", "root_object", "json_schema", "limits")
_UNSURE = ("default", "minLength", "maxLength")  # refused in some reports and not in others (openai-wire §10)
_REFUSED = {*_UNSURE, "allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"}
_REFUSED |= {"patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties"}
_REFUSED |= {"uniqueItems", "prefixItems", "contains", "minContains", "maxContains", "unevaluatedItems"}

_NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
PLACES, STRICT_PLACES = (*_NAMED, *_LISTED, *_SINGLE), (*_NAMED[:3], "anyOf", "items")
_PYTHON = {"array": list, "object": dict, "string": str, "integer": int, "number": (int, float)}
_TYPES = (*_PYTHON, "boolean", "null")
_KINDS = {
    **dict.fromkeys((*_NAMED, "dependentRequired"), "object"),
    **dict.fromkeys((*_LISTED, "required", "enum", "examples"), "array"),
    **dict.fromkeys(("title", "description", "pattern", "format", "$id", "$ref", "$comment"), "string"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), "integer"),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), "boolean"),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule; `certain` is False where reports of the API contradict each other.

    >>> lint({"type": "object", "properties": {"ids": {"type": "array"}}}, strict=False)[0].api_message
    "In context=('properties', 'ids'), array schema missing items."
    """

    path: Path
    rule: str
    detail: str
    repair: str
    strict_only: bool = True
    certain: bool = True

    @property
    def api_message(self) -> str:
        return self.detail if self.rule in _UNPLACED else f"In context={self.path!r}, {self.detail}"


def lint(schema: Any, *, strict: bool = True) -> list[Problem]:
    """All problems of a function schema, the one the API reports first (openai-wire §1.8, §3); never raises.

    >>> [p.rule for p in lint({"type": "object", "properties": {"city": {}}, "required": ["city"]})]
    ['closed', 'type']
    """
    try:
        return [_problem(*finding, strict_only=False) for finding in _general(schema)] + [
            _problem(*finding, strict_only=True) for finding in (_subset(schema) if strict else ())
        ]
    except RecursionError:
        return [_problem((), "json_schema", ("schema is nested too deeply",), strict_only=False)]


def nodes(schema: Any, places: Collection[str] = PLACES) -> Iterator[tuple[Path, Any, int]]:
    """Every schema inside a schema, from the root down, with its path and its level of nesting."""
    return islice(_descend(schema, places, (), 0), MOST_NODES)


def is_type(value: Any, kind: Any) -> bool:
    """Whether a JSON value is of a JSON Schema type: true is no number, 20.0 is an integer.

    >>> is_type(20.0, "integer"), is_type(True, "integer"), is_type(None, "null")
    (True, False, True)
    """
    if isinstance(value, bool) or value is None:
        return kind == ("null" if value is None else "boolean")
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(kind, str) and isinstance(value, _PYTHON.get(kind, ()))


def _problem(path: Path, rule: str, values: tuple[Any, ...], *, strict_only: bool) -> Problem:
    words, repair = RULES[rule]
    certain = rule != "permitted" or values[0] not in _UNSURE
    return Problem(path, rule, words.format(*values), repair, strict_only, certain)


def _general(schema: Any) -> Iterator[Finding]:
    places = [(path, node) for path, node, _ in nodes(schema)]
    yield from _root(schema)
    yield from (finding for place in places for finding in _json_schema(*place))
    yield from ((where, "items", ()) for place in places for where in _lists_of_what(*place))


def _subset(schema: Any) -> Iterator[Finding]:
    levels = list(nodes(schema, STRICT_PLACES))
    known = {"#", *(f"#/{key}/{name}" for key in _NAMED[1:3] for name in _dict(schema, key))}
    yield from (finding for path, node, _ in levels for finding in _strict(path, node, known))
    yield from (((), "limits", count) for count in _counts(levels) if count[0] > count[2])


def _descend(node: Any, places: Collection[str], path: Path, level: int) -> Iterator[tuple[Path, Any, int]]:
    yield path, node, level
    for key in node if isinstance(node, dict) and len(path) < DEEPEST else ():
        if key in places:
            below = level + (key in ("properties", "items"))
            for steps, child in _children(node, key):
                yield from _descend(child, places, (*path, key, *steps), below)


def _children(node: dict, key: str) -> Iterator[tuple[Path, Any]]:
    if key in _SINGLE:
        yield (), node[key]
    names = (
        enumerate(_list(node, key)) if key in _LISTED else _dict(node, key).items() if key in _NAMED else ()
    )
    yield from (((str(name),), child) for name, child in names)


def _dict(node: Any, key: str) -> dict:
    value = node.get(key) if isinstance(node, dict) else None
    return value if isinstance(value, dict) else {}


def _list(node: Any, key: str) -> list:
    value = node.get(key) if isinstance(node, dict) else None
    return value if isinstance(value, list) else []


def _root(schema: Any) -> Iterator[Finding]:
    node = schema if isinstance(schema, dict) else {}
    if not node.keys().isdisjoint(("oneOf", "anyOf", "allOf", "enum", "not")):
        yield (), "root_union", ()
    elif node.get("type") != "object":
        yield (), "root_object", (node.get("type"),)
    elif "properties" not in node:
        yield (), "properties", ()


def _json_schema(path: Path, node: Any) -> Iterator[Finding]:
    if not isinstance(node, (dict, bool)):
        yield path, "json_schema", (f"{node!r} is not of type 'object', 'boolean'",)
    for key, value in node.items() if isinstance(node, dict) else ():
        if words := _complaint(key, value):
            yield (*path, str(key)), "json_schema", (words,)


def _complaint(key: str, value: Any) -> str:
    kind = _KINDS.get(key)
    if kind and not is_type(value, kind):
        return f"{value!r} is not of type '{kind}'"
    if key == "type" and not _names_types(value):
        return f"{value!r} is not valid under any of the given schemas"
    if key == "required" and not all(isinstance(name, str) for name in value):
        return f"{next(name for name in value if not isinstance(name, str))!r} is not of type 'string'"
    if key in _LISTED and not value:
        return "[] should be non-empty"
    if kind == "integer" and value < 0:
        return f"{value!r} is less than the minimum of 0"
    if key == "pattern" and not _is_regex(value):
        return f"{value!r} is not a 'regex'"
    if key in ("$id", "$ref") and re.search(r'[\s<>"{}|\\^`]', value):
        return f"{value!r} is not a 'uri-reference'"
    return ""


def _names_types(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)


@cache
def _is_regex(pattern: str) -> bool:
    with warnings.catch_warnings(action="ignore"):
        try:
            return bool(re.compile(pattern))
        except (re.error, RecursionError, OverflowError):
            return False


def _of_type(path: Path, node: Any, kind: str) -> Iterator[Path]:
    found = node.get("type") if isinstance(node, dict) else None
    if found == kind:
        yield path
    elif isinstance(found, list):
        yield from ((*path, "type", str(place)) for place, member in enumerate(found) if member == kind)


def _lists_of_what(path: Path, node: Any) -> Iterator[Path]:
    return (where for where in _of_type(path, node, "array") if "items" not in node)


def _strict(path: Path, node: Any, known: set[str]) -> Iterator[Finding]:
    node = node if isinstance(node, dict) else {}
    if "$ref" in node:
        if siblings := sorted(repr(key) for key in node if key != "$ref"):
            yield path, "reference_alone", (", ".join(siblings),)
        if isinstance(node["$ref"], str) and node["$ref"] not in known:
            yield path, "reference_target", ()
        return
    yield from ((path, "permitted", (key,)) for key in node if key in _REFUSED)
    if node.keys().isdisjoint(("type", "anyOf", "oneOf", "allOf")):
        yield path, "type", ()
    for where in _of_type(path, node, "object"):
        yield from _object(where, node)
    if "format" in node and node["format"] not in FORMATS:
        yield path, "format", (node["format"],)
    kinds = node["type"] if isinstance(node.get("type"), list) else [node.get("type")]
    strays = (value for value in _list(node, "enum") if not any(is_type(value, kind) for kind in kinds))
    yield from ((path, "enum", (value, node["type"])) for value in islice(strays, "type" in node))


def _object(path: Path, node: dict) -> Iterator[Finding]:
    properties, required = _dict(node, "properties"), {str(name) for name in _list(node, "required")}
    if node.get("additionalProperties") is not False:
        yield path, "closed", ()
    if path and "properties" not in node:
        yield path, "properties", ()
    yield from islice(((path, "required", (name,)) for name in properties if name not in required), 1)
    yield from ((path, "not_required", (name,)) for name in sorted(required - properties.keys()))


def _counts(levels: list[tuple[Path, Any, int]]) -> Iterator[tuple[int, str, int]]:
    found = [node for _, node, _ in levels]
    enums = [_list(node, "enum") for node in found]
    texts = [name for node in found for key in _NAMED[:3] for name in _dict(node, key)]
    texts += [value for values in enums for value in values]
    texts += [node["const"] for node in found if isinstance(node, dict) and "const" in node]
    yield max(level for _, _, level in levels), "levels of nesting", MAX_LEVELS
    yield sum(len(_dict(node, "properties")) for node in found), "parameters", MAX_PROPERTIES
    yield sum(map(len, enums)), "enum values", MAX_ENUM
    yield sum(len(str(text)) for text in texts), "characters of names and values", MAX_CHARACTERS
    for values in enums:
        if len(values) > LONG_ENUM and all(isinstance(value, str) for value in values):
            yield sum(map(len, values)), f"characters in {len(values)} enum values", MAX_LONG_ENUM
