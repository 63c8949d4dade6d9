"""A decision in the other wire form: a Responses object of items, or the events that build it (§5)."""

import json
from collections.abc import Iterator
from typing import Any

from labkit.protocol.messages import ToolCall, Usage
from labkit.service.replies import Json, Settled, Stamp, as_json, fragments, padded

ECHOED = json.loads("""{
  "background": false, "instructions": null, "max_output_tokens": null, "max_tool_calls": null,
  "parallel_tool_calls": true, "previous_response_id": null, "prompt_cache_key": null,
  "safety_identifier": null, "service_tier": "default", "store": true, "temperature": 1.0,
  "tool_choice": "auto", "tools": [], "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled",
  "user": null, "metadata": {}
}""")


def response(stamp: Stamp, body: Json, settled: Settled, usage: Usage) -> Json:
    """A `response` object of a settled decision; what the request set is said back."""
    cut = settled.finish in ("length", "content_filter")
    reason = {"length": "max_output_tokens"}.get(settled.finish, settled.finish)
    return {
        "id": stamp.id("resp_", 48),
        "object": "response",
        "created_at": stamp.created,
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if cut else None,
        "model": stamp.family.snapshot,
        "output": list(_items(stamp, settled, "incomplete" if cut else "completed")),
        **{key: default if body.get(key) is None else body[key] for key, default in ECHOED.items()},
        "reasoning": {"effort": stamp.family.default_effort, "summary": None} | (body.get("reasoning") or {}),
        "text": {"format": {"type": "text"}, "verbosity": "medium"} | (body.get("text") or {}),
        "usage": _usage(usage, stamp),
    }


def _items(stamp: Stamp, settled: Settled, status: str) -> Iterator[Json]:
    if settled.reasoning_tokens or settled.reasoning_text:
        summary = [{"type": "summary_text", "text": settled.reasoning_text}] if settled.reasoning_text else []
        yield {"id": stamp.id("rs_", 48), "type": "reasoning", "summary": summary}
    if settled.refusal is not None:
        yield _message(stamp, status, {"type": "refusal", "refusal": settled.refusal})
    elif settled.text is not None or not settled.calls:
        text = settled.text or ""
        yield _message(
            stamp, status, {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
        )
    for position, call in enumerate(settled.calls):
        yield _function_call(stamp, status, position, call)


def _message(stamp: Stamp, status: str, part: Json) -> Json:
    head = {"id": stamp.id("msg_", 48), "type": "message", "status": status}
    return head | {"content": [part], "role": "assistant"}


def _function_call(stamp: Stamp, status: str, position: int, call: ToolCall) -> Json:
    head = {"id": stamp.id("fc_", 48, str(position)), "type": "function_call", "status": status}
    return head | {"arguments": call.arguments, "call_id": call.id, "name": call.name}


def _usage(usage: Usage, stamp: Stamp) -> Json:
    written = {"cache_write_tokens": usage.cache_write} if stamp.family.cache_writes else {}
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, **written},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total,
    }


def event_lines(whole: Json, stamp: Stamp, options: Json) -> Iterator[bytes]:
    """The stream of a response: created, in progress, each item added, filled and done, and the whole."""
    for number, event in enumerate(_events(whole)):
        event = {**event, "sequence_number": number}
        data = padded(event, stamp, number, options) if "delta" in event else as_json(event)
        yield b"event: " + event["type"].encode() + b"\ndata: " + data + b"\n\n"


def _events(whole: Json) -> Iterator[Json]:
    opened = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": opened}
    yield {"type": "response.in_progress", "response": opened}
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index}
        yield {"type": "response.output_item.added", **at, "item": _empty(item)}
        yield from _filling(item, {"item_id": item["id"], **at})
        yield {"type": "response.output_item.done", **at, "item": item}
    yield {"type": f"response.{whole['status']}", "response": whole}


def _empty(item: Json) -> Json:
    blank: dict[str, Any] = {"message": {"content": []}, "function_call": {"arguments": ""}}
    return item | blank[item["type"]] | {"status": "in_progress"} if item["type"] in blank else item


def _filling(item: Json, at: Json) -> Iterator[Json]:
    if item["type"] == "function_call":
        for piece in fragments(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
        done = {"arguments": item["arguments"], "name": item["name"]}
        yield {"type": "response.function_call_arguments.done", **at, **done}
    for index, part in enumerate(item.get("content", ())):
        yield from _part(part, {**at, "content_index": index})


def _part(part: Json, at: Json) -> Iterator[Json]:
    key = "refusal" if part["type"] == "refusal" else "text"
    kind = "response.refusal" if key == "refusal" else "response.output_text"
    extra = {} if key == "refusal" else {"logprobs": []}
    yield {"type": "response.content_part.added", **at, "part": {**part, key: ""}}
    for piece in fragments(part[key]):
        yield {"type": f"{kind}.delta", **at, "delta": piece, **extra}
    yield {"type": f"{kind}.done", **at, key: part[key], **extra}
    yield {"type": "response.content_part.done", **at, "part": part}
