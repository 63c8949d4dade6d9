"""What came of a call, as a value and as JSON for the model: cut with a notice, and without secrets."""

import logging
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from hashlib import sha256
from json import JSONEncoder
from pathlib import PurePath
from traceback import format_tb
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel

from labkit.protocol.errors import LabError, ModelError, OutcomeUnknown, ToolFailed, Transient
from labkit.protocol.messages import ToolCall
from labkit.protocol.tools import Tool

log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())
_json, _sorted_json = JSONEncoder(ensure_ascii=False).encode, JSONEncoder(sort_keys=True).encode
_SECRET = re.compile(
    r"""(?<=://)[^\s/@]+(?=@)|(?<![a-z0-9])sk-[\w-]{8,}"""
    r"""|((?:passw\w+|secret|token|key)["']?\s*[=:]\s*["']?|bearer\s+)[^\s"',;，；。]+""",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that was read: its tool exists, the arguments fit, the operation has a name."""

    call: ToolCall
    tool: Tool
    arguments: BaseModel
    operation_id: str


@dataclass(frozen=True, slots=True)
class Observation:
    """What came of one call: `content` is what the model is told, `value` what the tool returned."""

    call: ToolCall
    tool_name: str
    status: Literal["success", "error"]
    content: str
    error: LabError | None = None
    value: Any = None
    attempts: int = 0
    seconds: float = 0.0
    operation_id: str = ""
    provenance: str = ""


def digest(arguments: BaseModel) -> str:
    """16 hex digits that stand for exactly these arguments: what an approval is bound to."""
    text = _sorted_json(arguments.model_dump(mode="json"))
    return sha256(text.encode()).hexdigest()[:16]


def to_json(value: Any) -> str:
    """A tool's result as JSON, the same text for the same value; raises `TypeError` for what has no form.

    >>> to_json({"at": date(2026, 9, 1), "amount": Decimal("19.90"), "city": "北京", "tags": {"b", "a"}})
    '{"at": "2026-09-01", "amount": "19.90", "city": "北京", "tags": ["a", "b"]}'
    """
    return _dump(_plain(value))


def _dump(tree: Any) -> str:
    text = _json(tree)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case Mapping():
            return {
                key if isinstance(key, str) else to_json(key).strip('"'): _plain(value[key]) for key in value
            }
        case list() | tuple():
            return [_plain(item) for item in value]
        case set() | frozenset():
            return sorted(map(_plain, value), key=_dump)
        case BaseModel():
            return {name: _plain(item) for name, item in value}
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        case bytes():
            return value.decode(errors="backslashreplace")
        case Enum():
            return _plain(value.value)
        case date() | time():
            return value.isoformat()
        case float() | Decimal() | UUID() | PurePath() | timedelta():
            return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def success_result(value: Any, limit: int = 2000, **said: Any) -> str:
    """`{"status": "success", …said, "data": value}` in `limit` characters, always valid JSON (S2 §4.3).

    What is too long keeps its shape: texts and lists are shortened where they stand, and a notice says so.

    >>> success_result({"log": "x" * 9000}, 200)[-98:]
    'xxxxxx… +8950 characters"}, "notice": "Shortened from 9042 characters: ask for less to see more."}'
    """
    tree = {"status": "success", **said, "data": _plain(value)}
    text = _dump(tree)
    notice = f"Shortened from {len(text)} characters: ask for less to see more."
    for step in range(1, limit.bit_length()):
        if len(text) <= limit:
            return text
        text = _dump({**tree, "data": _shorten(tree["data"], limit >> step, 128 >> step), "notice": notice})
    return _dump({"status": "success", **said, "data": None, "notice": notice})


def _shorten(tree: Any, characters: int, items: int) -> Any:
    match tree:
        case str() if len(tree) > characters:
            return f"{tree[:characters]}… +{len(tree) - characters} characters"
        case list():
            rest = [f"… +{len(tree) - items} items"] if len(tree) > items else []
            return [_shorten(item, characters, items) for item in tree[:items]] + rest
        case dict():
            rest = {"…": f"+{len(tree) - items} fields"} if len(tree) > items else {}
            return {
                key[:characters]: _shorten(tree[key], characters, items) for key in list(tree)[:items]
            } | rest
    return tree


def error_result(error: LabError, limit: int = 2000) -> str:
    """An error as the model reads it (S1 §4.3); an unknown outcome waits to be reconciled (S1 §4.2).

    >>> error_result(ToolFailed("get_order failed (KeyError)"))[:68]
    '{"status": "error", "error_type": "tool_execution_error", "message":'
    """
    said = {"status": "error", "error_type": error.kind, "message": _shorten(str(error), limit // 2, 0)}
    if isinstance(error, OutcomeUnknown):
        said |= {"status": "pending_reconciliation", "operation_id": error.operation_id}
    return _dump(said | {"retryable_by_model": isinstance(error, ModelError)})


def classify(error: BaseException, tool: Tool, operation_id: str) -> LabError:
    """The one edge where what a tool raised becomes an error of ours; its text is for the log alone.

    A write that ends in anything but our own errors may have happened: its outcome is unknown.
    """
    kind, text = type(error).__name__, _text(error)
    match error:
        case OutcomeUnknown(operation_id=""):
            return OutcomeUnknown(text, operation_id=operation_id, **error.details)
        case LabError() if text:
            return error
    frames = "".join(format_tb(error.__traceback__))
    log.warning("tool %s raised %s: %s\n%s", tool.name, kind, redact(text[:2000]), frames)
    if tool.effect == "write":
        message = f"{tool.name} ended in {kind}; nobody knows yet whether it happened"
        return OutcomeUnknown(message, operation_id=operation_id, cause=kind)
    if isinstance(error, TimeoutError | ConnectionError):
        return Transient(f"{tool.name} did not answer ({kind})", cause=kind)
    return ToolFailed(f"{tool.name} failed ({kind})", cause=kind)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # its __str__ is as broken as the tool
        return ""


def redact(text: str) -> str:
    """A text for the log, without what looks like a secret.

    >>> redact("no connection: postgresql://app:S3cret@10.0.0.5/db, password=hunter2")
    'no connection: postgresql://***@10.0.0.5/db, password=***'
    """
    return _SECRET.sub(lambda match: f"{match[1] or ''}***", text)
