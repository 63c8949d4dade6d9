"""The prefix cache: how much of a prompt the service has read lately (openai-wire §7.1).

A prompt is a path of segments: tools, output format, messages; never `tool_choice`. From 1,024 tokens on, the
longest known beginning counts, in steps of 128. Newer families match whole breakpoints only (where an earlier
prompt ended, or where a content block is marked), and say what they wrote.
"""

import json
import marshal
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from labkit.protocol.families import Family
from labkit.protocol.tokens import Json, count_message, count_text, count_tools, typescript

MINIMUM, STEP, SIBLINGS, NODES = 1024, 128, 16, 50_000
LIFETIME = {"in_memory": 600, "30m": 1800, "12h": 43_200, "24h": 86_400}


class Segment(NamedTuple):
    text: str
    tokens: int
    marked: bool = False


class Node(dict[str, "Node"]):
    """The segments known to follow; forgotten after `until` (s); `marked`: a breakpoint lies here."""

    until, marked = 0.0, False


class PrefixCache:
    """What was read before, by model and `prompt_cache_key`; forgotten all at once when too much."""

    def __init__(self) -> None:
        self.roots: dict[tuple[str, str | None], Node] = {}
        self.size = 0

    def read(self, body: Json, family: Family, tokens: int, now: float) -> tuple[int, int]:
        """Tokens of this prompt that were cached, and tokens newly written; remembers the prompt."""
        if tokens < MINIMUM:
            return 0, 0
        if self.size > NODES:
            self.roots, self.size = {}, 0
        root = self.roots.setdefault((family.name, body.get("prompt_cache_key")), Node())
        options, path = body.get("prompt_cache_options") or {}, list(_segments(body, family))
        usual = "30m" if family.cache_writes else "24h" if family.only_24h_cache else "in_memory"
        asked = options.get("ttl") or body.get("prompt_cache_retention") or usual
        if options.get("mode") != "explicit":
            path[-1] = path[-1]._replace(marked=True)
        cached = _match(root, path, family, now)
        end = self._write(root, path, now + LIFETIME.get(asked, LIFETIME[usual]))
        return cached, max(end - cached, 0) if family.cache_writes and end >= MINIMUM else 0

    def _write(self, node: Node, path: list[Segment], until: float) -> int:
        total = end = 0
        for text, tokens, marked in path:
            if text not in node:
                node[text], self.size = Node(), self.size + 1
            node = node[text]
            total, node.until, node.marked = total + tokens, until, node.marked or marked
            end = total if marked else end
        return end


def _match(node: Node, path: list[Segment], family: Family, now: float) -> int:
    matched = marked = 0
    for text, tokens, _ in path:
        child = node.get(text)
        if child is None or child.until <= now:
            others = [other for other in list(node)[-SIBLINGS:] if node[other].until > now]
            matched += count_text(
                text[: max((_shared(text, other) for other in others), default=0)], family.encoding
            )
            break
        matched, node = matched + tokens, child
        marked = matched if child.marked else marked
    found = marked if family.cache_writes else matched // STEP * STEP
    return found if found >= MINIMUM else 0


def _shared(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _segments(body: Json, family: Family) -> Iterator[Segment]:
    tools = body.get("tools") or ()
    read = [_tool(marshal.dumps(tool, 2), family) for tool in tools]
    around = count_tools(tools, family) - sum(tool.tokens for tool in read)
    for tool in read:
        yield tool._replace(tokens=tool.tokens + around)
        around = 0
    if form := body.get("response_format"):
        yield Segment(text := json.dumps(form), count_text(text, family.encoding))
    for message in body["messages"]:
        yield _segment(marshal.dumps(message, 2), family)


@lru_cache(2048)
def _tool(packed: bytes, family: Family) -> Segment:
    tool = marshal.loads(packed)
    return Segment(json.dumps(tool), count_text(typescript(tool), family.encoding))


@lru_cache(2048)
def _segment(packed: bytes, family: Family) -> Segment:
    message = marshal.loads(packed)
    content = message.get("content")
    marked = isinstance(content, list) and any("prompt_cache_breakpoint" in part for part in content)
    plain = isinstance(content, str) and "tool_calls" not in message
    text = f"{message['role']}\n{content}" if plain else json.dumps(message)
    return Segment(text, count_message(message, family), marked)
