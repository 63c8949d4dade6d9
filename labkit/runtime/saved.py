"""A state as JSON and back, so that a run outlives its process: whoever loads it goes on where it stood."""

import json
from dataclasses import fields, is_dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from labkit.execution.executor import prepare
from labkit.execution.outcome import Prepared
from labkit.protocol.errors import BadFile, LabError
from labkit.protocol.messages import ToolCall
from labkit.protocol.tools import Toolbox
from labkit.runtime.states import State


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
        return _state(json.loads(text, object_hook=_revived), toolbox)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadFile(f"this is not a saved state ({type(error).__name__}: {error})") from None


def _revived(found: dict[str, Any]) -> Any:
    """An error, where one was saved."""
    return _kinds()[found.pop("kind")](**found) if found.keys() == {"kind", "message", "hint"} else found


def _kinds(kind: type[LabError] = LabError) -> dict[str, type[LabError]]:
    found = {kind.kind: kind} if hasattr(kind, "kind") else {}
    for below in kind.__subclasses__():
        found |= _kinds(below)
    return found


def _state(saved: dict[str, Any], toolbox: Toolbox) -> State:
    how = {"run_id": saved["run"]["id"], "lenient": True}
    calls = [ToolCall(**call) for call in saved.pop("batch", ())]
    parts = {"batch": tuple(prepare(call, toolbox, **how) for call in calls)} if calls else {}
    if held := saved.pop("held", None):
        parts["held"] = _state(held, toolbox)
    return _reader(saved.pop("state", "Reconciling")).validate_python([saved | parts])[0]


@cache
def _reader(name: str) -> TypeAdapter[Any]:
    kinds = {kind.__name__: kind for kind in State.__args__}
    return TypeAdapter(list[kinds[name]], config=ConfigDict(arbitrary_types_allowed=True))
