"""What a brain is asked and what it may answer: the same two nouns for both wire forms."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from labkit.protocol.messages import Message, ToolCall, Usage

Mode = Literal["none", "auto", "required"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the request offers it; `parameters` is the JSON Schema, `{}` when there is none."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = field(default_factory=dict, hash=False)
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """One valid request, read: what the model sees, and which choices the caller left it.

    `callable` are the tools that may be called now (after `tool_choice`, named or allowed); `tools` are all
    that were sent. `turn` counts the requests that this service has answered before.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    callable: tuple[ToolSpec, ...] = ()
    mode: Mode = "auto"
    named: str | None = None
    parallel: bool = True
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    max_tokens: int | None = None
    response_format: dict[str, Any] | None = field(default=None, hash=False)
    turn: int = 0
    choice: int = 0
    raw: dict[str, Any] = field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the brain decided: text, calls, both, or a refusal; the service gives ids to calls without one.

    `usage` is what a genuine model really spent; left out, the service counts.
    """

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    refusal: str | None = None
    finish: str | None = None
    reasoning_tokens: int = 0
    reasoning_text: str | None = None
    usage: Usage | None = None


Brain = Callable[[Ask], Decision]
