"""What the model wrote, read: checked arguments, or a complaint that the model can act on."""

import json
import logging
import math
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from labkit.protocol.errors import InvalidArguments, ModelError, TruncatedArguments

log = logging.getLogger(__name__)
_NOT_PLAIN = re.compile("null|NaN|Infinity")


def parse_arguments(
    text: Any, model: type[BaseModel], *, lenient: bool = False, truncated: bool = False
) -> BaseModel:
    """The checked arguments of a call: "", blanks and null mean {}; 20.0 is an integer, "20" is a string.

    Null for a field with a default means left out. `lenient` also reads a name in another case and a string that
    holds what the schema asks for ("20", "true", "[1]"), and logs it. `truncated`: the output limit was reached.
    Raises `InvalidArguments` or `TruncatedArguments` (S1 §4.2).

    >>> class Search(BaseModel):
    ...     keyword: str
    ...     limit: int = 10
    >>> parse_arguments('{"keyword":"键盘","limit":20.0}', Search)
    Search(keyword='键盘', limit=20)
    """
    if isinstance(text, str) and not _NOT_PLAIN.search(text):
        try:
            return model.model_validate_json(text, strict=True)
        except ValidationError:
            pass  # told below, in words for the model
    value, notes = _decode(text, lenient, truncated), []
    if lenient:
        value = _own_names(value, model, notes)
    value = _without_unset(value, model)
    for _ in range(3):
        try:
            found = model.model_validate_json(json.dumps(value), strict=True)
            break
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False)
            notes += (again := [note for fault in faults if lenient and (note := _reread(value, fault))])
            if not again:
                raise InvalidArguments("; ".join(_words(fault, model) for fault in faults)) from None
    if notes:
        log.info("arguments for %s read leniently: %s", model.__name__, "; ".join(notes))
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
    what = "one encoded twice, as a string" if twice else f"{json.dumps(value)[:40]}"
    raise InvalidArguments(f"arguments must be a JSON object, got {what}", hint="Send the object itself.")


def _not_json(text: str, error: Exception, truncated: bool) -> ModelError:
    if truncated:
        said = f"the output limit cut the arguments off after {len(text)} characters"
        return TruncatedArguments(said, hint="Nothing was run: send less at once.")
    end = getattr(error, "pos", 0) >= len(text.rstrip()) or str(error).startswith("Unterminated")
    return InvalidArguments(f"arguments are not JSON: {error}{', the text stops in the middle' * end}")


def _load(text: str) -> Any:
    return json.loads(text, parse_float=_number, parse_constant=_number)


def _number(text: str) -> int | float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a number in JSON")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _fold(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _own_names(value: dict[str, Any], model: type[BaseModel], notes: list[str]) -> dict[str, Any]:
    own = {_fold(name): name for name in model.model_fields if name not in value}
    renamed = {key: own.pop(_fold(key), key) if key not in model.model_fields else key for key in value}
    notes += [f"{key} means {name}" for key, name in renamed.items() if key != name]
    return {renamed[key]: item for key, item in value.items()}


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def _without_unset(value: Any, annotation: Any) -> Any:
    models = _models(annotation)
    if isinstance(value, list):
        return [_without_unset(item, annotation) for item in value]
    if not isinstance(value, dict) or len(models) != 1:
        return value
    fields = models[0].model_fields
    left_out = [
        key for key in value if value[key] is None and key in fields and not fields[key].is_required()
    ]
    kinds = {key: fields[key].annotation if key in fields else None for key in value if key not in left_out}
    return {key: _without_unset(value[key], kind) for key, kind in kinds.items()}


def _reread(value: Any, fault: Mapping[str, Any]) -> str:
    """Replace a string that holds JSON of another type, where the schema asked for another type."""
    for step in fault["loc"] if fault["type"].endswith("_type") and isinstance(fault["input"], str) else ():
        try:
            if isinstance(value[step], str):
                value[step] = _load(value[step])
                return f"{'.'.join(map(str, fault['loc']))}: a string was read as JSON"
            value = value[step]
        except (KeyError, IndexError, TypeError):
            continue  # the name of a union's branch, which the value does not have
        except (ValueError, RecursionError):
            return ""
    return ""


def _words(fault: Mapping[str, Any], model: type[BaseModel]) -> str:
    place = ".".join(map(str, fault["loc"])) or "arguments"
    if fault["type"] == "missing":
        return f"missing required argument: {place}"
    if fault["type"] == "extra_forbidden":
        names = {_fold(name): name for name in model.model_fields}
        near = [f" (did you mean {names[name]}?)" for name in get_close_matches(_fold(place), names, 1)]
        return f"unknown argument: {place}{''.join(near)}"
    shown = json.dumps(fault["input"], ensure_ascii=False, default=str)[:60]
    return f"{place}: {fault['msg']}, got {shown}"
