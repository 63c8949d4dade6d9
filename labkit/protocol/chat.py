"""One turn in the Chat Completions form: a chain becomes a request, a completion or a stream a `Reply`.

Requests have the very bytes that `create()` would send. Replies may deviate as compatible vendors do
(openai-wire §8.5): arguments as an object or left out, no type, no index, repeated ids, no finish reason.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from labkit.protocol.errors import ProviderError, Transient
from labkit.protocol.messages import Message, Reply, ToolCall, Usage

PATH = "/chat/completions"


def request(
    model: str, chain: Sequence[Message], parameters: Mapping[str, Any] | None = None, *, stream: bool = False
) -> dict[str, Any]:
    """The body of one request; what is only allowed with tools is dropped when there are none (R08).

    >>> request("m", [Message("user", "hi")], {"tools": [], "tool_choice": "auto"})
    {'model': 'm', 'messages': [{'role': 'user', 'content': 'hi'}]}
    """
    rest = usable(parameters or {}) | ({"stream_options": {"include_usage": True}} if stream else {})
    head = {"model": model, "stream": True} if stream else {"model": model}
    return head | {"messages": [to_wire(message) for message in chain]} | dict(sorted(rest.items()))


def usable(parameters: Mapping[str, Any]) -> dict[str, Any]:
    needless = () if parameters.get("tools") else ("tools", "tool_choice", "parallel_tool_calls")
    return {key: value for key, value in parameters.items() if key not in needless}


def to_wire(message: Message) -> dict[str, Any]:
    """A message as the API takes it: no null text without calls (H05), no name or surrogate it refuses."""
    content = well_formed(message.content)
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": content}
    wire: dict[str, Any] = {"role": message.role, "content": content}
    if message.calls:
        wire |= {"content": content or None, "tool_calls": [call_to_wire(call) for call in message.calls]}
    if message.refusal is not None:
        wire["refusal"] = message.refusal
    return wire | reasoning(message.extra) if message.extra else wire


def call_to_wire(call: ToolCall) -> dict[str, Any]:
    function = {"name": wire_name(call.name), "arguments": well_formed(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def well_formed(text: str) -> str:
    """The text with lone surrogates replaced, so that it can be sent as UTF-8 (J03)."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def wire_name(name: str) -> str:
    """The name as a history may hold it, when the model made up one that it may not (P09; §2.12)."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unnamed"


def reasoning(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a thinking vendor adds to a message and wants back with it (openai-wire §8.2)."""
    return {key: value for key, value in fields.items() if key.startswith("reasoning") and value}


def parse(body: Any) -> Reply:
    """A completion as a `Reply`; raises `ProviderError` when it is none.

    >>> call = {"id": "c1", "function": {"name": "get_weather", "arguments": {"city": "北京"}}}
    >>> parse({"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "stop"}]}).message.calls
    (ToolCall(id='c1', name='get_weather', arguments='{"city": "北京"}'),)
    """
    choices = body.get("choices") if isinstance(body, dict) else None
    if not choices or not isinstance(choices[0].get("message"), dict):
        raise ProviderError(f"this is not a completion: {str(body)[:200]!r}", hint="Is the base_url right?")
    raw = choices[0]["message"]
    calls = [(call.get("id"), call.get("function") or {}) for call in raw.get("tool_calls") or ()]
    message = Message(
        "assistant",
        text_of(raw.get("content")),
        tool_calls((id, function.get("name"), function.get("arguments")) for id, function in calls),
        refusal=raw.get("refusal"),
        extra=reasoning(raw),
    )
    finish, spent = (
        choices[0].get("finish_reason") or "stop",
        usage(body.get("usage"), "prompt", "completion"),
    )
    return Reply(message, finish, spent, body.get("model") or "", body.get("id") or "")


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content or ())


