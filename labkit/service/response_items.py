"""A decision in the other wire form: a Responses object of items, or the events that build it (§5)."""

import json
from collections.abc import Iterator
from typing import Any

from labkit.protocol.messages import Usage
from labkit.service.replies import Json, Settled, Stamp, as_json, fragments, padded

SEALED, UNKNOWN_YET = "reasoning.encrypted_content", ("usage", "incomplete_details", "completed_at")
SAID_BACK = json.loads("""{
  "background": false, "instructions": null, "max_output_tokens": null, "max_tool_calls": null,
  "parallel_tool_calls": true, "previous_response_id": null, "prompt_cache_key": null,
  "prompt_cache_retention": null, "safety_identifier": null, "service_tier": "default", "store": true,
  "temperature": 1.0, "tool_choice": "auto", "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled",
  "user": null, "metadata": {}
}""")
NEWER = {"prompt_cache_retention": "24h", "top_p": 0.98}


def response(stamp: Stamp, body: Json, settled: Settled, usage: Usage) -> Json:
    """A `response` object of a settled decision, as recorded in 2026; what the request set is said back."""
    family, cut = stamp.family, settled.finish in ("length", "content_filter")
    defaults = SAID_BACK | NEWER if family.only_24h_cache else SAID_BACK
    reasoning = {"effort": family.default_effort, "summary": None}
    reasoning |= {"context": "current_turn", "mode": "standard"} if family.only_24h_cache else {}
    reason = {"length": "max_output_tokens"}.get(settled.finish, settled.finish)
    return {
        "id": stamp.id("resp_", 48),
        "object": "response",
        "created_at": stamp.created,
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if cut else None,
        "model": family.snapshot,
        "output": list(_items(stamp, body, settled, "incomplete" if cut else "completed")),
        **{key: default if body.get(key) is None else body[key] for key, default in defaults.items()},
        "tools": [{"description": None, **tool} for tool in body.get("tools") or ()],
        "reasoning": reasoning | (body.get("reasoning") or {}),
        "text": {"format": {"type": "text"}, "verbosity": "medium"} | (body.get("text") or {}),
        "usage": _usage(usage, stamp),
        "completed_at": stamp.created,
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
        "moderation": None,
        "billing": {"payer": "developer"},
    }


def _items(stamp: Stamp, body: Json, settled: Settled, status: str) -> Iterator[Json]:
    if settled.reasoning_tokens or settled.reasoning_text:
        shown = settled.reasoning_text and (body.get("reasoning") or {}).get("summary")
        summary = [{"type": "summary_text", "text": settled.reasoning_text}] if shown else []
        sealed = (
            {"encrypted_content": stamp.id("gAAAAA", 80)} if SEALED in (body.get("include") or ()) else {}
        )
        yield {"id": stamp.id("rs_", 48), "type": "reasoning", **sealed, "summary": summary}
    if settled.refusal is not None:
        yield _message(stamp, status, settled, {"type": "refusal", "refusal": settled.refusal})
    elif settled.text is not None or not settled.calls:
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": settled.text or ""}
        yield _message(stamp, status, settled, part)
    for place, call in enumerate(settled.calls):
        head = {"id": stamp.id("fc_", 48, str(place)), "type": "function_call", "status": status}
        yield head | {"arguments": call.arguments, "call_id": call.id, "name": call.name}


def _message(stamp: Stamp, status: str, settled: Settled, part: Json) -> Json:
    phase = "commentary" if settled.calls else "final_answer"
    named = {"phase": phase} if stamp.family.only_24h_cache else {}
    head = {"id": stamp.id("msg_", 48), "type": "message", "status": status}
    return head | {"content": [part], **named, "role": "assistant"}


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
        data = padded(event, stamp, number, options, event["delta"]) if "delta" in event else as_json(event)
        yield b"event: " + event["type"].encode() + b"\ndata: " + data + b"\n\n"


def _events(whole: Json) -> Iterator[Json]:
    whole = {key: value for key, value in whole.items() if key != "billing"}
    opened = {**whole, "status": "in_progress", "output": [], **dict.fromkeys(UNKNOWN_YET)}
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
        yield {"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]}
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
