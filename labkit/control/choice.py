"""What the model may do this turn, as a value that becomes request parameters: the hard controls (S1 §1).

A vendor or a family that refuses a knob gets the nearest one, and the parameters say so in `notes`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from labkit.protocol.errors import BadSetup, TooManyCalls
from labkit.protocol.families import Family, Vendor
from labkit.protocol.messages import ToolCall
from labkit.protocol.tools import Toolbox


@dataclass(frozen=True, slots=True)
class Choice:
    """`mode` in the API's words; `names` narrow it to some tools, `single` to one call of one tool."""

    mode: Literal["auto", "required", "none"] = "auto"
    names: tuple[str, ...] | None = None
    single: bool = False


class Parameters(dict[str, Any]):
    """Request parameters, and what had to be replaced by something near it."""

    notes: tuple[str, ...] = ()


auto, required, none = (partial(Choice, mode) for mode in ("auto", "required", "none"))


def function(name: str) -> Choice:
    return Choice("required", (name,), single=True)


def allowed(names: Iterable[str], mode: Literal["auto", "required"] = "auto") -> Choice:
    """Only these tools may be called, while the list of tools, and so the cached prefix, stays as it is."""
    return Choice(mode, tuple(names))


def parameters(
    choice: Choice,
    toolbox: Toolbox,
    *,
    wire: Literal["chat", "responses"] = "chat",
    vendor: Vendor | None = None,
    family: Family | None = None,
    parallel: bool | None = None,
) -> Parameters:
    """The fields `tools`, `tool_choice`, `parallel_tool_calls` of a request (openai-wire §1.2–1.4, §1.9, §8).

    Raises `UnknownTool` for a name the toolbox lacks, `BadSetup` for a model without tools on this wire.

    >>> parameters(auto(), Toolbox(()))
    {}
    """
    if not len(toolbox):
        return Parameters()
    notes: list[str] = []
    choice, offered = _nearest(choice, toolbox, vendor, family, notes)
    result = Parameters(tools=getattr(offered, wire)(), tool_choice=_wire_choice(choice, wire))
    if vendor and not vendor.strict:
        notes.append(f"{vendor.name} has no strict: arguments may break the schema")
        for tool in result["tools"]:
            tool.get("function", tool).pop("strict")
    if parallel is not None and family and not family.parallel_parameter:
        notes.append(f"{family.name} does not take parallel_tool_calls: count the calls in the back end")
    elif parallel is not None:
        result["parallel_tool_calls"] = parallel
    if wire == "chat" and family and family.chat_tools != "always" and family.default_effort != "none":
        if family.chat_tools == "never":
            raise BadSetup(f"{family.name} takes tools only over Responses", hint='Use wire="responses".')
        notes.append(f"{family.name} takes tools on Chat Completions only without reasoning: effort none")
        result["reasoning_effort"] = "none"
    result.notes = tuple(notes)
    return result


def _nearest(
    choice: Choice, toolbox: Toolbox, vendor: Vendor | None, family: Family | None, notes: list[str]
) -> tuple[Choice, Toolbox]:
    narrow = toolbox if choice.names is None else toolbox.subset(choice.names)
    if choice.names == ():
        notes.append("no tool is allowed: tool_choice none")
        return none(), toolbox
    thinks = vendor and family and family.reasoning and not vendor.forced_choice_with_thinking
    if choice.mode == "required" and thinks:
        notes.append(f"{vendor.name} refuses a forced choice while it thinks: auto; check that a call came")
        return auto(), narrow
    if choice.names and not choice.single and vendor and not vendor.allowed_tools:
        notes.append(f"{vendor.name} has no allowed_tools: only these are sent, so the cached prefix changes")
        return Choice(choice.mode), narrow
    return choice, toolbox


def _wire_choice(choice: Choice, wire: str) -> str | dict[str, Any]:
    if choice.names is None:
        return choice.mode
    names = ({"name": name} for name in choice.names)
    tools = [{"type": "function"} | ({"function": name} if wire == "chat" else name) for name in names]
    inner = {"mode": choice.mode, "tools": tools}
    nested = {"allowed_tools": inner} if wire == "chat" else inner
    return tools[0] if choice.single else {"type": "allowed_tools"} | nested


def parallel_for(toolbox: Toolbox) -> bool:
    """Reads may go side by side; where one tool writes, one call at a time (S1 §1.3)."""
    return all(tool.effect == "read" for tool in toolbox)


def check_calls(calls: Sequence[ToolCall], most: int) -> None:
    """Raise `TooManyCalls` when a turn makes more than `most`: the back end counts, a prompt only asks.

    >>> check_calls([ToolCall("1", "get_weather", "{}")] * 3, most=2)
    Traceback (most recent call last):
    labkit.protocol.errors.TooManyCalls: 3 calls in one turn, at most 2. None ran: decide again with fewer.
    """
    if len(calls) > most:
        hint = "None ran: decide again with fewer."
        raise TooManyCalls(f"{len(calls)} calls in one turn, at most {most}", hint=hint)
