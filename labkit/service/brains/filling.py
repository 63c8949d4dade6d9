"""How the simulated model fills arguments: it looks in the text for what each property of the schema wants.

What it cannot find it names as missing; `placeholder` is the emptiest value that a schema accepts.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from labkit.service.brains.reading import KNOWLEDGE, MEANINGS, kind_of, properties, terms

Schema = dict[str, Any]
_VALUES = {
    kind: re.sub("CITIES", KNOWLEDGE["words"]["cities"].replace(" ", "|"), pattern)
    for kind, pattern in KNOWLEDGE["shapes"].items()
}
SHAPES = {kind: re.compile(pattern, re.S) for kind, pattern in _VALUES.items()}
_LOOSE = {name: re.compile(pattern, re.A) for name, pattern in KNOWLEDGE["loose"].items()}
_NUMBER = re.compile(_VALUES["number"], re.A)


@dataclass(frozen=True, slots=True)
class Filled:
    arguments: dict[str, Any]
    missing: tuple[str, ...] = ()


def fill(schema: Schema, text: str, *, invent: bool = False) -> list[Filled]:
    """The argument objects that a text asks for: one, or one for each of the cities or numbers that it lists.

    >>> schema = {"properties": {"city": {"type": "string"}}, "required": ["city"]}
    >>> [filled.arguments for filled in fill(schema, "北京和上海的天气")]
    [{'city': '北京'}, {'city': '上海'}]
    >>> fill(schema, "天气怎么样")[0].missing
    ('city',)
    """
    first = _object(schema, text, schema, invent)
    for name, part in properties(schema).items():
        kind = kind_of(name, part)
        if kind in ("city", "id") and part.get("type") == "string" and name in first.arguments:
            listed = re.search(
                rf"(?:{_VALUES[kind]})(?:\s*(?:,|、|，|和|与|及|and|or)+\s*(?:{_VALUES[kind]}))+", text
            )
            found = list(_shaped(kind, listed[0])) if listed else []
            if first.arguments[name] in found:
                return [Filled({**first.arguments, name: value}, first.missing) for value in found]
    return [first]


def kinds_in(text: str) -> frozenset[str]:
    return frozenset(kind for kind, shape in SHAPES.items() if shape.search(text))


def _object(schema: Schema, text: str, root: Schema, invent: bool = False) -> Filled:
    required = schema.get("required") or ()
    arguments: dict[str, Any] = {}
    missing = []
    for name, part in properties(schema).items():
        part = resolve(part, root, text)
        used = [value for value in arguments.values() if isinstance(value, str | int | float)]
        value = next((v for v in _values(name, part, text, root, name in required) if v not in used), None)
        if value is None and name in required and not part.get("x-null"):
            missing += [] if invent else [name]
            value = invent and _type(part) == "string" and KNOWLEDGE["invented"].get(kind_of(name, part))
            value = value or placeholder(part, root)
        if value is not None or name in required:
            arguments[name] = value
    return Filled(arguments, tuple(missing))


def _values(name: str, schema: Schema, text: str, root: Schema, required: bool) -> Iterator[Any]:
    """What the text offers for one property, best first; optional ones take only what is plainly said."""
    options = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(options, list):
        yield from options if "const" in schema else _mentioned(options, text)
        return
    match _type(schema):
        case "integer" | "number" as wanted:
            numbers = map(_number, (*_said(name, _VALUES["number"], text), *_NUMBER.findall(text)))
            yield from (value for value in numbers if wanted == "number" or isinstance(value, int))
        case "boolean" if required:
            yield bool(terms(name).keys() & terms(text).keys())
        case "array":
            item = resolve(schema.get("items") or {}, root, text)
            found = [] if _type(item) == "object" else list(_values(name, item, text, root, False))
            yield from [list(dict.fromkeys(found))] if found else ()
        case "object":
            inner = _object(schema, text, root)
            yield from [inner.arguments] if not inner.missing and (inner.arguments or required) else ()
        case "string":
            yield from _strings(name, kind_of(name, schema), text, required)


def _strings(name: str, kind: str | None, text: str, required: bool) -> Iterator[str]:
    yield from _said(name, _LOOSE["word"].pattern, text, link=r"\s*(?:is|=|:|：|为|是)\s*")
    yield from _said(name, _VALUES[kind], text) if kind in ("id", "city", "amount", "email") else ()
    yield from _shaped(kind, text)
    if required and kind in ("text", "subject", "keyword", "person", None):
        yield from _LOOSE["quoted"].findall(text)
        loose = ("code", "proper_name") if kind not in ("text", "subject") else ()
        yield from (value for name in loose for value in _LOOSE[name].findall(text))
        yield from () if loose else [text.strip()]
    yield from _NUMBER.findall(text) if required and kind == "amount" else ()


def _said(
    name: str, value: str, text: str, link: str = r"\s*(?:is|of|=|:|：|#|为|是|号|number|no\.?|id)?\s*"
) -> list[str]:
    """Values that stand right after the property's name, or after a word that means the same."""
    return [match["value"].strip("\"' ") for match in _after(name, value, link).finditer(text)]


