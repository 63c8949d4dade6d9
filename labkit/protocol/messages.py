"""The nouns of a conversation, independent of the wire form they travel in, and the rules of a chain."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from labkit.protocol.errors import BadChain

Role = Literal["system", "developer", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What the model wants done; `arguments` stays the string that the model wrote.

    >>> ToolCall("call_1", "get_weather", '{"city":"北京"}').name
    'get_weather'
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chain; `extra` holds what a vendor added and wants back (`reasoning_content`, items).

    >>> tool("call_1", '{"state":"shipped"}')
    Message(role='tool', content='{"state":"shipped"}', calls=(), call_id='call_1', refusal=None, extra={})
    """

    role: Role
    content: str = ""
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    refusal: str | None = None
    extra: dict[str, Any] = field(default_factory=dict, hash=False)


def system(text: str) -> Message:
    return Message("system", text)


def user(text: str) -> Message:
    return Message("user", text)


def assistant(text: str = "", calls: Iterable[ToolCall] = ()) -> Message:
    return Message("assistant", text, tuple(calls))


def tool(call_id: str, content: str) -> Message:
    return Message("tool", content, call_id=call_id)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, or of several added up; `cached` is part of `input`, `reasoning` of `output`.

    >>> Usage(2000, 100) + Usage(2100, 50, cached=1920)
    Usage(input=4100, output=150, cached=1920, cache_write=0, reasoning=0)
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.cache_write + other.cache_write,
            self.reasoning + other.reasoning,
        )

    @property
    def total(self) -> int:
        return self.input + self.output


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model, in whichever wire form it came; `finish` is the API's own word for its end."""

    message: Message
    finish: str = "stop"
    usage: Usage = Usage()
    model: str = ""
    id: str = ""


def unanswered(chain: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls of the last assistant message that no tool message has answered yet.

    >>> call = ToolCall("call_1", "get_order", '{"order_id":"10001"}')
    >>> [c.id for c in unanswered([user("查订单 10001"), assistant(calls=[call])])]
    ['call_1']
    """
    answered: set[str] = set()
    for message in reversed(chain):
        if message.role != "tool":
            return tuple(call for call in message.calls if call.id not in answered)
        answered.add(message.call_id)
    return ()


def check_chain(chain: Sequence[Message]) -> None:
    """Raise `BadChain` unless the API would accept this history: every call answered once, no orphan result.

    >>> check_chain([user("hi"), tool("call_1", "{}")])
    Traceback (most recent call last):
    labkit.protocol.errors.BadChain: message 1 answers call_1, which the assistant before it did not make
    """
    open_ids: list[str] = []
    for position, message in enumerate(chain):
        if message.role == "tool":
            if message.call_id not in open_ids:
                raise BadChain(
                    f"message {position} answers {message.call_id}, "
                    "which the assistant before it did not make"
                )
            open_ids.remove(message.call_id)
            continue
        if open_ids:
            raise BadChain(f"calls without an answer before message {position}: {', '.join(open_ids)}")
        open_ids = [call.id for call in message.calls]
    if open_ids:
        raise BadChain(f"calls without an answer at the end: {', '.join(open_ids)}")
