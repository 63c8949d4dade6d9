"""The subset of JSON Schema that the API takes: a linter by which the author checks and the service refuses.

The rules stand in `strict.txt`, in the API's words. It looks twice, as reported errors suggest: at what every
function owes, then at what strict mode adds.
"""

import re
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

Place = tuple[str, ...]
Finding = tuple[Place, str, tuple[Any, ...]]

_RULE_ROWS, _KEYWORD_ROWS = (
    [[cell.strip() for cell in line.split(" | ")] for line in table.splitlines()[1:]]
    for table in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split("\n\n")[1:]
)
RULES = {name: (words, repair) for name, words, repair in _RULE_ROWS}
_KINDS, _BELOW, _STRICTLY = ({row[0]: row[at] for row in _KEYWORD_ROWS if row[at] != "-"} for at in (1, 2, 3))
_KEPT = {key for key in _BELOW if key not in _STRICTLY and key != "additionalProperties"}
_NAMES = ("properties", "$defs", "definitions")
_UNPLACED = ("root_union", "root_object", "json_schema", "limits")

FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
MAX_PROPERTIES, MAX_LEVELS, MAX_CHARACTERS, MAX_ENUM = 5_000, 10, 120_000, 1_000
LONG_ENUM, MAX_LONG_ENUM = 250, 15_000
DEEPEST, MOST_NODES = 200, 200_000  # where the linter stops looking, so that no rubbish can hold it up

