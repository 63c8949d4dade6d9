"""A decision as the API would say it: cut at the token limit, billed, as a completion or as its chunks.

Everything random-looking (ids, fingerprint, padding) is a digest of seed and request number.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import zip_longest
from typing import Any

from labkit.protocol.families import Family
from labkit.protocol.messages import ToolCall, Usage
from labkit.protocol.tokens import count_calls, count_text, cut_text
from labkit.service.decide import Ask, Decision

FRAGMENT = re.compile(r"\s?\w{1,8}|\s?[^\w\s]{1,3}|\s+")
Json = dict[str, Any]


def digest(length: int, *source: Any) -> str:
    """That many characters of [A-Za-z0-9], the same for the same source.

    >>> digest(8, 0, 1, "call") == digest(8, 0, 1, "call") != digest(8, 0, 2, "call")
    True
    """
    raw = blake2b("/".join(map(str, source)).encode("utf-8", "replace")).digest()
    return b64encode(raw, altchars=b"aZ").decode()[:length]


@dataclass(frozen=True, slots=True)
class Stamp:
    """Where a reply comes from: what its ids are made of, when, and from which model and vendor."""

    seed: int
    number: int
    created: int
    family: Family
    vendor: str = "openai"

    def id(self, prefix: str, length: int, *what: Any) -> str:
        return prefix + digest(length, self.seed, self.number, prefix, *what)


@lru_cache(256)
def fingerprint(family: Family, seed: int) -> str | None:
    """`fp_...` for the families that name one; newer and older ones say null (recorded)."""
    named = family.name.startswith(("gpt-4o", "gpt-4.1"))
    return f"fp_{blake2b(f'{seed}/{family.snapshot}'.encode(), digest_size=5).hexdigest()}" if named else None


def settle(decision: Decision, ask: Ask, stamp: Stamp) -> tuple[Decision, int]:
    """The decision as it leaves the model, and its output tokens: ids given, cut, an end named."""
    family, budget = stamp.family, ask.max_tokens
    if decision.calls:
        decision = replace(decision, calls=_with_ids(decision.calls, stamp, ask.choice))
    tokens = _output_tokens(decision, ask, family)
    if budget is not None and tokens > budget:
        decision = _cut(decision, budget - decision.reasoning_tokens, family.encoding)
        return decision, budget
    called = decision.calls and (family.reasoning or ask.named is None)
    return replace(decision, finish=decision.finish or ("tool_calls" if called else "stop")), tokens


def _with_ids(calls: tuple[ToolCall, ...], stamp: Stamp, choice: int) -> tuple[ToolCall, ...]:
    def name(position: int, call: ToolCall) -> str:
        if stamp.vendor == "kimi":
            return f"functions.{call.name}:{position}"
        return stamp.id("call_", 24, choice, position)

    return tuple(c if c.id else replace(c, id=name(i, c)) for i, c in enumerate(calls))


def _output_tokens(decision: Decision, ask: Ask, family: Family) -> int:
    encoding = family.encoding
    texts = (decision.text, decision.refusal)
    tokens = decision.reasoning_tokens + sum(count_text(text, encoding) for text in texts if text)
    if ask.named and not family.reasoning and decision.calls:
        return tokens + 1 + count_text(decision.calls[0].arguments, encoding)
    tokens += count_calls([(call.name, call.arguments) for call in decision.calls], encoding)
    return tokens + 3 if family.reasoning else tokens


def _cut(decision: Decision, budget: int, encoding: str) -> Decision:
    text = decision.text and cut_text(decision.text, budget, encoding)
    budget -= count_text(text, encoding) if text else 0
    calls = []
    for call in decision.calls:
        budget -= count_calls([(call.name, "")], encoding)
        if budget <= 0:
            break
        calls.append(replace(call, arguments=cut_text(call.arguments, budget, encoding)))
        budget -= count_text(call.arguments, encoding)
    return replace(decision, text=text, calls=tuple(calls), finish="length")


def completion(stamp: Stamp, decisions: list[Decision], usage: Usage) -> Json:
    """A `chat.completion` of settled decisions, one a choice (openai-wire §4.1)."""
    return {
        "id": stamp.id("chatcmpl-", 29),
        "object": "chat.completion",
        "created": stamp.created,
        "model": stamp.family.snapshot,
        "choices": [_choice(stamp, index, decision) for index, decision in enumerate(decisions)],
        "usage": chat_usage(usage, stamp),
        "service_tier": "default",
        "system_fingerprint": fingerprint(stamp.family, stamp.seed),
    }


def _choice(stamp: Stamp, index: int, decision: Decision) -> Json:
    silent = decision.calls or decision.refusal is not None
    message: Json = {"role": "assistant", "content": decision.text or (None if silent else "")}
    if decision.reasoning_text is not None and stamp.vendor != "openai":
        message["reasoning_content"] = decision.reasoning_text
    if decision.calls:
        message["tool_calls"] = [_call(call) for call in decision.calls]
    message |= {"refusal": decision.refusal, "annotations": []}
    choice = {"index": index, "message": message, "finish_reason": decision.finish}
    return choice if stamp.family.reasoning else choice | {"logprobs": None}


def _call(call: ToolCall) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def chat_usage(usage: Usage, stamp: Stamp) -> Json:
    prompt = {"cached_tokens": usage.cached, "audio_tokens": 0}
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
    if stamp.family.cache_writes:
        prompt["cache_write_tokens"] = usage.cache_write
    if stamp.vendor == "deepseek":
        body |= {
            "prompt_cache_hit_tokens": usage.cached,
            "prompt_cache_miss_tokens": usage.input - usage.cached,
        }
    return body


def fragments(text: str | None) -> list[str]:
    """The pieces in which a text is streamed; together they are the text.

    >>> fragments('{"city":"北京"}')
    ['{"', 'city', '":"', '北京', '"}']
    """
    return FRAGMENT.findall(text or "")


def chunks(whole: Json, stamp: Stamp, options: Json) -> Iterator[Json]:
    """The chunks of a completion in the order of the recordings; several choices take turns."""
    head = {key: value for key, value in whole.items() if key not in ("choices", "usage")}
    head["object"] = "chat.completion.chunk"
    rest = {"usage": None} if options.get("include_usage") else {}
    turns = [_turns(choice) for choice in whole["choices"]]
    for turn in zip_longest(*turns, fillvalue=()):
        for choice, deltas in zip(whole["choices"], turn, strict=True):
            for delta in deltas:
                end = None if delta else choice["finish_reason"]
                part = {"index": choice["index"], "delta": delta, "finish_reason": end}
                part |= {} if stamp.family.reasoning else {"logprobs": None}
                yield {**head, "choices": [part], **rest}
    if options.get("include_usage"):
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


def to_json(value: Any) -> bytes:
    """Compact UTF-8; only a text with a lone surrogate is escaped, for UTF-8 cannot carry it."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def padded(event: Json, stamp: Stamp, position: int) -> bytes:
    """A chunk as JSON, with `obfuscation` up to one byte more than a multiple of 16, as recorded."""
    bare = to_json({**event, "obfuscation": ""})
    padding = digest((1 - len(bare)) % 16, stamp.seed, stamp.number, position)
    return bare[:-2] + padding.encode() + b'"}'
