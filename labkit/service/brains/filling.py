"""How the simulated model fills arguments: it looks in the text for what each property of the schema wants.

What it cannot find it names as missing; `placeholder` is the emptiest value that a schema accepts.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from labkit.service.brains.reading import KNOWLEDGE, MEANINGS, kind_of, properties, terms

Schema = dict[str, Any]
_CITIES = KNOWLEDGE["words"]["cities"].replace(" ", "|")
_VALUES = {kind: shape.replace("CITIES", _CITIES) for kind, shape in KNOWLEDGE["shapes"].items()}
_LOOSE = {name: re.compile(pattern) for name, pattern in KNOWLEDGE["loose"].items()}
_LINK, _NO_LINK = r"\s*(?:is|=|:|：|为|是)\s*", r"\s*(?:is|of|=|:|：|#|为|是|号|number|no\.?|id)?\s*"


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
            one = f"(?:{_VALUES[kind]})"
            listed = re.search(rf"{one}(?:\s*(?:,|、|，|和|与|及|and|or)+\s*{one})+", text)
            found = _found(kind, listed[0]) if listed else []
            if first.arguments[name] in found:
                return [Filled({**first.arguments, name: value}, first.missing) for value in found]
    return [first]


@lru_cache(4096)
def kinds_in(text: str) -> frozenset[str]:
    return frozenset(kind for kind in _VALUES if _found(kind, text))


def _object(schema: Schema, text: str, root: Schema, invent: bool = False, depth: int = 0) -> Filled:
    arguments: dict[str, Any] = {}
    missing = []
    for name, part in properties(schema).items():
        part, required = resolve(part, root, text), name in (schema.get("required") or ())
        used = [] if kind_of(name, part) in ("text", "subject") else list(arguments.values())
        value = next((v for v in _values(name, part, text, root, required, depth) if v not in used), None)
        if value is None and required and not part["nullable"]:
            missing += [] if invent else [name]
            invents = KNOWLEDGE["invented"] if invent and part["type"] == "string" else {}
            value = invents.get(kind_of(name, part)) or placeholder(part, root)
        if value is not None or required:
            arguments[name] = value
    return Filled(arguments, tuple(missing))


def _values(name: str, schema: Schema, text: str, root: Schema, required: bool, depth: int) -> Iterator[Any]:
    """What the text offers for one property, best first; optional ones take only what is plainly said."""
    match schema:
        case {"const": value}:
            yield value
        case {"enum": [*options]}:
            asked = {term for term in terms(text) if term[0] == "@"}
            yield from (each for each in options if each is not None and str(each).lower() in text.lower())
            yield from (each for each in options if asked & terms(str(each)).keys())
        case {"type": "integer" | "number" as wanted}:
            found = _said(name, "number", text) + _found("number", text)
            for number in (float(raw.replace(",", "")) for raw in found):
                if wanted == "number" or number.is_integer():
                    yield int(number) if number.is_integer() else number
        case {"type": "boolean"}:
            yield from [bool(terms(name).keys() & terms(text).keys())] if required else ()
        case {"type": "array"}:
            item = resolve(schema.get("items") or {}, root, text)
            found = [] if item["type"] == "object" else list(_values(name, item, text, root, False, depth))
            yield from [list(dict.fromkeys(found))] if found else ()
        case {"type": "object"} if depth < 8:
            inner = _object(schema, text, root, depth=depth + 1)
            yield from [inner.arguments] if not inner.missing and (inner.arguments or required) else ()
        case {"type": "string"}:
            found = _strings(name, kind_of(name, schema), text, required)
            yield from (fit for value in found for fit in _fitting(value, schema.get("pattern")))


def _fitting(value: str, pattern: str | None) -> list[str]:
    """The value if it fits the pattern, or written as money if that does: a grammar lets no other through."""
    money = [f"{float(value):.2f}"] if re.fullmatch(r"\d+(?:\.\d+)?", value) else []
    return [each for each in (value, *money) if not pattern or re.search(pattern, each)][:1]


def _strings(name: str, kind: str | None, text: str, required: bool) -> Iterator[str]:
    yield from _said(name, "word", text, _LINK)
    yield from _said(name, kind, text) if kind in ("id", "city", "amount", "email") else ()
    yield from _found(kind, text)
    if required and kind in ("text", "subject", "keyword", "person", None):
        yield from _LOOSE["quoted"].findall(text)
        yield from [text.strip()] if kind in ("text", "subject") else _LOOSE["name"].findall(text)
    yield from _found("number", text) if required and kind == "amount" else ()


def _said(name: str, kind: str, text: str, link: str = _NO_LINK) -> list[str]:
    """Values that stand right after the property's name, or after a word that means the same."""
    return [match["value"].strip("\"' ") for match in _after(name, kind, link).finditer(text)]


