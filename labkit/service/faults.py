"""Planned trouble: which request meets which fault; counted from 1, the SDK's retries included."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from labkit.protocol.errors import WireError

RATE = (
    "Rate limit reached for {model} in organization org-labkit on tokens per min (TPM): Limit 30000, "
    "Used 29937, Requested 385. Please try again in {wait}. "
    "Visit https://platform.openai.com/account/rate-limits to learn more."
)
QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more information on "
    "this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
)
SORRY = "The server had an error while processing your request. Sorry about that!"
BUSY = "The engine is currently overloaded, please try again later"


class ConnectionCut(Exception):
    """Raised by the body of an answer where the planned fault breaks the connection."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to request number `at`; times in seconds.

    `error` answers in place of the brain; `wait` passes before the first byte and `every` before each later
    chunk; `cut_after` chunks the connection breaks; `lost`: the brain has decided, but no byte arrives.
    """

    at: int
    error: WireError | None = None
    headers: dict[str, str] = field(default_factory=dict, hash=False)
    wait: float = 0.0
    every: float = 0.0
    cut_after: int | None = None
    lost: bool = False


def throttle(at: int = 1, *, retry_after: float = 2) -> Fault:
    """429 with the time after which to try again (openai-wire §6.1, §6.2).

    >>> throttle(1, retry_after=0.5).headers
    {'retry-after': '1', 'retry-after-ms': '500'}
    """
    wait = round(1000 * retry_after)
    headers = {"retry-after": str(max(1, -(-wait // 1000))), "retry-after-ms": str(wait)}
    message = RATE.replace("{wait}", f"{wait}ms" if wait < 1000 else f"{wait / 1000:g}s")
    return Fault(at, WireError(message, None, "rate_limit_exceeded", 429, "tokens"), headers)


def quota(at: int = 1) -> Fault:
    """429 that no waiting cures, so it names no time; the SDK retries it all the same (§6.3)."""
    return Fault(at, WireError(QUOTA, None, "insufficient_quota", 429, "insufficient_quota"))


def server_error(at: int = 1) -> Fault:
    return Fault(at, WireError(SORRY, None, None, 500, "server_error"))


def overloaded(at: int = 1) -> Fault:
    return Fault(at, WireError(BUSY, None, "server_is_overloaded", 503, "service_unavailable_error"))


def slow(at: int = 1, seconds: float = 1.0, *, every: float = 0.0) -> Fault:
    return Fault(at, wait=seconds, every=every)


def cut_stream(at: int = 1, after_chunks: int = 2) -> Fault:
    return Fault(at, cut_after=after_chunks)


def lost_reply(at: int = 1) -> Fault:
    return Fault(at, lost=True)


def troubled(parts: Iterator[bytes], fault: Fault, pace: float = 0.0) -> Iterator[bytes | float]:
    """The chunks of a stream with its waits among them, up to where it is cut."""
    for position, part in enumerate(parts):
        if position == fault.cut_after:
            raise ConnectionCut
        if position and fault.every + pace:
            yield fault.every + pace
        yield part
