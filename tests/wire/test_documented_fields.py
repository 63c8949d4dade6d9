"""Whatever the types of the SDK can express is accepted: every field, every variant, every literal."""

import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

import pytest
from openai.types.chat import completion_create_params as chat
from openai.types.responses import response_create_params as responses
from typing_extensions import is_typeddict

from labkit.service.checks.fields import CHAT, CHAT_NAMES, RESPONSES, RESPONSES_NAMES
from labkit.service.checks.shapes import fault

ANY_TOOL = {"type": "function", "name": "name", "function": {"name": "name"}}
ONLY_ONE = {"stream"}
DEEPEST = 7


def examples(kind: Any, depth: int = 0) -> Iterator[Any]:
    """Values of a type: one at least for each alternative and each literal in it."""
    origin, inside = get_origin(kind), get_args(kind)
    if depth > DEEPEST:
        return
    if origin in (Required, NotRequired):
        yield from examples(inside[0], depth)
    elif origin is Literal:
        yield from inside
    elif origin in (Union, types.UnionType):
        for one in inside:
            yield from examples(one, depth)
    elif origin is typing.Annotated:
        yield from examples(inside[0], depth)
    elif origin in (list, Iterable, Sequence) or getattr(kind, "__name__", "") == "SequenceNotStr":
        yield from ([one] for one in examples(inside[0], depth + 1))
    elif origin in (dict, Mapping):
        yield from ({"key": one} for one in examples(inside[1], depth + 1) if inside[1] is not object)
        yield from [ANY_TOOL] * (inside[1] is object)
    elif is_typeddict(kind):
        yield from dicts(kind, depth + 1)
    else:
        yield from {
            str: ["name"],
            int: [16],
            float: [1.0],
            bool: [True, False],
            object: ["x"],
            Any: ["x"],
        }.get(kind, [None])


def dicts(kind: Any, depth: int) -> Iterator[dict[str, Any]]:
    hints = get_type_hints(kind, include_extras=True)
    must = [name for name, hint in hints.items() if get_origin(hint) is Required]
    base = {name: next(examples(hints[name], depth), None) for name in must}
    yield base
    for name, hint in hints.items():
        yield from (base | {name: one} for one in examples(hint, depth))


def fields(params: Any) -> list[tuple[str, Any]]:
    return sorted(get_type_hints(params, include_extras=True).items())


CHAT_FIELDS, RESPONSES_FIELDS = (
    fields(chat.CompletionCreateParamsBase),
    fields(responses.ResponseCreateParamsBase),
)
LONGEST = 20_000


@pytest.mark.parametrize(("name", "kind"), CHAT_FIELDS, ids=[name for name, _ in CHAT_FIELDS])
def test_every_value_that_the_chat_types_allow_is_accepted(name, kind):
    body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "x"}]}
    values = [*islice(examples(kind), LONGEST)]
    refused = [
        (value, error.message)
        for value in values
        if value != [] and (error := fault(CHAT, body | {name: value}))
    ]
    assert values and refused == []


@pytest.mark.parametrize(("name", "kind"), RESPONSES_FIELDS, ids=[name for name, _ in RESPONSES_FIELDS])
def test_every_value_that_the_responses_types_allow_is_accepted(name, kind):
    values = [*islice(examples(kind), LONGEST)]
    refused = [
        (value, error.message)
        for value in values
        if (error := fault(RESPONSES, {"model": "gpt-4.1", "input": "x", name: value}))
    ]
    assert values and refused == []


def test_the_names_are_those_of_the_sdk():
    assert {name for name, _ in CHAT_FIELDS} | ONLY_ONE == CHAT_NAMES
    also = {"presence_penalty", "frequency_penalty"}  # known, and refused by reasoning models in other words
    assert {name for name, _ in RESPONSES_FIELDS} | ONLY_ONE | also == RESPONSES_NAMES