def tool_calls(raw: Iterable[tuple[str | None, str | None, Any]]) -> tuple[ToolCall, ...]:
    """Calls with ids that are unique within the turn, which is all that pairing needs (H09)."""
    calls: dict[str, ToolCall] = {}
    for position, (id, name, arguments) in enumerate(raw):
        if not id or id in calls:
            id = f"{id or 'call'}_{position}"
        calls[id] = ToolCall(id, name or "", arguments_text(arguments))
    return tuple(calls.values())


def arguments_text(raw: Any) -> str:
    """Arguments as the JSON text to replay: none are `{}` (P01, P13), an object is written out (P07)."""
    text = raw if isinstance(raw, str) else json.dumps({} if raw is None else raw, ensure_ascii=False)
    return text if text.strip() else "{}"


def usage(raw: Mapping[str, Any] | None, sent: str, written: str) -> Usage:
    raw = raw or {}
    input, output = raw.get(f"{sent}_tokens_details") or {}, raw.get(f"{written}_tokens_details") or {}
    return Usage(
        raw.get(f"{sent}_tokens") or 0,
        raw.get(f"{written}_tokens") or 0,
        input.get("cached_tokens") or raw.get("prompt_cache_hit_tokens") or 0,
        input.get("cache_write_tokens") or 0,
        output.get("reasoning_tokens") or 0,
    )


class Assembly:
    """The chunks of one stream put together: `feed` returns the text that a chunk adds, `reply` the whole.

    >>> stream = Assembly()
    >>> [stream.feed({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}) for text in "晴天"]
    ['晴', '天']
    >>> stream.reply().message.content
    '晴天'
    """

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.texts: dict[str, str] = {}
        self.finish: str | None = None
        self.last: dict[str, Any] = {}

    def feed(self, chunk: Mapping[str, Any]) -> str:
        self.last |= {key: chunk[key] for key in ("id", "model", "usage") if chunk.get(key)}
        return "".join(self._add(choice) for choice in chunk.get("choices") or () if not choice.get("index"))

    def _add(self, choice: Mapping[str, Any]) -> str:
        delta = choice.get("delta") or {}
        self.finish = choice.get("finish_reason") or self.finish
        for fragment in delta.get("tool_calls") or ():
            self._add_fragment(
                fragment.get("index"), fragment.get("id") or "", fragment.get("function") or {}
            )
        for key in ("content", "refusal", *reasoning(delta)):
            self.texts[key] = self.texts.get(key, "") + text_of(delta.get(key))
        return text_of(delta.get("content"))

    def _add_fragment(self, index: int | None, id: str, function: Mapping[str, Any]) -> None:
        name, arguments = function.get("name") or "", function.get("arguments") or ""
        text = arguments if isinstance(arguments, str) else arguments_text(arguments)
        call = self._call_of(index, id, name, text)
        call |= {"id": call["id"] or id, "name": call["name"] or name, "arguments": call["arguments"] + text}

    def _call_of(self, index: int | None, id: str, name: str, text: str) -> dict[str, Any]:
        """Where a fragment belongs: to the call of this id and index, or else to the last at this index."""
        here = [call for call in self.calls if None in (index, call["index"]) or call["index"] == index]
        for call in reversed(here):
            if id and call["id"] == id:
                return call
        if here and not (name and (id or opens_another(here[-1], name, text))):
            return here[-1]
        self.calls.append({"index": index, "id": "", "name": "", "arguments": ""})
        return self.calls[-1]

    def reply(self) -> Reply:
        """The whole; raises `Transient` when the stream broke off before the model had finished."""
        if self.finish is None and "usage" not in self.last:
            raise Transient("the stream broke off before the model had finished")
        message = {
            **{key: text for key, text in self.texts.items() if text},
            "tool_calls": [{"id": call["id"], "function": call} for call in self.calls],
        }
        return parse({**self.last, "choices": [{"message": message, "finish_reason": self.finish}]})


def opens_another(call: Mapping[str, Any], name: str, text: str) -> bool:
    """Whether a named fragment without an id begins a new call, rather than repeats the name of this one."""
    if call["name"] != name:
        return bool(call["name"])
    try:
        json.loads(call["arguments"])
    except ValueError:
        return False
    return bool(text)