_PYTHON = {"array": list, "object": dict, "string": str, "integer": int, "number": (int, float)}


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule; `certain` is False where reports of the API contradict each other.

    >>> lint({"type": "object", "properties": {"ids": {"type": "array"}}}, strict=False)[0].api_message
    "In context=('properties', 'ids'), array schema missing items."
    """

    path: Place
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
        general = [_problem(*finding, strict_only=False) for finding in _general(schema)]
        subset = _subset(schema) if strict else ()
        return general + [_problem(*finding, strict_only=True) for finding in subset]
    except RecursionError:
        return [_problem((), "json_schema", ("schema is nested too deeply",), strict_only=False)]


def nodes(schema: Any, places: Collection[str] = _BELOW.keys()) -> Iterator[tuple[Place, Any, int]]:
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


def _problem(path: Place, rule: str, values: tuple[Any, ...], *, strict_only: bool) -> Problem:
    words, repair = (text.format(*values) for text in RULES[rule])
    certain = rule != "permitted" or _STRICTLY[values[0]] == "refused"
    return Problem(path, rule, words, repair, strict_only, certain)


def _descend(node: Any, places: Collection[str], path: Place, level: int) -> Iterator[tuple[Place, Any, int]]:
    yield path, node, level
    for key in node if isinstance(node, dict) and len(path) < DEEPEST else ():
        if key in places:
            below = level + (key in ("properties", "items"))
            for steps, child in _children(node, key):
                yield from _descend(child, places, (*path, key, *steps), below)


def _children(node: dict, key: str) -> list[tuple[Place, Any]]:
    if _BELOW[key] == "single":
        return [((), node[key])]
    named = part(node, key, dict).items() if _BELOW[key] == "named" else enumerate(part(node, key, list))
    return [((str(name),), child) for name, child in named]


def part(node: Any, key: str, kind: type) -> Any:
    """What a schema holds under a key, or an empty one of its kind."""
    value = node.get(key) if isinstance(node, dict) else None
    return value if isinstance(value, kind) else kind()


def _general(schema: Any) -> Iterator[Finding]:
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(schema, dict) and not schema.keys().isdisjoint(("oneOf", "anyOf", "allOf", "enum", "not")):
        yield (), "root_union", ()
    elif kind != "object":
        yield (), "root_object", (kind,)
    elif "properties" not in schema:
        yield (), "properties", ()
    places = [(path, node) for path, node, _ in nodes(schema)]
    yield from (finding for place in places for finding in _json_schema(*place))
    arrays = ((where, node) for path, node in places for where in _of_type(path, node, "array"))
    yield from ((where, "items", ()) for where, node in arrays if "items" not in node)


def _json_schema(path: Place, node: Any) -> Iterator[Finding]:
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
    if key == "required" and (wrong := [name for name in value if not isinstance(name, str)]):
        return f"{wrong[0]!r} is not of type 'string'"
    if _BELOW.get(key) == "listed" and not value:
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
    known = (*_PYTHON, "boolean", "null")
    return bool(names) and all(isinstance(name, str) and name in known for name in names)


@cache
def _is_regex(pattern: str) -> bool:
    with warnings.catch_warnings(action="ignore"):
        try:
            return bool(re.compile(pattern))
        except (re.error, RecursionError, OverflowError):
            return False


def _of_type(path: Place, node: Any, kind: str) -> list[Place]:
    found = node.get("type") if isinstance(node, dict) else None
    members = enumerate(found) if isinstance(found, list) else ()
    return [path] if found == kind else [(*path, "type", str(at)) for at, name in members if name == kind]


def _subset(schema: Any) -> Iterator[Finding]:
    levels = list(nodes(schema, _KEPT))
    known = {"#", *(f"#/{key}/{name}" for key in _NAMES[1:] for name in part(schema, key, dict))}
    yield from (finding for path, node, _ in levels for finding in _strict(path, node, known))
    yield from (((), "limits", count) for count in _counts(levels) if count[0] > count[2])


def _strict(path: Place, node: Any, known: set[str]) -> Iterator[Finding]:
    node = node if isinstance(node, dict) else {}
    if "$ref" in node:
        if siblings := sorted(repr(key) for key in node if key != "$ref"):
            yield path, "reference_alone", (", ".join(siblings),)
        if isinstance(node["$ref"], str) and node["$ref"] not in known:
            yield path, "reference_target", ()
        return
    yield from ((path, "permitted", (key,)) for key in node if key in _STRICTLY)
    if node.keys().isdisjoint(("type", "anyOf", "oneOf", "allOf")):
        yield path, "type", ()
    for where in _of_type(path, node, "object"):
        yield from _object(where, node)
    if "format" in node and node["format"] not in FORMATS:
        yield path, "format", (node["format"],)
    kinds = node["type"] if isinstance(node.get("type"), list) else [node.get("type")]
    strays = (value for value in part(node, "enum", list) if not any(is_type(value, kind) for kind in kinds))
    yield from ((path, "enum", (value, node["type"])) for value in islice(strays, "type" in node))


def _object(path: Place, node: dict) -> Iterator[Finding]:
    properties, required = part(node, "properties", dict), set(map(str, part(node, "required", list)))
    if node.get("additionalProperties") is not False:
        yield path, "closed", ()
    if path and "properties" not in node:
        yield path, "properties", ()
    yield from islice(((path, "required", (name,)) for name in properties if name not in required), 1)
    yield from ((path, "not_required", (name,)) for name in sorted(required - properties.keys()))


def _counts(levels: list[tuple[Place, Any, int]]) -> Iterator[tuple[int, str, int]]:
    found = [node for _, node, _ in levels]
    enums = [part(node, "enum", list) for node in found]
    texts = [name for node in found for key in _NAMES for name in part(node, key, dict)]
    texts += [value for values in enums for value in values]
    texts += [node["const"] for node in found if isinstance(node, dict) and "const" in node]
    yield max(level for _, _, level in levels), "levels of nesting", MAX_LEVELS
    yield sum(len(part(node, "properties", dict)) for node in found), "parameters", MAX_PROPERTIES
    yield sum(map(len, enums)), "enum values", MAX_ENUM
    yield sum(len(str(text)) for text in texts), "characters of names and values", MAX_CHARACTERS
    for values in enums:
        if len(values) > LONG_ENUM and all(isinstance(value, str) for value in values):
            yield sum(map(len, values)), f"characters in {len(values)} enum values", MAX_LONG_ENUM
