"""What a brain is asked and what it may answer: the same two nouns for both wire forms."""

import marshal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from labkit.protocol.messages import Message, ToolCall, Usage

Mode = Literal["none", "auto", "required"]
KNOWN = frozenset(("role", "content", "tool_calls", "tool_call_id", "refusal"))


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the request offers it; `parameters` is the JSON Schema, `{}` when there is none."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict, hash=False)
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """One valid request, read: what the model sees, and which choices the caller left it.

    `callable` are the tools that may be called now (after `tool_choice`, named or allowed); `tools` are all
    that were sent. `turn` counts the requests that this service has answered before.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    callable: tuple[ToolSpec, ...] = ()
    mode: Mode = "auto"
    named: str | None = None
    parallel: bool = True
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    max_tokens: int | None = None
    response_format: dict[str, Any] | None = field(default=None, hash=False)
    turn: int = 0
    choice: int = 0
    raw: dict[str, Any] = field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the brain decided: text, calls, both, or a refusal; the service gives ids to calls without one.

    `usage` is what a genuine model really spent; left out, the service counts. `pace` (s) passes before each
    chunk of a stream but the first: a brain that types slowly.
    """

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    finish: str | None = None
    reasoning_tokens: int = 0
    reasoning_text: str | None = None
    usage: Usage | None = None
    pace: float = 0.0


Brain = Callable[[Ask], Decision]


def ask_of(
    body: dict[str, Any], *, turn: int = 0, choice: int = 0, parallel: bool = True, raw: Any = None
) -> Ask:
    """A valid Chat body, read; a Responses body goes through `chat_form` first.

    >>> tools = [{"type": "function", "function": {"name": "get_order"}}]
    >>> forced = {"type": "function", "function": {"name": "get_order"}}
    >>> ask_of({"model": "m", "messages": [], "tools": tools, "tool_choice": forced}).named
    'get_order'
    """
    tools = _tools(marshal.dumps(body.get("tools") or [], 2))
    mode, named, names = _choice(body.get("tool_choice"), bool(tools))
    limit = body.get("max_completion_tokens")
    return Ask(
        model=body["model"],
        messages=tuple([_message(marshal.dumps(message, 2)) for message in body["messages"]]),
        tools=tools,
        callable=tools if names is None else tuple(tool for tool in tools if tool.name in names),
        mode=mode,
        named=named,
        parallel=body.get("parallel_tool_calls", parallel) is not False and named is None,
        temperature=_given(body, "temperature", 1.0),
        top_p=_given(body, "top_p", 1.0),
        seed=body.get("seed"),
        max_tokens=body.get("max_tokens") if limit is None else limit,
        response_format=body.get("response_format"),
        turn=turn,
        choice=choice,
        raw=body if raw is None else raw,
    )


def _given(body: dict[str, Any], name: str, default: float) -> float:
    value = body.get(name)
    return default if value is None else value


@lru_cache(512)
def _tools(packed: bytes) -> tuple[ToolSpec, ...]:
    return tuple(map(_tool, marshal.loads(packed)))


def _tool(tool: dict[str, Any]) -> ToolSpec:
    spec = tool.get(tool["type"], tool)
    name, parameters = spec.get("name", tool["type"]), spec.get("parameters") or {}
    return ToolSpec(name, spec.get("description") or "", parameters, bool(spec.get("strict")))


def _choice(wanted: Any, offered: bool) -> tuple[Mode, str | None, frozenset[str] | None]:
    """Mode, the named tool, and the names that may be called (None: every tool)."""
    if not isinstance(wanted, dict):
        mode = (wanted or "auto") if offered else "none"
        return mode, None, frozenset() if mode == "none" else None
    spec = wanted.get(wanted["type"], wanted)
    if wanted["type"] == "allowed_tools":
        allowed = (tool.get(tool["type"], tool) for tool in spec["tools"])
        return spec["mode"], None, frozenset(tool.get("name", tool.get("type")) for tool in allowed)
    name = spec.get("name", wanted["type"])
    return "required", name, frozenset((name,))


@lru_cache(2048)
def _message(packed: bytes) -> Message:
    """A message of a chain; one that comes again, as it does with every turn, is not read again."""
    message = marshal.loads(packed)
    content, calls = message.get("content"), message.get("tool_calls")
    if not isinstance(content, str):
        content = "".join(part.get("text") or "" for part in content or ())
    if len(message) == 2:
        return Message(message["role"], content)
    extra = {name: value for name, value in message.items() if name not in KNOWN}
    calls = tuple(map(_call, calls)) if calls else ()
    said = (message.get("tool_call_id", ""), message.get("refusal"), extra)
    return Message(message["role"], content, calls, *said)


def _call(call: dict[str, Any]) -> ToolCall:
    spec = call.get(call.get("type") or "function") or {}
    return ToolCall(call.get("id", ""), spec.get("name", ""), spec.get("arguments", spec.get("input", "")))


def chat_form(body: dict[str, Any], items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A Responses body as the Chat body that says the same; `items` are its whole input, history included."""
    messages: list[dict[str, Any]] = []
    if body.get("instructions"):
        messages.append({"role": "system", "content": body["instructions"]})
    for item in items:
        _add_item(messages, item)
    form = (body.get("text") or {}).get("format") or {}
    return {
        **body,
        "messages": messages,
        "max_completion_tokens": body.get("max_output_tokens"),
        "response_format": {"type": form["type"], "json_schema": form} if "schema" in form else form or None,
    }


def _add_item(messages: list[dict[str, Any]], item: dict[str, Any]) -> None:
    kind = item.get("type") or "message"
    if kind == "function_call":
        call = {"id": item["call_id"], "type": "function", "function": item}
        if not messages or messages[-1]["role"] != "assistant":
            messages.append({"role": "assistant", "content": None})
        messages[-1].setdefault("tool_calls", []).append(call)
    elif kind == "function_call_output":
        messages.append(
            {"role": "tool", "tool_call_id": item.get("call_id") or "", "content": item["output"]}
        )
    elif kind == "message" and "role" in item:
        messages.append({"role": item["role"], "content": item["content"]})
