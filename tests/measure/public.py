"""The BFCL subset as wanted calls, predictions made up from its labels, and what BFCL's checker says to them.

Run it where `bfcl-eval` 2026.3.23 is installed to write the verdicts anew: python -m tests.measure.public
"""

import copy
import itertools
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from labkit.files import dataset, read_jsonl, write_text
from labkit.measure.match import Made, Wanted

VERDICTS = Path(__file__).with_name("bfcl_verdicts.json")
Calls = list[dict[str, dict[str, Any]]]


def excluded(source: str) -> dict[str, str]:
    """Rows whose label is wrong, by id, each with the reason."""
    return {row["id"]: row["reason"] for row in read_jsonl(dataset(f"{source}/excluded.jsonl"))}


def bfcl_rows() -> list[dict[str, Any]]:
    """The rows that ask for calls."""
    return [row for row in read_jsonl(dataset("bfcl_subset/cases.jsonl")) if row["ground_truth"]]


def wanted(row: dict[str, Any]) -> list[Wanted]:
    """The labels as labkit's own; an accepted "" means that the argument may be left out."""
    return [_wanted(name, accepted) for call in row["ground_truth"] for name, accepted in call.items()]


def _wanted(name: str, accepted: dict[str, list[Any]]) -> Wanted:
    values = {
        key: [each for one in some if one != "" for each in _each(one)] for key, some in accepted.items()
    }
    return Wanted(name, values, frozenset(key for key, some in accepted.items() if "" in some))


def _each(value: Any) -> Iterator[Any]:
    """A dict label gives a list of accepted values for each of its keys: all the dicts that it accepts."""
    if isinstance(value, dict):
        choices = [[(key, one) for one in some] for key, some in value.items()]
        for chosen in itertools.product(*choices):
            yield {key: one for key, one in chosen if one != ""}
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        yield from (list(items) for items in itertools.product(*(list(_each(item)) for item in value)))
    else:
        yield value


def made(calls: Calls) -> list[Made]:
    return [Made(name, arguments) for call in calls for name, arguments in call.items()]


def predictions(row: dict[str, Any]) -> Iterator[tuple[str, Calls]]:
    """What a model might have answered: right, right in another form, and wrong in ways that models are."""
    right = [
        {one.name: {key: values[0] for key, values in one.arguments.items() if values}} for one in wanted(row)
    ]
    yield "as labelled", right
    yield (
        "last accepted values",
        [{one.name: {k: v[-1] for k, v in one.arguments.items() if v}} for one in wanted(row)],
    )
    yield (
        "optional left out",
        [
            {one.name: {k: v[0] for k, v in one.arguments.items() if v and k not in one.optional}}
            for one in wanted(row)
        ],
    )
    yield "no call", []
    yield "one call twice", [*right, right[0]]
    yield "other function", [{f"{next(iter(right[0]))}_v2": next(iter(right[0].values()))}, *right[1:]]
    if len(right) > 1:
        yield "other order", right[::-1]
        yield "last call missing", right[:-1]
    for kind, change in CHANGES.items():
        changed = copy.deepcopy(right)
        arguments = next(iter(changed[0].values()))
        key = next((key for key, value in arguments.items() if change(value) is not None), None)
        if key:
            arguments[key] = change(arguments[key])
            yield kind, changed
    changed = copy.deepcopy(right)
    next(iter(changed[0].values()))["surprise"] = 1
    yield "unknown argument", changed
    for key in list(next(iter(right[0].values())))[:1]:
        changed = copy.deepcopy(right)
        del next(iter(changed[0].values()))[key]
        yield "first argument left out", changed


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


CHANGES = {
    "number as text": lambda v: str(v) if _number(v) else None,
    "integer as float": lambda v: float(v) if type(v) is int else None,
    "float as integer": lambda v: int(v) if type(v) is float and v == int(v) else None,
    "number off by one": lambda v: v + 1 if _number(v) else None,
    "one for true": lambda v: int(v) if isinstance(v, bool) else None,
    "upper case": lambda v: v.upper() if isinstance(v, str) and v != v.upper() else None,
    "spaces around": lambda v: f" {v} " if isinstance(v, str) else None,
    "another text": lambda v: f"{v} or so" if isinstance(v, str) else None,
    "list turned round": lambda v: v[::-1] if isinstance(v, list) and v != v[::-1] else None,
    "list of numbers in the other type": lambda v: (
        [int(n) if type(n) is float and n == int(n) else float(n) for n in v]
        if isinstance(v, list) and v and all(map(_number, v))
        else None
    ),
    "list one short": lambda v: v[:-1] if isinstance(v, list) and v else None,
}


def bfcl_text(text: str) -> str:
    """BFCL compares texts without spaces, punctuation and case."""
    return re.sub(r"[ ,./\-_*^]", "", text).lower().replace("'", '"')


def write_verdicts() -> None:
    """Ask BFCL's checker; only its table of models is replaced, which would import every vendor's SDK."""
    table = ModuleType("bfcl_eval.constants.model_config")
    table.MODEL_CONFIG_MAPPING = defaultdict(lambda: SimpleNamespace(underscore_to_dot=False))
    sys.modules[table.__name__] = table
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    verdicts: dict[str, dict[str, bool]] = defaultdict(dict)
    for row in bfcl_rows():
        for kind, calls in predictions(row):
            arguments = (row["function"], calls, row["ground_truth"], Language.PYTHON, row["category"], "m")
            verdicts[row["id"]][kind] = _judged(ast_checker, arguments)
    source = "ast_checker of bfcl-eval 2026.3.23 (PyPI, Apache-2.0), on predictions made by public.py"
    write_text(VERDICTS, json.dumps({"source": source, "verdicts": verdicts}, indent=1) + "\n")


def _judged(checker, arguments) -> bool | str:
    try:
        return checker(*arguments)["valid"]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    write_verdicts()
