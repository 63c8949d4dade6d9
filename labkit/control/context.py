"""What the model reads, in layers of a stable order: tools, rules, examples, history, state (S1 §2).

What never changes stands first, so that a cache can hold it; each layer has its tokens.
"""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from labkit.protocol import chat
from labkit.protocol.errors import BadChain
from labkit.protocol.families import Family
from labkit.protocol.messages import Message, ToolCall, assistant, system, tool, user
from labkit.protocol.tokens import count_message, count_tools

Chain = Sequence[Message]
Tools = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Example:
    """One trace to show: `arguments` is JSON text, `name` is empty where no tool is the right answer."""

    asked: str
    name: str = ""
    arguments: str = "{}"
    result: str = ""
    answer: str = ""

    def chain(self, number: int) -> tuple[Message, ...]:
        """The example as it would have happened on the wire (S1 listing 4)."""
        call = ToolCall(f"call_demo_{number}", self.name, self.arguments)
        made = (assistant(calls=[call]), tool(call.id, self.result)) if self.name else ()
        return (user(self.asked), *made, assistant(self.answer))

    def line(self) -> str:
        """The example as one line of a block in the rules."""
        return f"{self.asked} -> {f'{self.name} {self.arguments}' if self.name else 'none'}"


@dataclass(frozen=True, slots=True)
class Context:
    """The parts of a prompt that a person writes; `version` is the author's own label for them."""

    rules: str
    examples: tuple[Example, ...] = ()
    form: Literal["chain", "block"] = "chain"
    version: str = ""

    def prefix(self) -> tuple[Message, ...]:
        if self.form == "block":
            return (system("\n".join([self.rules, *(example.line() for example in self.examples)])),)
        shown = (message for n, example in enumerate(self.examples, 1) for message in example.chain(n))
        return (system(self.rules), *shown)

    def messages(self, history: Chain, state: str = "") -> tuple[Message, ...]:
        """The whole chain of a request; the state of this run comes last, since it changes every time."""
        return (*self.prefix(), *history, *_state(state))

    def fingerprint(self, tools: Sequence[dict[str, Any]]) -> str:
        """Twelve digits that change with anything in the cacheable prefix, be it the order of two tools.

        >>> Context("Be brief.").fingerprint([]) == Context("Be brief!").fingerprint([])
        False
        """
        prefix = [tools, [chat.to_wire(message) for message in self.prefix()]]
        return hashlib.sha256(json.dumps(prefix).encode()).hexdigest()[:12]


def _state(text: str) -> tuple[Message, ...]:
    return (system(text),) if text else ()


def layers(context: Context, tools: Tools, history: Chain, family: Family, state: str = "") -> dict[str, int]:
    """Tokens of each layer of a request, in the order in which the model reads them."""
    rules, *examples = context.prefix()
    names = ("rules", "examples", "history", "state")
    parts = dict(zip(names, ([rules], examples, history, _state(state)), strict=True))
    tokens = {k: sum(count_message(chat.to_wire(m), family) for m in part) for k, part in parts.items()}
    return {"tools": count_tools(tools, family)} | tokens


def trim(chain: Chain, limit: int, size: Callable[[Chain], int] = len, keep: int = 0) -> tuple[Message, ...]:
    """Drop the oldest units until `size` is at most `limit`; a call and its results are one unit (H03).

    The first `keep` messages, system messages, the last request and the last unit stay; raises `BadChain`
    when these alone are too large. `size` counts messages, or tokens when you pass a token counter.

    >>> call = ToolCall("c1", "get_order", "{}")
    >>> chain = [user("查订单"), assistant(calls=[call]), tool("c1", "{}"), assistant("已发货"), user("谢谢")]
    >>> [message.role for message in trim(chain, 3)]
    ['assistant', 'user']
    """
    units: list[list[Message]] = [[message] for message in chain[:keep]]
    for message in chain[keep:]:
        if message.role == "tool" and len(units) > keep:
            units[-1].append(message)
        else:
            units.append([message])
    last_request = max((i for i, unit in enumerate(units) if unit[0].role == "user"), default=-1)
    rules = {i for i, unit in enumerate(units) if unit[0].role in ("system", "developer")}
    droppable = [i for i in range(keep, len(units) - 1) if i != last_request and i not in rules]

    def without(oldest: int) -> tuple[Message, ...]:
        gone = set(droppable[:oldest])
        return tuple(message for i, unit in enumerate(units) if i not in gone for message in unit)

    fits = bisect_left(range(len(droppable) + 1), True, key=lambda oldest: size(without(oldest)) <= limit)
    if fits > len(droppable):
        raise BadChain(f"what must stay is larger than {limit}", hint="Shorten the rules or raise the limit.")
    return without(fits)
