"""Schemas inside a request: of functions, and of a response format (openai-wire §1.8, §3)."""

import marshal
from functools import lru_cache

from labkit.protocol.errors import WireError
from labkit.protocol.families import Family
from labkit.protocol.schema import lint
from labkit.service.checks.context import Body, CheckContext
from labkit.service.checks.words import refuse

LARGEST_REMEMBERED = 8_192  # bytes
TOO_DEEP = "schema is nested too deeply."


def check_chat_schemas(body: Body, model: Family, context: CheckContext) -> WireError | None:
    places = [
        (tool["function"], f"tools[{index}].function.parameters")
        for index, tool in enumerate(body.get("tools") or ())
        if tool["type"] == "function"
    ]
    places += [
        (one, f"functions[{index}].parameters") for index, one in enumerate(body.get("functions") or ())
    ]
    wanted = (body.get("response_format") or {}).get("json_schema")
    return _first(places, wanted, "response_format", context)


def check_response_schemas(body: Body, model: Family, context: CheckContext) -> WireError | None:
    places = [
        (tool, f"tools[{index}].parameters")
        for index, tool in enumerate(body.get("tools") or ())
        if tool["type"] == "function"
    ]
    return _first(places, (body.get("text") or {}).get("format"), "text.format.schema", context)


def _first(
    places: list[tuple[Body, str]], wanted: Body | None, path: str, context: CheckContext
) -> WireError | None:
    for function, place in places:
        if said := _complaint(function, "parameters", context):
            return refuse("function_schema", function["name"], said, path=place)
    said = _complaint(wanted, "schema", context) if wanted else None
    return refuse("format_schema", wanted["name"], said, path=path) if wanted and said else None


def _complaint(holder: Body, key: str, context: CheckContext) -> str | None:
    """The API's first complaint; a loop sends the same schemas again, so small ones are remembered."""
    if holder.get(key) is None:
        return None
    try:
        frozen = marshal.dumps(holder[key], 2)
    except ValueError:
        return TOO_DEEP
    look = _first_problem if len(frozen) <= LARGEST_REMEMBERED else _first_problem.__wrapped__
    return look(frozen, holder.get("strict") is True, context.profile == "strict")


@lru_cache(maxsize=1024)
def _first_problem(frozen: bytes, strict: bool, unsure_too: bool) -> str | None:
    try:
        problems = lint(marshal.loads(frozen), strict=strict)
    except RecursionError:
        return TOO_DEEP
    return next((problem.api_message for problem in problems if problem.certain or unsure_too), None)