@lru_cache(maxsize=4096)
def _after(name: str, kind: str, link: str) -> re.Pattern[str]:
    same = [word for part in re.split(r"[_\W]+", name) for word in MEANINGS.get(part, [part])]
    words = "|".join(re.escape(word) for word in [name, *same] if word)
    value = _VALUES.get(kind) or _LOOSE[kind].pattern
    return re.compile(rf"(?<![A-Za-z])(?i:{words})[\"']?{link}(?P<value>{value})")


def _found(kind: str | None, text: str) -> list[str]:
    matches = re.finditer(_VALUES[kind], text, re.S) if kind in _VALUES else ()
    return [next((group for group in match.groups() if group), match[0]).strip() for match in matches]


def resolve(schema: Schema, root: Schema, text: str = "", depth: int = 0) -> Schema:
    """The plain schema behind a `$ref` or a union (of that, the branch most like the text), null a flag."""
    if isinstance(schema.get("$ref"), str) and depth < 8:
        target: Any = root
        for step in schema["$ref"].split("/")[1:]:
            target = target.get(step) if isinstance(target, dict) else None
        return resolve(target if isinstance(target, dict) else {}, root, text, depth + 1)
    if isinstance(schema.get("anyOf"), list) and depth < 8:
        options = (each for each in schema["anyOf"] if isinstance(each, dict))
        branches = [resolve(each, root, text, depth + 1) for each in options]
        solid = [branch for branch in branches if branch["type"] != "null"]
        best = max(solid, key=lambda branch: _likeness(branch, text), default={"type": "null"})
        return {"description": schema.get("description")} | best | {"nullable": solid != branches}
    types = schema.get("type") or ("object" if "properties" in schema else "string")
    types = types if isinstance(types, list) else [types]
    solid = [each for each in types if each != "null"] or ["null"]
    return schema | {"type": solid[0], "nullable": "null" in types}


def _likeness(branch: Schema, text: str) -> tuple[int, int]:
    shown = terms(json.dumps(branch, ensure_ascii=False))
    return len(shown.keys() & terms(text).keys()), -len(shown)


def placeholder(schema: Schema, root: Schema, depth: int = 0) -> Any:
    """The emptiest value of the right form: all that a grammar can promise when the text says nothing.

    >>> placeholder({"properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}, {})
    {'n': 1}
    """
    match {"type": "null"} if depth > 8 else resolve(schema, root):
        case {"const": value} | {"enum": [value, *_]}:
            return value
        case {"nullable": True}:
            return None
        case {"type": "integer" | "number", **rest}:
            return rest.get("minimum", 0)
        case {"type": "boolean"}:
            return False
        case {"type": "array", **rest}:
            return [placeholder(rest.get("items") or {}, root, depth + 1)] * int(rest.get("minItems", 0))
        case {"type": "object", **rest} as whole:
            inner, required = properties(whole), rest.get("required") or ()
            return {name: placeholder(inner.get(name, {}), root, depth + 1) for name in required}
        case {"type": "string", **rest}:
            return KNOWLEDGE["invented"].get(rest.get("format"), "")
    return None