@lru_cache(maxsize=4096)
def _after(name: str, value: str, link: str) -> re.Pattern[str]:
    same = [word for part in re.split(r"[_\W]+", name) for word in MEANINGS.get(part, [part])]
    words = "|".join(re.escape(word) for word in [name, *same] if word)
    return re.compile(rf"(?<![A-Za-z])(?i:{words})[\"']?{link}(?P<value>{value})")


def _shaped(kind: str | None, text: str) -> Iterator[str]:
    for match in SHAPES[kind].finditer(text) if kind in SHAPES else ():
        yield next((group for group in match.groups() if group), match[0]).strip()


def _number(raw: str) -> int | float:
    value = float(raw.replace(",", ""))
    return int(value) if value.is_integer() else value


def _mentioned(options: list[Any], text: str) -> Iterator[Any]:
    asked = {term for term in terms(text) if term[0] == "@"}
    yield from (option for option in options if option is not None and str(option).lower() in text.lower())
    yield from (option for option in options if asked & terms(str(option)).keys())


def resolve(schema: Schema, root: Schema, text: str = "") -> Schema:
    """The schema behind a `$ref`; of a union the branch most like the text; `x-null` marks what may be null."""
    for _ in range(8):
        if isinstance(schema.get("$ref"), str):
            target: Any = root
            for step in schema["$ref"].split("/")[1:]:
                target = target.get(step) if isinstance(target, dict) else None
            schema = target if isinstance(target, dict) else {}
        elif isinstance(schema.get("anyOf"), list):
            branches = [resolve(branch, root, text) for branch in schema["anyOf"] if isinstance(branch, dict)]
            solid = [branch for branch in branches if branch.get("type") != "null"]
            likest = max(solid, key=lambda branch: _likeness(branch, root, text), default={})
            schema = {"description": schema.get("description", ""), **likest, "x-null": solid != branches}
        else:
            break
    return schema | {"x-null": True} if "null" in _names(schema) else schema


def _likeness(branch: Schema, root: Schema, text: str) -> tuple[int, int]:
    inner = [resolve(part, root) for part in properties(branch).values()]
    shown = terms(json.dumps([branch, inner], ensure_ascii=False))
    return len(shown.keys() & terms(text).keys()), -len(shown)


def _names(schema: Schema) -> Collection[Any]:
    return schema["type"] if isinstance(schema.get("type"), list) else (schema.get("type"),)


def _type(schema: Schema) -> str:
    named = [name for name in _names(schema) if isinstance(name, str) and name != "null"]
    return named[0] if named else "object" if "properties" in schema else "string"


def placeholder(schema: Schema, root: Schema, depth: int = 0) -> Any:
    """The emptiest value of the right form: all that a grammar can promise when the text says nothing.

    >>> placeholder({"properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}, {})
    {'n': 1}
    """
    schema = resolve(schema, root)
    if "const" in schema or schema.get("enum"):
        return schema["const"] if "const" in schema else schema["enum"][0]
    inner = properties(schema)
    match "null" if schema.get("x-null") or depth > 8 else _type(schema):
        case "null":
            return None
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "array":
            return [placeholder(schema.get("items") or {}, root, depth + 1)] * int(schema.get("minItems", 0))
        case "object":
            return {k: placeholder(inner.get(k, {}), root, depth + 1) for k in schema.get("required") or ()}
    return KNOWLEDGE["invented"].get(schema.get("format"), "")
