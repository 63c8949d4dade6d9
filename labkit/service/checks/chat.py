"""Chat Completions: shape, model, what it takes, chain, schemas; the first that says no (openai-wire §1)."""

from typing import Any

from labkit.protocol.errors import WireError
from labkit.protocol.families import Family
from labkit.service.checks.chain import check_messages
from labkit.service.checks.context import Body, CheckContext, first_broken
from labkit.service.checks.fields import CHAT, CHAT_NAMES, NEEDS
from labkit.service.checks.schemas import check_chat_schemas
from labkit.service.checks.shapes import fault
from labkit.service.checks.vendors import check_vendor, reworded
from labkit.service.checks.words import refuse

LISTS = ("tools", "functions")
WHILE_REASONING = ("presence_penalty", "frequency_penalty", "logprobs")
INFERRED = ("gpt-6.1-terra",)  # what Chat says to its tools was concluded from its neighbours
SPOKEN = {"custom": "custom tool"}


def check_chat(body: Any, context: CheckContext) -> WireError | None:
    """The first refusal of a Chat Completions request, or None; never raises, linear in the request.

    >>> check_chat({"model": "gpt-4o", "messages": []}, CheckContext()).code
    'empty_array'
    """
    openai = context.vendor.name == "openai"
    if type(body) is dict and openai and not body.keys() <= CHAT_NAMES:
        return refuse("unrecognised", next(key for key in body if key not in CHAT_NAMES))
    rules = OPENAI_RULES if openai else VENDOR_RULES
    return reworded(fault(CHAT, body) or first_broken(rules, body, context), context.vendor)


def check_companions(body: Body, model: Family, context: CheckContext) -> WireError | None:
    """Parameters that need another one beside them."""
    for name, needed in NEEDS:
        if body.get(name) is not None and not body.get(needed):
            return refuse("needs_list" if needed in LISTS else "needs_switch", needed, path=name)
    return None


def check_choice(body: Body, model: Family, context: CheckContext) -> WireError | None:
    """Whoever is chosen by name must be on offer."""
    choice, call = body.get("tool_choice"), body.get("function_call")
    if isinstance(call, dict) and call["name"] not in {function["name"] for function in body["functions"]}:
        return refuse("not_offered", "function", call["name"], "functions", path="function_call")
    if not isinstance(choice, dict):
        return None
    listed = choice["type"] == "allowed_tools"
    wanted = choice["allowed_tools"]["tools"] if listed else [choice]
    strict, offered = context.profile == "strict", {_named(tool) for tool in body["tools"]}
    for kind, name in map(_named, wanted):
        if (kind, name) not in offered and (strict or (kind == "function" and not listed)):
            return refuse("not_offered", SPOKEN.get(kind, kind), name, "tools", path="tool_choice")
    return refuse("array_empty", path="tool_choice.allowed_tools.tools") if strict and not wanted else None


def _named(tool: Body) -> tuple[str, Any]:
    inner = tool.get(tool["type"])
    return tool["type"], str(inner.get("name")) if isinstance(inner, dict) else None


def check_sampling(body: Body, model: Family, context: CheckContext) -> WireError | None:
    """What reasoning models take of the sampling parameters, and of effort."""
    effort, temperature = body.get("reasoning_effort"), body.get("temperature")
    strict = context.profile == "strict"
    if not model.reasoning:
        return refuse("unrecognised", "reasoning_effort") if effort is not None else None
    if body.get("max_tokens") is not None:
        return refuse("unsupported", " Use 'max_completion_tokens' instead.", path="max_tokens")
    if body.get("stop") is not None and (strict or model.name in ("o3", "o4-mini")):
        return refuse("unsupported", "", path="stop")
    if temperature not in (None, 1) and (strict or effort != "none"):
        return refuse("only_default", repr(temperature), path="temperature")
    if effort is not None and effort not in model.efforts:
        known = ", ".join(f"'{value}'" for value in model.efforts)
        return refuse("not_of_model", effort, f" Supported values are: {known}.", path="reasoning_effort")
    unconfirmed = _unconfirmed(body, model, effort or model.default_effort) if strict else None
    return refuse("unsupported", "", path=unconfirmed) if unconfirmed else None


def _unconfirmed(body: Body, model: Family, effort: str | None) -> str | None:
    """A parameter that reasoning models are said not to take."""
    refused = [name for name in ("logit_bias", "prediction") if body.get(name) is not None]
    if body.get("top_p") not in (None, 1):
        refused.append("top_p")
    if body.get("parallel_tool_calls") is not None and not model.parallel_parameter:
        refused.append("parallel_tool_calls")
    if effort != "none":
        refused += [name for name in WHILE_REASONING if body.get(name)]
    return refused[0] if refused else None


def check_model(body: Body, model: Family, context: CheckContext) -> WireError | None:
    """What else depends on the model: output cap, search, cache retention."""
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        return refuse("two_caps")
    for name in ("max_tokens", "max_completion_tokens"):
        if (body.get(name) or 0) > model.max_output:
            return refuse("output_cap", body[name], model.max_output, path=name)
    if body.get("web_search_options") is not None and not model.search:
        return refuse("unknown", path="web_search_options")
    if body.get("prompt_cache_retention") == "in_memory" and model.only_24h_cache:
        return refuse("cache_retention", "")
    return None


def check_content(body: Body, model: Family, context: CheckContext) -> WireError | None:
    """Roles and content parts that the model does not take."""
    for index, message in enumerate(body["messages"]):
        role, content = message["role"], message.get("content")
        if role in model.refused_roles:
            return refuse("not_of_model", role, "", path=f"messages[{index}].role")
        kinds = {part["type"] for part in content} if type(content) is list else ()
        if "input_audio" in kinds and not model.audio:
            return refuse("audio_part", path=f"messages[{index}]")
        if "image_url" in kinds and role != "user":
            return refuse("image_part", role, path=f"messages[{index}]")
    return None


def check_tools_with_effort(body: Body, model: Family, context: CheckContext) -> WireError | None:
    """Newer models take function tools here only while they do not reason."""
    given = body.get("reasoning_effort")
    if model.chat_tools == "always" or (given or model.default_effort) == "none" or not body.get("tools"):
        return None
    inferred = model.name in INFERRED or (model.chat_tools == "never" and given is not None)
    functions = any(tool["type"] == "function" for tool in body["tools"])
    if not functions or (inferred and context.profile == "lenient"):
        return None
    return refuse("tools_any_effort" if model.default_effort == "none" else "tools_effort", body["model"])


def check_json_word(body: Body, model: Family, context: CheckContext) -> WireError | None:
    wanted = (body.get("response_format") or {}).get("type")
    return refuse("json_word") if wanted == "json_object" and not says_json(body["messages"]) else None


def says_json(messages: list[Body]) -> bool:
    """Whether the word stands in any text of these messages or items."""
    return any("json" in text.lower() for message in messages for text in _texts(message.get("content")))


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or () if isinstance(part.get("text"), str)]


_MODEL_RULES = (check_sampling, check_model, check_content, check_tools_with_effort)
_LAST_RULES = (check_messages, check_chat_schemas)
OPENAI_RULES = (check_companions, check_choice, *_MODEL_RULES, *_LAST_RULES, check_json_word)
VENDOR_RULES = (check_companions, check_choice, check_vendor, *_LAST_RULES)
