"""The tables of `fields.txt`, read into one shape for each endpoint; and the names that each knows."""

import re
from math import inf
from pathlib import Path
from typing import Any

from labkit.service.checks import shapes as made
from labkit.service.checks.shapes import Shape, Shapes
from labkit.service.checks.words import listed

_SIMPLE = {"any": made.anything, "string": made.string, "boolean": made.boolean, "object": made.json_object}
_SIMPLE["biases"] = made.pairs(made.number("decimal", -100, 100), "an object", most=inf, longest=inf)
_SIMPLE["metadata"] = made.pairs(made.text(0, 512), "a metadata object", most=16, longest=64)
_ALWAYS = {"type": made.anything, "created_by": made.anything}
_STRINGS = ("string", "name", "speaker")


def _untyped(item: dict[str, Any]) -> str:
    return "message" if "role" in item or "id" not in item else "item_reference"


def _read(source: str) -> tuple[Shapes, dict[str, Shapes]]:
    shapes, tables = dict(_SIMPLE), {}
    for block in re.split(r"\n\s*\n", re.sub(r"(?m)^#.*\n", "", source).strip()):
        title, *lines = block.strip().splitlines()
        if title in ("[needs]", "[moved]"):
            tables[title] = dict(map(str.split, lines))
            continue
        rows: Shapes = {}
        for key, words in (line.split(None, 1) for line in lines):
            rows |= tables[words] if key == "+" else {key: _shape(words, shapes)}
        title, _, by = title.strip("[]").partition(" by ")
        tables[title] = rows
        if title == "shapes":
            shapes |= rows
        elif by:
            options = {"absent": _untyped} if by.endswith(" else untyped") else {}
            shapes[title] = made.variants(by.split()[0], rows, "at here" in by, **options)
        else:
            shapes[title] = made.thing(rows)
    return shapes, tables


def _shape(words: str, shapes: Shapes) -> Shape:
    words, _, expected = words.partition(" as ")
    parts = [_part(part, shapes, expected) for part in words.split(" or ")]
    if len(parts) == 1:
        return parts[0][0]
    nouns = [noun if place == 0 else noun.removeprefix("an ") for place, (_, _, noun) in enumerate(parts)]
    return made.either(expected or f"one of {' or '.join(nouns)}", {kind: shape for shape, kind, _ in parts})


def _part(words: str, shapes: Shapes, expected: str) -> tuple[Shape, type, str]:
    """One alternative: its shape, its JSON type, and how the API calls it."""
    if words[0] == "=":
        values = words[1:].split("|")
        return made.one_of(*values), str, f"one of {listed(values, 'or')}"
    if words[0] == "[":
        inner, _, bounds = words[1:].partition("]")
        each = [_shape(word, shapes) for word in inner.split(" & ")]
        item, noun = made.both(*each) if len(each) > 1 else each[0], expected or "an array of objects"
        return made.array(item, *_bounds(bounds or ".."), noun), list, noun
    if words[0] == "{":
        inside = dict(_field(word, shapes) for word in words[1:-1].split())
        return made.thing(_ALWAYS | inside, closed=True), dict, "an object"
    word, _, bounds = words.partition(" ")
    if word in ("integer", "decimal"):
        return made.number(word, *_bounds(bounds)), float, word
    bounds, _, pattern = bounds.partition("~")
    shape = made.text(*_bounds(bounds), pattern) if bounds else shapes[word]
    return (shape, str, "a string") if word in _STRINGS else (shape, dict, "an object")


def _field(word: str, shapes: Shapes) -> tuple[str, Shape]:
    key, _, shape = word.rstrip("*").partition(":")
    return key + "*" * word.endswith("*"), shapes[shape] if shape else shapes.get(key, made.anything)


def _bounds(words: str) -> tuple[float, float]:
    low, high = words.strip().split("..")
    return int(low or 0), int(high) if high else inf


_SHAPES, _TABLES = _read(Path(__file__).with_name("fields.txt").read_text(encoding="utf-8"))
CHAT, RESPONSES = _SHAPES["chat"], _SHAPES["responses"]
CHAT_NAMES, RESPONSES_NAMES = ({key.rstrip("*") for key in _TABLES[name]} for name in ("chat", "responses"))
NEEDS, MOVED = tuple(_TABLES["[needs]"].items()), _TABLES["[moved]"]
