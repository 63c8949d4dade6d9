"""One turn in the Responses form: items instead of messages, `call_id` instead of `tool_call_id`.

The state of the two forms is never mixed: an answer keeps the items it came in (`extra["items"]`), and only
this form sends them back, reasoning and all (openai-wire §5).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from labkit.protocol.chat import text_of, tool_calls, usable, usage, well_formed, wire_name
from labkit.protocol.errors import ProviderError, Transient
from labkit.protocol.messages import Message, Reply, ToolCall

PATH = "/responses"


def request(
    model: str, chain: Sequence[Message], parameters: Mapping[str, Any] | None = None, *, stream: bool = False
) -> dict[str, Any]:
    """The body of one request; it sends every item again, so nothing rests on what the service stored.

    >>> request("m", [Message("tool", '{"state":"shipped"}', call_id="call_1")])["input"]
    [{'type': 'function_call_output', 'call_id': 'call_1', 'output': '{"state":"shipped"}'}]
    """
    rest = usable(parameters or {}) | {"input": [item for message in chain for item in to_items(message)]}
    head = {"model": model, "stream": True} if stream else {"model": model}
    return head | dict(sorted(rest.items()))


def to_items(message: Message) -> list[dict[str, Any]]:
    """The items of one message; those it came in, when it came in this form."""
    if message.role == "tool":
        output = well_formed(message.content)
        return [{"type": "function_call_output", "call_id": message.call_id, "output": output}]
    calls = [call_item(call) for call in message.calls]
    if "items" in message.extra:
        mended = iter(calls)
        return [item | (next(mended) if is_call(item) else {}) for item in message.extra["items"]]
    text = message.content or message.refusal or ""
    return ([{"role": message.role, "content": well_formed(text)}] if text or not calls else []) + calls


def call_item(call: ToolCall) -> dict[str, Any]:
    arguments = well_formed(call.arguments)
    return {"type": "function_call", "call_id": call.id, "name": wire_name(call.name), "arguments": arguments}


def is_call(item: Mapping[str, Any]) -> bool:
    return item.get("type") == "function_call"


def parse(body: Any) -> Reply:
    """A response as a `Reply`; raises `ProviderError` when it failed or is none.

    >>> item = {"type": "function_call", "call_id": "call_1", "name": "list_orders", "arguments": ""}
    >>> parse({"status": "completed", "output": [item]}).message.calls
    (ToolCall(id='call_1', name='list_orders', arguments='{}'),)
    """
    if not isinstance(body, dict) or not isinstance(body.get("output"), list):
        raise ProviderError(f"this is not a response: {str(body)[:200]!r}", hint="Is the base_url right?")
    if body.get("status") == "failed":
        raise ProviderError((body.get("error") or {}).get("message") or "the response failed")
    items = body["output"]
    parts = [part for item in items if item.get("type") == "message" for part in item.get("content") or ()]
    calls = [
        (item.get("call_id"), item.get("name"), item.get("arguments")) for item in items if is_call(item)
    ]
    refusal = "".join(part.get("refusal") or "" for part in parts) or None
    message = Message("assistant", text_of(parts), tool_calls(calls), refusal=refusal, extra={"items": items})
    finish = (body.get("incomplete_details") or {}).get("reason") or body.get("status") or "completed"
    spent = usage(body.get("usage"), "input", "output")
    return Reply(message, finish, spent, body.get("model") or "", body.get("id") or "")


class Assembly:
    """The events of one stream put together: `feed` returns the text that one adds, `reply` the whole.

    >>> stream = Assembly()
    >>> stream.feed({"type": "response.output_text.delta", "delta": "晴"})
    '晴'
    >>> Assembly().reply()
    Traceback (most recent call last):
    labkit.protocol.errors.Transient: the stream broke off before the model had finished
    """

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.end: dict[str, Any] = {}

    def feed(self, event: Mapping[str, Any]) -> str:
        match event.get("type"):
            case "response.output_text.delta":
                return event.get("delta") or ""
            case "response.output_item.done":
                self.items.append(event["item"])
            case "response.completed" | "response.incomplete" | "response.failed":
                self.end = event["response"]
            case "error":
                raise ProviderError(event.get("message") or "the stream reported an error")
        return ""

    def reply(self) -> Reply:
        """The whole; raises `Transient` when the stream broke off before the model had finished."""
        if not self.end:
            raise Transient("the stream broke off before the model had finished")
        return parse({**self.end, "output": self.end.get("output") or self.items})
