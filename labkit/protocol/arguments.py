"""What the model wrote, read: checked arguments, or a complaint that the model can act on."""

import json
import logging
import math
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from labkit.protocol.errors import InvalidArguments, ModelError, TruncatedArguments

Model = type[BaseModel]

log = logging.getLogger(__name__)
_ENDLESS = re.compile(r"NaN|Infinity|[eE]\+?\d{3}|\d{300}")  # may become a number that JSON does not have


def parse_arguments(text: Any, model: Model, *, lenient: bool = False, truncated: bool = False) -> BaseModel:
    """The checked arguments of a call: "", blanks and null mean {}; 20.0 is an integer, "20" is a string.

    `lenient` also reads a name in another case, and a string that holds what its field asks for, like "20",
    and logs it. `truncated` says that the output limit was reached. Raises `InvalidArguments` or
    `TruncatedArguments` (S1 §4.2).

    >>> class Search(BaseModel):
    ...     keyword: str
    ...     limit: int = 10
    >>> parse_arguments('{"keyword":"键盘","limit":20.0}', Search)
    Search(keyword='键盘', limit=20)
    """
    if isinstance(text, str) and not _ENDLESS.search(text):
        try:
            return model.model_validate_json(text, strict=True)
        except ValidationError:
            pass  # told below, in words for the model
    value, notes = _decode(text, lenient, truncated), []
    if lenient:
        value = _own_names(value, model, notes)
    try:
        found = _validated(value, model, lenient, notes)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False)
        raise InvalidArguments("; ".join(_words(fault, model) for fault in faults)) from None
    if notes:
        log.info("arguments of %s read leniently: %s", model.__name__, "; ".join(notes))
    return found


def _decode(text: Any, lenient: bool, truncated: bool) -> dict[str, Any]:
    try:
        text = text if isinstance(text, str) else json.dumps(text)
        value = _load(text) if text.strip() or truncated else None
        value = _load(value) if lenient and isinstance(value, str) else value
    except (ValueError, TypeError, RecursionError) as error:
        raise _not_json(str(text), error, truncated) from None
    if value is None or isinstance(value, dict):
        return value or {}
    twice = isinstance(value, str) and value.lstrip().startswith("{")
    what = "one encoded twice, as a string" if twice else json.dumps(value, ensure_ascii=False)[:40]
    raise InvalidArguments(f"arguments must be a JSON object, got {what}", hint="Send the object itself.")


def _not_json(text: str, error: Exception, truncated: bool) -> ModelError:
    if truncated:
        said = f"the output limit cut the arguments off after {len(text)} characters"
        return TruncatedArguments(said, hint="Nothing was run: send less at once.")
    halfway = getattr(error, "pos", 0) >= len(text.rstrip()) or str(error).startswith("Unterminated")
    return InvalidArguments(f"arguments are not JSON: {error}{', the text stops halfway' * halfway}")


def read_json(text: Any, otherwise: Any = None) -> Any:
    """The value that a text holds as JSON, or else `otherwise`.

    >>> read_json("[1]"), read_json("[1", "no JSON")
    ([1], 'no JSON')
    """
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return otherwise


def _load(text: str) -> Any:
    return json.loads(text, parse_float=_number, parse_constant=_number)


def _number(text: str) -> int | float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is no number in JSON")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _fold(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _own_names(value: dict[str, Any], model: Model, notes: list[str]) -> dict[str, Any]:
    own = {_fold(name): name for name in model.model_fields if name not in value}
    names = {key: own.pop(_fold(key), key) if key not in model.model_fields else key for key in value}
    notes += [f"{key} means {name}" for key, name in names.items() if key != name]
    return {names[key]: item for key, item in value.items()}


def _validated(value: dict[str, Any], model: Model, lenient: bool, notes: list[str]) -> BaseModel:
    try:
        return model.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        faults = error.errors() if lenient else ()
        wanted = {fault["loc"][0] for fault in faults if fault["type"].endswith("_type")}
        held = {key: _held(value[key]) for key in wanted if isinstance(value.get(key), str)}
        if not held:
            raise
        notes += [f"{key} was read out of a string" for key in sorted(held)]
        return model.model_validate_json(json.dumps(value | held), strict=True)


def _held(text: str) -> Any:
    try:
        return _load(text)
    except (ValueError, RecursionError):
        return text


def _words(fault: Mapping[str, Any], model: Model) -> str:
    place = ".".join(map(str, fault["loc"])) or "arguments"
    if fault["type"] == "missing":
        return f"missing required argument: {place}"
    if fault["type"] == "extra_forbidden":
        names = {_fold(name): name for name in model.model_fields}
        near = [f" (did you mean {names[name]}?)" for name in get_close_matches(_fold(place), names, 1)]
        return f"unknown argument: {place}{''.join(near)}"
    return f"{place}: {fault['msg']}, got {json.dumps(fault['input'], ensure_ascii=False, default=str)[:60]}"
