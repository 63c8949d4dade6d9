"""Brains that are told what to say: a script, one that obeys, and one with a bad habit."""

import json
from collections.abc import Callable, Sequence
from itertools import count, takewhile
from typing import Any

from labkit.protocol.errors import ScriptEnded
from labkit.protocol.messages import ToolCall
from labkit.service.brains.filling import fill, placeholder
from labkit.service.brains.reading import terms
from labkit.service.decide import Ask, Brain, Decision, ToolSpec

Step = Decision | str | ToolCall | Sequence[ToolCall] | Callable[[Ask], Any]


def call(name: str, /, **arguments: Any) -> ToolCall:
    """A tool call with its arguments as the JSON string that travels.

    >>> call("get_weather", city="北京").arguments
    '{"city":"北京"}'
    """
    return ToolCall("", name, json.dumps(arguments, ensure_ascii=False, separators=(",", ":")))


def script(*steps: Step) -> Brain:
    """A brain that takes one step a request, in order, and raises `ScriptEnded` when none is left.

    >>> brain = script(call("get_order", order_id="10001"), "It was shipped yesterday.")
    >>> brain(Ask("m", ())).calls[0].name, brain(Ask("m", ())).text
    ('get_order', 'It was shipped yesterday.')
    """
    numbers = count()

    def brain(ask: Ask) -> Decision:
        number = next(numbers)
        if number >= len(steps):
            said = f"the script has {len(steps)} steps, and this is request {number + 1}"
            hint = "Give script() a step for every request, or end the loop that asks again."
            raise ScriptEnded(said, hint=hint)
        return _decision(steps[number], ask)

    return brain


def _decision(step: Any, ask: Ask) -> Any:
    if isinstance(step, str):
        return Decision(text=step)
    if isinstance(step, ToolCall | list | tuple):
        return Decision(calls=(step,) if isinstance(step, ToolCall) else tuple(step))
    return _decision(step(ask), ask) if callable(step) else step


def obedient(ask: Ask) -> Decision:
    """Does what `tool_choice` says; on auto it calls a tool that shares a word with the user's last message.

    After tool results it answers in text, from them. Arguments fit the schema; what the text says goes in.
    """
    wanted = _likely(ask) if ask.messages and ask.messages[-1].role != "tool" else None
    if ask.mode == "required" and ask.callable:
        return _calls(ask, _likely(ask) or ask.callable[0])
    return _calls(ask, wanted) if wanted else Decision(text=_answer(ask))


def looping(ask: Ask) -> Decision:
    """Calls for ever, whatever came back; only `tool_choice` none stops it."""
    return obedient(ask) if ask.mode == "none" else _calls(ask, _likely(ask) or ask.callable[0])


def _request(ask: Ask) -> str:
    return next((message.content for message in reversed(ask.messages) if message.role == "user"), "")


def _likely(ask: Ask) -> ToolSpec | None:
    asked = terms(_request(ask)).keys()

    def likeness(tool: ToolSpec) -> int:
        return 2 * len(asked & terms(tool.name).keys()) + len(asked & terms(tool.description).keys())

    best = max(ask.callable, key=likeness, default=None)
    return best if best and likeness(best) else None


def _calls(ask: Ask, tool: ToolSpec) -> Decision:
    schema = {"type": "object", **tool.parameters}
    filled = fill(schema, _request(ask))[: None if ask.parallel else 1]
    return Decision(calls=tuple(call(tool.name, **placeholder(schema, schema) | f.arguments) for f in filled))


def _answer(ask: Ask) -> str:
    if form := (ask.response_format or {}).get("json_schema"):
        schema = form.get("schema") or {}
        return json.dumps(placeholder(schema, schema), ensure_ascii=False)
    latest = takewhile(lambda message: message.role == "tool", reversed(ask.messages))
    results = "; ".join(message.content for message in [*latest][::-1])
    return f"Here is what I found: {results}" if results else f"You said: {_request(ask)}"
