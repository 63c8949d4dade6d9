"""A state as JSON and back, so that a run outlives its process: whoever loads it goes on where it stood."""

import json
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

from labkit.execution.executor import prepare
from labkit.execution.outcome import Observation, Prepared
from labkit.execution.permission import Approval
from labkit.protocol.errors import BadFile, LabError
from labkit.protocol.messages import Message, ToolCall, Usage
from labkit.protocol.tools import Identity, Toolbox
from labkit.runtime import states
from labkit.runtime.states import Run, State


def dump(state: State) -> str:
    """The state without what tools returned to the program: only what the model was told is kept."""
    return json.dumps({"state": state.name} | plain(state), default=plain, ensure_ascii=False)


def plain(value: Any) -> Any:
    match value:
        case Prepared():
            return plain(value.call)
        case LabError():
            return {"kind": value.kind, "message": value.message, "hint": value.hint}
        case frozenset():
            return sorted(value)
        case Decimal():
            return str(value)
        case _ if is_dataclass(value):
            names = [field.name for field in fields(value) if field.name != "value"]
            return {name: getattr(value, name) for name in names}
    raise TypeError(f"{type(value).__name__} cannot be saved")


def load(text: str, toolbox: Toolbox) -> State:
    """The state that `dump` wrote, its calls read with `toolbox`; raises `BadFile` for anything else."""
    try:
        return _state(json.loads(text), toolbox)
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise BadFile(f"this is not a saved state ({type(error).__name__}: {error})") from None


def _state(saved: dict[str, Any], toolbox: Toolbox) -> State:
    kind = getattr(states, saved.pop("state", "Reconciling"))
    run = saved["run"] = _run(saved["run"])
    if "results" in saved:
        saved["results"] = tuple(map(_observation, saved["results"]))
    if "calls" in saved:
        saved["calls"] = tuple(ToolCall(**call) for call in saved["calls"])
    if "batch" in saved:
        calls = [ToolCall(**call) for call in saved["batch"]]
        saved["batch"] = tuple(prepare(call, toolbox, run_id=run.id, lenient=True) for call in calls)
    if saved.get("held"):
        saved["held"] = _state(saved["held"], toolbox)
    return kind(**saved)


def _run(saved: dict[str, Any]) -> Run:
    who = saved["identity"]
    return Run(
        **saved
        | {
            "chain": tuple(map(_message, saved["chain"])),
            "identity": who and Identity(**who | {"permissions": frozenset(who["permissions"])}),
            "approvals": tuple(Approval(**yes) for yes in saved["approvals"]),
            "observations": tuple(map(_observation, saved["observations"])),
            "usage": Usage(**saved["usage"]),
            "money": Decimal(saved["money"]),
        }
    )


def _message(saved: dict[str, Any]) -> Message:
    return Message(**saved | {"calls": tuple(ToolCall(**call) for call in saved["calls"])})


def _observation(saved: dict[str, Any]) -> Observation:
    error = saved["error"] and _kinds()[saved["error"].pop("kind")](**saved["error"])
    return Observation(**saved | {"call": ToolCall(**saved["call"]), "error": error})


def _kinds(kind: type[LabError] = LabError) -> dict[str, type[LabError]]:
    found = {kind.kind: kind} if hasattr(kind, "kind") else {}
    for below in kind.__subclasses__():
        found |= _kinds(below)
    return found
