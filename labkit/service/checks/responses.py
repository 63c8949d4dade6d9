"""Responses: its own shapes, state, choice and items (openai-wire §5.4); the first that says no."""

from typing import Any

from labkit.protocol.errors import WireError
from labkit.protocol.families import Family
from labkit.service.checks.chain import check_items, check_state
from labkit.service.checks.chat import says_json
from labkit.service.checks.context import Body, CheckContext, first_broken
from labkit.service.checks.fields import MOVED, RESPONSES, RESPONSES_NAMES
from labkit.service.checks.schemas import check_response_schemas
from labkit.service.checks.shapes import fault
from labkit.service.checks.vendors import reworded
from labkit.service.checks.words import listed, refuse

DEFAULTS = {"temperature": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0}
HOSTED = ("file_search", "web_search", "web_search_preview", "code_interpreter", "image_generation", "mcp")
ONLY_AUTO = ("gpt-5", "gpt-5-mini", "gpt-5-nano")


def check_responses(body: Any, context: CheckContext) -> WireError | None:
    """The first refusal of a Responses request, or None; never raises, linear in the request.

    >>> check_responses({"model": "gpt-4o", "input": "hi", "seed": 1}, CheckContext()).message
    "Unknown parameter: 'seed'."
    """
    if type(body) is dict and not body.keys() <= RESPONSES_NAMES:
        name = next(key for key in body if key not in RESPONSES_NAMES)
        error = refuse("moved", name, MOVED[name]) if name in MOVED else refuse("unknown", path=name)
    else:
        error = fault(RESPONSES, body) or first_broken(RULES, body, context, "no_model_here")
    return reworded(error, context.vendor)


def check_sampling(body: Body, model: Family, context: CheckContext) -> WireError | None:
    effort = (body.get("reasoning") or {}).get("effort")
    if not model.reasoning:
        return refuse("unsupported", "", path="reasoning.effort") if effort is not None else None
    if effort != "none" or context.profile == "strict":
        for name, default in DEFAULTS.items():
            if body.get(name) not in (None, default):
                return refuse("unsupported_flat", path=name)
    if effort is None or effort in model.efforts:
        return None
    return refuse("effort_of_model", effort, body["model"], listed(model.efforts), path="reasoning.effort")


def check_model(body: Body, model: Family, context: CheckContext) -> WireError | None:
    cap = body.get("max_output_tokens") or 0
    if cap > model.max_output:
        return refuse("integer_high", model.max_output, cap, path="max_output_tokens")
    if body.get("prompt_cache_retention") == "in_memory" and model.only_24h_cache:
        return refuse("cache_retention", "invalid_parameter")
    if body.get("stream_options") is not None and not body.get("stream"):
        return refuse("needs_switch", "stream", path="stream_options")
    return None


def check_choice(body: Body, model: Family, context: CheckContext) -> WireError | None:
    choice, tools = body.get("tool_choice"), body.get("tools") or []
    if choice in (None, "auto"):
        return None
    hosted = dict.fromkeys(tool["type"] for tool in tools if tool["type"] in HOSTED)
    if hosted and model.name in ONLY_AUTO:
        return refuse("hosted_forced", body["model"], ", ".join(f"'{kind}'" for kind in hosted))
    if choice == "required" and not tools:
        return refuse("required_alone")
    if not isinstance(choice, dict):
        return None
    inner = (one for tool in tools for one in tool.get("tools") or ())
    offered = {_identity(tool) for tool in (*tools, *inner)}
    if choice["type"] != "allowed_tools":
        return None if _identity(choice) in offered else refuse("choice_not_offered", choice["type"])
    missing = next((tool for tool in choice["tools"] if _identity(tool) not in offered), None)
    return refuse("choice_not_offered", missing.get("name", missing["type"])) if missing else None


def _identity(tool: Body) -> tuple[str, str | None]:
    """What a choice names: a function or a custom tool by name, a server by label, anything else by type."""
    key = {"function": "name", "custom": "name", "mcp": "server_label"}.get(tool["type"])
    return tool["type"].partition("_preview")[0], str(tool.get(key)) if key else None


def check_json_word(body: Body, model: Family, context: CheckContext) -> WireError | None:
    wanted, given = (body.get("text") or {}).get("format") or {}, body.get("input") or []
    messages = [{"content": given}] if isinstance(given, str) else given
    unsaid = wanted.get("type") == "json_object" and not says_json(messages)
    return refuse("json_word_input") if unsaid else None


_LAST_RULES = (check_items, check_response_schemas, check_json_word)
RULES = (check_state, check_sampling, check_model, check_choice, *_LAST_RULES)
