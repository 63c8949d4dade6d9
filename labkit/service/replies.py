"""A decision as the API would say it: cut at the token limit, billed, as a completion or as its chunks.

Everything random-looking (ids, fingerprint, padding) is a digest of seed and request number.
"""

import json
import re
from binascii import b2a_base64
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from itertools import zip_longest
from typing import Any, NamedTuple

from pydantic_core import PydanticSerializationError, to_json

from labkit.protocol.families import Family
from labkit.protocol.messages import ToolCall, Usage
from labkit.protocol.tokens import count_calls, count_text, cut_text
from labkit.service.decide import Ask, Decision

FRAGMENT = re.compile(r"\s?\w{1,8}|\s?[^\w\s]{1,3}|\s+")
LETTERS = bytes.maketrans(b"+/", b"aZ")
Calls = tuple[ToolCall, ...]
Json = dict[str, Any]


def digest(length: int, source: str) -> str:
    """That many characters (at most 86) of [A-Za-z0-9], the same for the same source.

    >>> digest(8, "0/1") == digest(8, "0/1") != digest(8, "0/2")
    True
    """
    return b2a_base64(blake2b(source.encode()).digest()).translate(LETTERS)[:length].decode()


class Stamp(NamedTuple):
    """Where a reply comes from: what its ids are made of, when, and from which model and vendor."""

    seed: int
    number: int
    created: int
    family: Family
    vendor: str = "openai"

    def id(self, prefix: str, length: int, what: str = "") -> str:
        return prefix + digest(length, f"{self.seed}/{self.number}/{prefix}{what}")


@lru_cache(256)
def fingerprint(family: Family, seed: int) -> str | None:
    """`fp_...` for the families that name one; newer and older ones say null (recorded)."""
    named = family.name.startswith(("gpt-4o", "gpt-4.1"))
    return f"fp_{blake2b(f'{seed}/{family.snapshot}'.encode(), digest_size=5).hexdigest()}" if named else None


class Settled(NamedTuple):
    """A decision as it leaves the model: ids given, cut at the limit, its end named, its tokens counted."""

    text: str | None
    refusal: str | None
    calls: Calls
    finish: str
    tokens: int
    reasoning_tokens: int
    reasoning_text: str | None
    pace: float


def settle(decision: Decision, ask: Ask, stamp: Stamp) -> Settled:
    """What becomes of a decision under the limits of its request (openai-wire §4.2)."""
    text, calls, family = decision.text, decision.calls, stamp.family
    for stop in _stops(ask.raw.get("stop")) if text else ():
        text = text.partition(stop)[0]
    if calls:
        calls = tuple(call if call.id else _with_id(call, n, stamp, ask) for n, call in enumerate(calls))
    ended = "tool_calls" if calls and (family.reasoning or ask.named is None) else "stop"
    finish, tokens = decision.finish or ended, _output_tokens(text, decision, ask, family)
    if ask.max_tokens is not None and tokens > ask.max_tokens:
        text, calls = _cut(text, calls, ask.max_tokens - decision.reasoning_tokens, family.encoding)
        finish, tokens = "length", ask.max_tokens
    rest = (decision.reasoning_tokens, decision.reasoning_text, decision.pace)
    return Settled(text, decision.refusal, calls, finish, tokens, *rest)


def _stops(stop: str | list[str] | None) -> Sequence[str]:
    return [text for text in ((stop,) if isinstance(stop, str) else stop or ()) if text]


def _with_id(call: ToolCall, position: int, stamp: Stamp, ask: Ask) -> ToolCall:
    own = stamp.id("call_", 24, f"{ask.choice}/{position}")
    return replace(call, id=f"functions.{call.name}:{position}" if stamp.vendor == "kimi" else own)


def _output_tokens(text: str | None, decision: Decision, ask: Ask, family: Family) -> int:
    unseen = {None: 0, "none": 3}.get(family.default_effort, 9)
    tokens = decision.reasoning_tokens + unseen
    for said in (text, decision.refusal):
        tokens += count_text(said, family.encoding) if said else 0
    if decision.calls and ask.named and not family.reasoning:
        return tokens + 1 + count_text(decision.calls[0].arguments, family.encoding)
    return tokens + count_calls([(call.name, call.arguments) for call in decision.calls], family.encoding)


def _cut(text: str | None, calls: Calls, budget: int, encoding: str) -> tuple[str | None, Calls]:
    text = text and cut_text(text, budget, encoding)
    budget -= count_text(text, encoding) if text else 0
    kept = []
    for call in calls:
        budget -= count_calls([(call.name, "")], encoding)
        if budget <= 0:
            break
        kept.append(replace(call, arguments=cut_text(call.arguments, budget, encoding)))
        budget -= count_text(call.arguments, encoding)
    return text, tuple(kept)


