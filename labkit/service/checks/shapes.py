"""The shape validator: types, ranges, enums and lengths at any path (openai-wire §0.4).

A shape is a function that takes a JSON value and raises `Broken` where it is wrong. Shapes are put together
once, at import, into tables of fields; a valid request only walks the keys that it has.
"""

import re
from collections.abc import Callable
from typing import Any

from labkit.protocol.errors import WireError
from labkit.service.checks.words import listed, refuse

Shape = Callable[[Any], None]
Shapes = dict[str, Shape]

_NOUNS = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", int: "an integer"}
_NOUNS |= {float: "a decimal number", type(None): "null"}
_NUMBERS = {"integer": ("an integer", (int,)), "decimal": ("a decimal", (int, float))}


class Broken(Exception):
    """A broken rule, and where: each shape around puts its step in front of the path."""

    def __init__(self, rule: str, *values: Any, path: str = ""):
        super().__init__(rule)
        self.rule, self.values, self.path = rule, values, path

    def inside(self, step: str) -> "Broken":
        self.path = step + self.path
        return self


def fault(shape: Shape, value: Any) -> WireError | None:
    """The first thing that is wrong with a value, or None.

    >>> fault(thing({"n": number("integer", 1, 128)}), {"n": 200}).message
    "Invalid 'n': integer above maximum value. Expected a value <= 128, but got 200 instead."
    """
    try:
        shape(value)
    except Broken as broken:
        return refuse(broken.rule, *broken.values, path=broken.path.removeprefix("."))
    return None


def wrong_type(expected: str, value: Any) -> Broken:
    return Broken("type", expected, _NOUNS[type(value)])


def anything(value: Any) -> None:
    pass


def just(kind: type) -> Shape:
    def check(value: Any) -> None:
        if type(value) is not kind:
            raise wrong_type(_NOUNS[kind], value)

    return check


boolean, json_object, string = map(just, (bool, dict, str))


def text(low: float, high: float, pattern: str = "") -> Shape:
    matches = re.compile(pattern or "(?s:.*)").fullmatch

    def check(value: Any) -> None:
        string(value)
        if len(value) > high:
            raise Broken("string_long", high, len(value))
        if len(value) < low:
            raise Broken("string_empty")
        if pattern and not matches(value):
            raise Broken("pattern", pattern)

    return check


def number(kind: str, low: float, high: float) -> Shape:
    expected, types = _NUMBERS[kind]

    def check(value: Any) -> None:
        if type(value) not in types:
            raise wrong_type(expected, value)
        if not low <= value <= high:
            side, bound = ("high", high) if value > high else ("low", low)
            raise Broken(f"{kind}_{side}", bound, repr(value))

    return check


def one_of(*values: str) -> Shape:
    allowed, expected = frozenset(values), f"one of {listed(values, 'or')}"

    def check(value: Any) -> None:
        if type(value) is not str:
            raise wrong_type(expected, value)
        if value not in allowed:
            raise Broken("value", value, listed(values))

    return check


def array(of: Shape, low: float, high: float, expected: str) -> Shape:
    def check(value: Any) -> None:
        if type(value) is not list:
            raise wrong_type(expected, value)
        if len(value) > high:
            raise Broken("array_long", high, len(value))
        if len(value) < low:
            raise Broken("array_empty")
        index = 0
        try:
            for item in value:
                of(item)
                index += 1
        except Broken as broken:
            raise broken.inside(f"[{index}]") from None

    return check


def thing(table: Shapes, closed: bool = False) -> Shape:
    """An object: a starred key must be there, others may be null; unknown keys pass unless `closed`."""
    fields = {key.rstrip("*"): shape for key, shape in table.items()}
    required = {key.rstrip("*") for key in table if key.endswith("*")}

    def report(value: dict[str, Any]) -> None:
        for key in fields:  # in the API's order, not in the caller's
            try:
                if key in value and (value[key] is not None or key in required):
                    fields[key](value[key])
            except Broken as broken:
                raise broken.inside(f".{key}") from None

    def check(value: Any) -> None:
        if type(value) is not dict:
            raise wrong_type("an object", value)
        if required and not required <= value.keys():
            raise Broken("missing", path="." + next(key for key in fields if key in required - value.keys()))
        try:
            for key, item in value.items():
                shape = fields.get(key)
                if shape is not None and (item is not None or key in required):
                    shape(item)
        except Broken:
            report(value)
        if closed and not value.keys() <= fields.keys():
            raise Broken("unknown", path="." + next(key for key in value if key not in fields))

    return check


def variants(tag: str, shapes: Shapes, whole: bool = False, absent: Callable = anything) -> Shape:
    """An object whose `tag`, or else `absent`, says its shape; a wrong `whole` is reported as a whole."""
    known, step = one_of(*shapes), "" if whole else f".{tag}"

    def check(value: Any) -> None:
        json_object(value)
        kind = value.get(tag)
        if kind is None:
            kind = absent(value)
        if type(kind) is str and kind in shapes:
            return shapes[kind](value)
        if tag not in value and not whole:
            raise Broken("missing", path=step)
        try:
            known("" if whole and kind is None else kind)
        except Broken as broken:
            raise broken.inside(step) from None

    return check


def either(expected: str, shapes: dict[type, Shape]) -> Shape:
    """A value of one of several JSON types, each with its own shape."""

    def check(value: Any) -> None:
        shape = shapes.get(type(value))
        if shape is None:
            raise wrong_type(expected, value)
        shape(value)

    return check


def both(first: Shape, second: Shape) -> Shape:
    def check(value: Any) -> None:
        first(value)
        second(value)

    return check


def pairs(of: Shape, expected: str, most: float, longest: float) -> Shape:
    """An object with free keys, such as `metadata`."""

    def check(value: Any) -> None:
        if type(value) is not dict:
            raise wrong_type(expected, value)
        if len(value) > most:
            raise Broken("properties", most, len(value))
        for key, item in value.items():
            if len(key) > longest:
                shown = key[:3], key[-3:], longest, len(key)
                raise Broken("property_name", "metadata", *shown, path=f".{key}")
            try:
                of(item)
            except Broken as broken:
                raise broken.inside(f".{key}") from None

    return check
