"""How long to wait, how often to try: waits that end, retries by tenacity, a circuit breaker by pybreaker.

A thread cannot be killed (S2 §4.3 overlooks it): a call that runs out of time is left behind and counted.
"""

import asyncio
import inspect
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue
from typing import Any, Literal

from pybreaker import CircuitBreaker, CircuitMemoryStorage
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from labkit.protocol.errors import ProviderError, Transient

IDLE = 8  # threads that wait for the next call, so that a call seldom starts one


@dataclass(frozen=True, slots=True)
class Retry:
    """What to try again after a `Transient`: {"read"}, {"keyed_write"} (its tool names the operation), both.

    Waits, in seconds, are drawn from [0, min(cap, base·2ⁿ)]; a Retry-After is obeyed, or, when it is longer
    than `retry_after_cap`, the call is given up.
    """

    on: frozenset[Literal["read", "keyed_write"]]
    attempts: int = 3
    base: float = 0.5
    cap: float = 8.0
    retry_after_cap: float = 30.0

    def again(self, fault: BaseException) -> bool:
        return isinstance(fault, Transient) and (fault.retry_after or 0.0) <= self.retry_after_cap

    def loop(self, sleep: Callable[[float], Any], random: Callable[[], float]) -> AsyncRetrying:
        def pause(state: RetryCallState) -> float:
            retry_after = state.outcome.exception().retry_after
            limit = min(self.cap, self.base * 2 ** (state.attempt_number - 1))
            return random() * limit if retry_after is None else retry_after

        return AsyncRetrying(
            sleep, stop_after_attempt(self.attempts), pause, retry_if_exception(self.again), reraise=True
        )


@dataclass(frozen=True, slots=True)
class Breaker:
    """A tool whose service failed `failures` times in a row is left alone for `reset` seconds."""

    failures: int = 5
    reset: float = 30.0

    def circuit(self, clock: Callable[[], float]) -> CircuitBreaker:
        """pybreaker, not purgatory: `calling()` holds no lock, and its storage lets our clock in."""
        no_fault = [lambda error: not isinstance(error, ProviderError)]
        return CircuitBreaker(
            self.failures, self.reset, 1, no_fault, None, _ByClock(clock), throw_new_error_on_trip=False
        )


class _ByClock(CircuitMemoryStorage):
    def __init__(self, clock: Callable[[], float]):
        super().__init__("closed")
        self._clock, self._opened = clock, 0.0

    @property
    def opened_at(self) -> datetime:
        """When the circuit opened, moved on the wall clock so that the injected one decides."""
        return datetime.now(UTC) - timedelta(seconds=self._clock() - self._opened)

    @opened_at.setter
    def opened_at(self, _: datetime) -> None:
        self._opened = self._clock()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended: what it raised is carried, never thrown across threads."""

    value: Any = None
    error: BaseException | None = None


class Workers:
    """Daemon threads for calls that may not come back; `left` holds those that did not, by name."""

    def __init__(self) -> None:
        self.left: dict[Future[Outcome] | asyncio.Task[Outcome], str] = {}

    def call(
        self, function: Callable[[], Any], timeout: float, name: str, late: Callable[[Outcome], Any]
    ) -> Outcome:
        """The outcome within `timeout` seconds, or a TimeoutError; `late` is told what comes after."""
        future = _start(lambda: _outcome(function, timeout))
        try:
            return future.result(timeout + 0.25 * inspect.iscoroutinefunction(function))
        except TimeoutError:
            return future.result() if future.done() else Outcome(error=TimeoutError())
        finally:
            self._leave(future, name, late)

    async def acall(
        self, function: Callable[[], Any], timeout: float, name: str, late: Callable[[Outcome], Any]
    ) -> Outcome:
        """The same without blocking the loop; a coroutine function runs in the loop and is cancelled."""
        if inspect.iscoroutinefunction(function):
            future = task = asyncio.ensure_future(_aoutcome(function))
        else:
            future = _start(lambda: _outcome(function, timeout))
            task = asyncio.wrap_future(future)
        try:
            await asyncio.wait({task}, timeout=timeout)
            return future.result() if future.done() else Outcome(error=TimeoutError())
        finally:
            self._leave(future, name, late)
            task.cancel()

    def _leave(self, future: Any, name: str, late: Callable[[Outcome], Any]) -> None:
        if not future.done():
            self.left[future] = name
            future.add_done_callback(lambda done: done.cancelled() or late(done.result()))
            future.add_done_callback(self.left.pop)


_waiting: list[SimpleQueue[Any]] = []  # inboxes of threads without work
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_waiting.clear)  # threads do not survive a fork


def _start(work: Callable[[], Outcome]) -> Future[Outcome]:
    future: Future[Outcome] = Future()
    try:
        inbox = _waiting.pop()
    except IndexError:
        inbox = SimpleQueue()
        threading.Thread(target=_serve, args=(inbox,), daemon=True).start()
    inbox.put((future, copy_context(), work))
    return future


def _serve(inbox: SimpleQueue[Any]) -> None:
    stays = True
    while stays:
        future, context, work = inbox.get()
        future.set_running_or_notify_cancel()
        outcome = context.run(work)
        if stays := len(_waiting) < IDLE:
            _waiting.append(inbox)
        future.set_result(outcome)
        del future, context, work, outcome


def _outcome(function: Callable[[], Any], timeout: float) -> Outcome:
    try:
        value = function()
        return Outcome(asyncio.run(asyncio.wait_for(value, timeout)) if inspect.isawaitable(value) else value)
    except BaseException as error:
        return Outcome(error=error)


async def _aoutcome(function: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(await function())
    except BaseException as error:
        return Outcome(error=error)
