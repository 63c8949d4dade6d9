"""Schemas inside a request: of functions, and of a response format (openai-wire §1.8, §3)."""

import marshal
from collections.abc import Iterable, Iterator
from functools import lru_cache

from labkit.protocol.errors import WireError
from labkit.protocol.families import Family
from labkit.protocol.schema import lint
from labkit.service.checks.context import Body, CheckContext
from labkit.service.checks.words import refuse

LARGEST_REMEMBERED = 8_192  # bytes
HOLDERS = ("tools", "functions", "response_format")
RULES = {"parameters": "function_schema", "schema": "format_schema"}
TOO_DEEP = "schema is nested too deeply."


def check_chat_schemas(body: Body, model: Family, context: CheckContext) -> WireError | None:
    if body.keys().isdisjoint(HOLDERS):
        return None
    tools, functions = _each(body, "tools"), _each(body, "functions")
    found = [("parameters", one.get("function"), f"tools[{i}].function.parameters") for i, one in tools]
    found += [("parameters", one, f"functions[{i}].parameters") for i, one in functions]
    wanted = (body.get("response_format") or {}).get("json_schema")
    return _first([*found, ("schema", wanted, "response_format")], context)


def check_response_schemas(body: Body, model: Family, context: CheckContext) -> WireError | None:
    functions = ((i, one) for i, one in _each(body, "tools") if one["type"] == "function")
    found = [("parameters", one, f"tools[{i}].parameters") for i, one in functions]
    wanted = (body.get("text") or {}).get("format")
    return _first([*found, ("schema", wanted, "text.format.schema")], context)


def _each(body: Body, key: str) -> Iterator[tuple[int, Body]]:
    return enumerate(body.get(key) or ())


def _first(found: Iterable[tuple[str, Body | None, str]], context: CheckContext) -> WireError | None:
    for key, holder, path in found:
        if holder and (said := _complaint(holder, key, context)):
            return refuse(RULES[key], holder["name"], said, path=path)
    return None


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