def completion(stamp: Stamp, settled: list[Settled], usage: Usage) -> Json:
    """A `chat.completion` of settled decisions, one a choice (openai-wire §4.1)."""
    return {
        "id": stamp.id("chatcmpl-", 29),
        "object": "chat.completion",
        "created": stamp.created,
        "model": stamp.family.snapshot,
        "choices": [_choice(stamp, index, one) for index, one in enumerate(settled)],
        "usage": _usage(usage, stamp),
        "service_tier": "default",
        "system_fingerprint": fingerprint(stamp.family, stamp.seed),
    }


def _choice(stamp: Stamp, index: int, settled: Settled) -> Json:
    silent = settled.calls or settled.refusal is not None
    message: Json = {"role": "assistant", "content": settled.text or (None if silent else "")}
    if settled.reasoning_text is not None and stamp.vendor != "openai":
        message["reasoning_content"] = settled.reasoning_text
    if settled.calls:
        message["tool_calls"] = [_call(call) for call in settled.calls]
    message |= {"refusal": settled.refusal, "annotations": []}
    choice = {"index": index, "message": message, "finish_reason": settled.finish}
    return choice if stamp.family.reasoning else choice | {"logprobs": None}


def _call(call: ToolCall) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _usage(usage: Usage, stamp: Stamp) -> Json:
    prompt = {"cached_tokens": usage.cached, "audio_tokens": 0}
    if stamp.family.cache_writes:
        prompt["cache_write_tokens"] = usage.cache_write
    body: Json = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": prompt,
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
    if stamp.vendor == "deepseek":
        body["prompt_cache_hit_tokens"] = usage.cached
        body["prompt_cache_miss_tokens"] = usage.input - usage.cached
    return body


def fragments(text: str | None) -> list[str]:
    """The pieces in which a text is streamed; together they are the text.

    >>> fragments('{"city":"北京"}')
    ['{"', 'city', '":"', '北京', '"}']
    """
    return FRAGMENT.findall(text or "")


def chunk_lines(whole: Json, stamp: Stamp, options: Json) -> Iterator[bytes]:
    """The stream of a completion, in the order of the recordings; several choices take turns."""
    for position, chunk in enumerate(_chunks(whole, stamp, options)):
        yield b"data: " + padded(chunk, stamp, position, options) + b"\n\n"
    yield b"data: [DONE]\n\n"


def _chunks(whole: Json, stamp: Stamp, options: Json) -> Iterator[Json]:
    head = {key: value for key, value in whole.items() if key not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"
    asked = options.get("include_usage")
    rest = {"usage": None} if asked else {}
    for turn in zip_longest(*map(_turns, whole["choices"]), fillvalue=()):
        for choice, deltas in zip(whole["choices"], turn, strict=True):
            for delta in deltas:
                end = None if delta else choice["finish_reason"]
                part = {"index": choice["index"], "delta": delta, "finish_reason": end}
                part |= {} if stamp.family.reasoning else {"logprobs": None}
                yield {**head, "choices": [part], **rest}
    if asked:
        yield {**head, "choices": [], "usage": whole["usage"]}


def _turns(choice: Json) -> list[list[Json]]:
    deltas = list(_deltas(choice["message"]))
    return [deltas[:2], *([delta] for delta in deltas[2:]), [{}]]


def _deltas(message: Json) -> Iterator[Json]:
    calls = message.get("tool_calls", ())
    opening: Json = {"role": "assistant", "content": message["content"] and ""}
    if len(calls) == 1 and not message["content"]:
        yield opening | {"tool_calls": [_opened(0, calls[0])], "refusal": None}
    else:
        yield opening if calls else opening | {"refusal": None}
    for key in ("reasoning_content", "content", "refusal"):
        yield from ({key: piece} for piece in fragments(message.get(key)))
    for index, call in enumerate(calls):
        if len(calls) > 1 or message["content"]:
            yield {"tool_calls": [_opened(index, call)]}
        for piece in fragments(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _opened(index: int, call: Json) -> Json:
    return {"index": index, **call, "function": {"name": call["function"]["name"], "arguments": ""}}


def as_json(value: Any) -> bytes:
    """Compact UTF-8; only a text with a lone surrogate is escaped, for UTF-8 cannot carry it."""
    try:
        return to_json(value)
    except PydanticSerializationError:
        return json.dumps(value, separators=(",", ":")).encode()


def padded(event: Json, stamp: Stamp, position: int, options: Json, delta: str | None = None) -> bytes:
    """An event as JSON, `obfuscation` filling its delta, or its bytes less one, to a multiple of 16."""
    if options.get("include_obfuscation") is False:
        return as_json(event)
    bare = as_json({**event, "obfuscation": ""})
    missing = (1 - len(bare)) % 16 if delta is None else -len(delta) % 16
    padding = digest(missing, f"{stamp.seed}/{stamp.number}/{position}")
    return bare[:-2] + padding.encode() + b'"}'
