"""Brains that are told what to say: a script, some personas with a habit, and one that simply obeys."""

import json
from collections.abc import Callable, Sequence
from itertools import count
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
            hint = "Give script() a step for every request, or end the loop that asks again."
            raise ScriptEnded(
                f"the script has {len(steps)} steps, and this is request {number + 1}", hint=hint
            )
        return _decision(steps[number], ask)

    return brain


def _decision(step: Any, ask: Ask) -> Any:
    if isinstance(step, str):
        return Decision(text=step)
    if isinstance(step, ToolCall):
        return Decision(calls=(step,))
    if isinstance(step, list | tuple):
        return Decision(calls=tuple(step))
    return _decision(step(ask), ask) if callable(step) else step


def obedient(ask: Ask) -> Decision:
    """Does what `tool_choice` says; on auto it calls a tool that shares a word with the user's last message.

    After tool results it answers in text, from them. Arguments fit the schema; what the text says goes in.
    """
    if ask.mode == "none":
        return Decision(text=_answer(ask))
    if ask.mode == "required" and ask.callable:
        return _calls(ask, _best(ask) or ask.callable[0])
    best = None if ask.messages and ask.messages[-1].role == "tool" else _best(ask)
    return _calls(ask, best) if best else Decision(text=_answer(ask))


def _request(ask: Ask) -> str:
    return next((message.content for message in reversed(ask.messages) if message.role == "user"), "")


def _best(ask: Ask) -> ToolSpec | None:
    asked = terms(_request(ask)).keys()

    def likeness(tool: ToolSpec) -> float:
        return 2 * len(asked & terms(tool.name).keys()) + len(asked & terms(tool.description).keys())

    best = max(ask.callable, key=likeness, default=None)
    return best if best and likeness(best) else None


def _calls(ask: Ask, tool: ToolSpec) -> Decision:
    filled = fill(tool.parameters, _request(ask))[: None if ask.parallel else 1]
    blank = placeholder(tool.parameters, tool.parameters) if tool.parameters else {}
    calls = [{**blank, **one.arguments} for one in filled]
    return Decision(calls=tuple(call(tool.name, **arguments) for arguments in calls))


def _answer(ask: Ask) -> str:
    form = (ask.response_format or {}).get("json_schema")
    if form:
        return json.dumps(placeholder(form.get("schema") or {}, form.get("schema") or {}), ensure_ascii=False)
    results = []
    for message in reversed(ask.messages):
        if message.role != "tool":
            break
        results.insert(0, message.content)
    return f"Here is what I found: {'; '.join(results)}" if results else f"You said: {_request(ask)}"


def stubborn(ask: Ask) -> Decision:
    """Answers out of its head unless it is forced to call."""
    return (
        obedient(ask)
        if ask.mode == "required"
        else Decision(text="I can tell you that without looking it up.")
    )


def looping(ask: Ask) -> Decision:
    """Calls for ever, whatever came back; only `tool_choice` none stops it."""
    return Decision(text=_answer(ask)) if ask.mode == "none" else _calls(ask, _best(ask) or ask.callable[0])


def breathless(ask: Ask) -> Decision:
    """Breaks off in the middle of its arguments, as a model without strict mode can."""
    decision = obedient(ask)
    cut = tuple(ToolCall(c.id, c.name, c.arguments[: len(c.arguments) * 2 // 3]) for c in decision.calls)
    return Decision(text=decision.text, calls=cut)
