"""Does a call do what the case asks for: exact about types, order-free where order is free.

The grader's ground: values, then calls, then lists of calls (one to one, by maximum matching).
"""

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

Accepted = dict[str, list[Any]]
ANY = "*"


@dataclass(frozen=True, slots=True)
class Wanted:
    """One expected call: accepted values of each argument, `ANY` for any text; `optional` ones may lack."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}
    name: str
    arguments: Accepted = field(default_factory=dict)
    optional: frozenset[str] = frozenset()

    def reference(self) -> str:
        """The first accepted value of each argument that must be there, as JSON text."""
        chosen = {k: values[0] for k, values in self.arguments.items() if k not in self.optional}
        return json.dumps(chosen, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Made:
    """One call that was made, its arguments parsed; None when they were not a JSON object."""

    name: str
    arguments: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Match:
    """Which wanted call each made call fits (`pairs`: wanted index, made index); `exact`: one to one."""

    pairs: tuple[tuple[int, int], ...]
    exact: bool


def tidy(text: str) -> str:
    """The form in which two strings are compared: width and outer or repeated white space do not count.

    >>> tidy(" １００  元 ")
    '100 元'
    """
    return " ".join(unicodedata.normalize("NFKC", text).split())


def same(value: Any, wanted: Any, text: Callable[[str], str] = tidy) -> bool:
    """Equal by JSON's types: 12 is 12.0, but true is not 1 and "12" is not 12; nested values alike.

    >>> same([12, 15], [12.0, 15.0]), same(True, 1), same("12", 12)
    (True, False, False)
    """
    return _form(value, text) == _form(wanted, text)


def _form(value: Any, text: Callable[[str], str]) -> Any:
    """The value in a form in which Python's own equality is that of JSON's types."""
    match value:
        case bool():
            return (value, bool)
        case str():
            return text(value)
        case Mapping():
            return {name: _form(inner, text) for name, inner in value.items()}
        case list() | tuple():
            return [_form(inner, text) for inner in value]
    return value


def fits(made: Made, wanted: Wanted, text: Callable[[str], str] = tidy) -> bool:
    """Right tool, no argument too many, none missing, every value accepted.

    >>> fits(Made("get_weather", {"city": "北京"}), Wanted("get_weather", {"city": ["北京", "Beijing"]}))
    True
    """
    if made.name != wanted.name or made.arguments is None:
        return False
    if not made.arguments.keys() <= wanted.arguments.keys():
        return False
    return all(
        any(_accepts(value, made.arguments[name], text) for value in accepted)
        if name in made.arguments
        else name in wanted.optional
        for name, accepted in wanted.arguments.items()
    )


def _accepts(accepted: Any, value: Any, text: Callable[[str], str]) -> bool:
    free = accepted == ANY and isinstance(value, str) and bool(value.strip())
    return free or same(value, accepted, text)


def match_calls(
    made: Sequence[Made],
    wanted: Sequence[Wanted],
    *,
    ordered: bool = False,
    text: Callable[[str], str] = tidy,
) -> Match:
    """Pair as many calls as can be paired, each once; `ordered` pairs them position by position.

    >>> swapped = match_calls([Made("f", {"x": 2}), Made("f", {"x": 1})],
    ...                       [Wanted("f", {"x": [1, 2]}), Wanted("f", {"x": [2]})])
    >>> swapped.exact, swapped.pairs
    (True, ((0, 1), (1, 0)))
    """
    edges = [[fits(call, want, text) for call in made] for want in wanted]
    if ordered:
        pairs = [(i, i) for i in range(min(len(made), len(wanted))) if edges[i][i]]
    else:
        pairs = _maximum_matching(edges, len(made))
    return Match(tuple(sorted(pairs)), len(made) == len(wanted) == len(pairs))


def _maximum_matching(edges: list[list[bool]], width: int) -> list[tuple[int, int]]:
    owner: list[int | None] = [None] * width

    def place(want: int, seen: set[int]) -> bool:
        for call in range(width):
            if edges[want][call] and call not in seen:
                seen.add(call)
                if owner[call] is None or place(owner[call], seen):
                    owner[call] = want
                    return True
        return False

    for want in range(len(edges)):
        place(want, set())
    return [(want, call) for call, want in enumerate(owner) if want is not None]
