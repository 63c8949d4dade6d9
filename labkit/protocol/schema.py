"""Schemas made: from a model, from a described function, and the strict form of a loose schema."""

import inspect
import json
import re
import textwrap
from collections.abc import Callable
from typing import Any, get_type_hints
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, create_model

from labkit.protocol.arguments import parse_arguments as parse_arguments
from labkit.protocol.errors import BadSchema, BadTool
from labkit.protocol.strict import DEEPEST, FORMATS, Place, is_type, lint, nodes, part
from labkit.protocol.strict import RULES as RULES
from labkit.protocol.strict import Problem as Problem

_DROPPED = ("default", "minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties", "format")
_MODELS: WeakKeyDictionary[Callable, type[BaseModel]] = WeakKeyDictionary()
_SECTION = re.compile(r"^(?:Args|Arguments|参数)[:：]\s*\n(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_ARGUMENT = re.compile(r"^(\w+)(?: \(.*?\))?[:：] *(.+(?:\n[ \t]+.+)*)", re.MULTILINE)


def arguments_model(function: Callable) -> type[BaseModel]:
    """The model of a function's arguments, described by the `Args` section of its docstring.

    A keyword-only `context` is the caller's and left out. Raises `BadTool`, naming function and argument.

    >>> def get_weather(city: str): '''Weather now.\\n\\n    Args:\\n        city: City name, e.g. 北京.'''
    >>> arguments_model(get_weather).model_fields["city"].description
    'City name, e.g. 北京.'
    """
    written = getattr(function, "__func__", function)
    if written not in _MODELS:
        _MODELS[written] = _model(function)
    return _MODELS[written]


def _model(function: Callable) -> type[BaseModel]:
    name, texts, fields = function.__name__, _described(function), {}
    try:
        hints = get_type_hints(function, include_extras=True)
        for argument, parameter in inspect.signature(function).parameters.items():
            if argument != "context" or parameter.kind is not parameter.KEYWORD_ONLY:
                _check_argument(f"{name}: argument {argument!r}", parameter, hints)
                text = {"description": texts[argument]} if argument in texts else {}
                default = ... if parameter.default is parameter.empty else parameter.default
                fields[argument] = (hints[argument], Field(default, **text))
        model = create_model(name, __config__=ConfigDict(extra="forbid", protected_namespaces=()), **fields)
    except (PydanticUserError, NameError, TypeError) as error:
        raise BadTool(f"{name}: no schema can be made of its annotations ({error})") from None
    for argument, field in model.model_fields.items():
        if not field.description:
            hint = "Describe it in the Args section of the docstring."
            raise BadTool(f"{name}: argument {argument!r} is not described", hint=hint)
    return model


def _check_argument(where: str, parameter: inspect.Parameter, hints: dict[str, Any]) -> None:
    named = parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    if not named or parameter.name.startswith("_"):
        raise BadTool(f"{where} cannot be sent by name", hint="Write plain named arguments.")
    if parameter.name not in hints:
        raise BadTool(f"{where} has no annotation", hint="The schema is made of it.")


def _described(function: Callable) -> dict[str, str]:
    section = _SECTION.search(inspect.getdoc(function) or "")
    found = _ARGUMENT.findall(textwrap.dedent(section[1])) if section else ()
    return {name: " ".join(text.split()) for name, text in found}


def plain_schema(source: type[BaseModel] | Callable) -> dict[str, Any]:
    """The schema of a model, or of a function's arguments, with an object at the root and without titles."""
    model = source if isinstance(source, type) and issubclass(source, BaseModel) else arguments_model(source)
    schema = model.model_json_schema()
    if "$ref" in schema:
        schema |= schema["$defs"][schema.pop("$ref").rpartition("/")[2]]
    for _, node, _ in nodes(schema):
        if isinstance(node, dict):
            node.pop("title", None)
    return schema


def strict_schema(source: type[BaseModel] | Callable) -> dict[str, Any]:
    """The strict schema of a model, or of a function's arguments: optional becomes nullable (S1 §3.1).

    Raises `BadSchema` for what strict mode cannot say, such as a dict.

    >>> class Order(BaseModel):
    ...     order_id: str
    ...     note: str | None = None
    >>> strict_schema(Order)["required"]
    ['order_id', 'note']
    """
    return repair(plain_schema(source))[0]


def repair(schema: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The strict form of a schema, and what it means differently.

    Raises `BadSchema`, saying what to do, where none comes near: a free-form object, say.

    >>> repair({"type": "object", "properties": {"limit": {"type": "integer"}}})[1]
    ['root: other fields are refused', 'limit: null means left out']
    """
    changes: list[str] = []
    fixed = _tighten(schema, (), changes)
    for problem in lint(fixed):
        raise BadSchema(f"no strict form. {problem.api_message}", hint=problem.repair, problem=problem)
    return fixed, changes


def _tighten(schema: Any, path: Place, changes: list[str]) -> Any:
    if not isinstance(schema, dict) or len(path) > DEEPEST:
        return schema
    node, place = dict(schema), ".".join(path) or "root"
    changes += [f"{place}: {text}" for text in (*_one_union(node), *_drop(node))]
    if "type" not in node and (kinds := _kinds(node)):
        node["type"] = kinds[0] if len(kinds) == 1 else kinds
    for key in ("$defs", "definitions"):
        if found := part(node, key, dict):
            node[key] = {name: _tighten(child, (*path, name), changes) for name, child in found.items()}
    if found := part(node, "anyOf", list):
        node["anyOf"] = [_tighten(child, (*path, str(n)), changes) for n, child in enumerate(found)]
    if "items" in node:
        node["items"] = _tighten(node["items"], (*path, "items"), changes)
    if "object" in _types(node):
        _close(node, path, place, changes)
    return node


def _one_union(node: dict[str, Any]) -> list[str]:
    only = part(node, "allOf", list)
    if len(only) == 1 and isinstance(only[0], dict) and only[0].keys().isdisjoint(node):
        node |= node.pop("allOf")[0]
    if "$ref" in node and len(node) > 1 and "anyOf" not in node:
        node["anyOf"] = [{"$ref": node.pop("$ref")}]
    if "oneOf" not in node or "anyOf" in node:
        return []
    node["anyOf"] = node.pop("oneOf")
    return ["more than one alternative may fit"]


def _drop(node: dict[str, Any]) -> list[str]:
    found = {key: node.pop(key) for key in _DROPPED if key in node and node[key] not in FORMATS}
    default = found.pop("default", None)
    changes = [f"{key} {value!r} is not enforced" for key, value in found.items()]
    if default is None:
        return changes
    told = f"Default: {json.dumps(default, ensure_ascii=False, default=str)}."
    node["description"] = f"{node.get('description', '')} {told}".strip()
    return [*changes, "must be sent, the default is only told"]


def _types(node: dict[str, Any]) -> list[Any]:
    return node["type"] if isinstance(node.get("type"), list) else [node.get("type")]


def _kinds(node: dict[str, Any]) -> list[str]:
    kinds = ("string", "integer", "number", "boolean", "null", "array", "object")
    if values := [node["const"]] if "const" in node else part(node, "enum", list):
        return list(dict.fromkeys(next(kind for kind in kinds if is_type(value, kind)) for value in values))
    return [kind for key, kind in (("properties", "object"), ("items", "array")) if key in node]


def _close(node: dict[str, Any], path: Place, place: str, changes: list[str]) -> None:
    closed = node.get("additionalProperties") is False
    properties = node.get("properties", {} if closed else None)
    free = not closed and not properties and (path or "additionalProperties" in node)
    if free or not isinstance(properties, dict):
        return
    changes += [] if closed else [f"{place}: other fields are refused"]
    required = part(node, "required", list)
    node |= {"properties": {}, "required": list(properties), "additionalProperties": False}
    for name, schema in properties.items():
        child = _tighten(schema, (*path, name), changes)
        told = isinstance(schema, dict) and schema.get("default") is not None
        if isinstance(child, dict) and name not in required and not told and not _takes_null(child):
            child = _nullable(child)
            changes.append(f"{'.'.join((*path, name))}: null means left out")
        node["properties"][name] = child


def _takes_null(node: dict[str, Any]) -> bool:
    kinds = (_types(child) for child in (node, *part(node, "anyOf", list)) if isinstance(child, dict))
    return any("null" in kind for kind in kinds)


def _nullable(node: dict[str, Any]) -> dict[str, Any]:
    if branches := part(node, "anyOf", list):
        return node | {"anyOf": [*branches, {"type": "null"}]}
    if "type" not in node or "const" in node:
        return {"anyOf": [node, {"type": "null"}]}
    choices = {"enum": [*node["enum"], None]} if part(node, "enum", list) else {}
    return node | {"type": [*_types(node), "null"]} | choices
