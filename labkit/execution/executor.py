"""One call carried out: read, named, timed, retried where that is safe, entered in the ledger, told as JSON.

Sync and async are one path: the waits are handed in, and without a loop they block.
"""

import asyncio
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable, Container, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from inspect import signature
from itertools import groupby
from typing import Any

from pybreaker import CircuitBreaker, CircuitBreakerError
from pydantic import BaseModel

from labkit.execution.ledger import Answer, Entry, Ledger, State
from labkit.execution.outcome import Observation, Prepared, classify, digest, error_result, success_result
from labkit.execution.patience import Breaker, Outcome, Retry, Workers
from labkit.protocol import errors
from labkit.protocol.messages import ToolCall
from labkit.protocol.schema import parse_arguments
from labkit.protocol.tools import CallContext, Identity, Tool, Toolbox

log = logging.getLogger(__name__)
LOOK_AGAIN = 0.05  # seconds between two looks at an operation that somebody else is carrying out


def prepare(
    call: ToolCall,
    toolbox: Toolbox,
    *,
    run_id: str,
    offered: Container[str] | None = None,
    lenient: bool = False,
    truncated: bool = False,
) -> Prepared:
    """The call, read; raises `UnknownTool`, `InvalidArguments`, `TruncatedArguments`: the model is told.

    The operation has the name that the business gives it (`refund:10001`) or else run, tool and arguments;
    never attempt or call id, for these change when the same thing is asked for again (S1 §4.2).
    """
    names = [name for name in toolbox.names if offered is None or name in offered]
    if call.name not in names:
        hint = f"Use one of: {', '.join(names)}." if names else "No tool may be called now."
        raise errors.UnknownTool(f"there is no tool {str(call.name)[:80]!r}", hint=hint)
    tool = toolbox[call.name]
    arguments = parse_arguments(call.arguments, tool.arguments, lenient=lenient, truncated=truncated)
    try:
        key = tool.operation(arguments) if tool.operation else f"{run_id}:{tool.name}:{digest(arguments)}"
    except Exception as error:
        raise errors.BadTool(f"{tool.name} cannot name its operation ({type(error).__name__})") from None
    return Prepared(call, tool, arguments, key)


@dataclass(slots=True)
class _Job:
    prepared: Prepared
    identity: Identity | None
    wait: Callable[..., Awaitable[Outcome]]
    sleep: Callable[[float], Awaitable[None]]
    claim: Entry | None = None
    attempts: int = 0


class Executor:
    """Carries out prepared calls; threads, tasks and runs may share one.

    `ask` is put to the service behind a write whose outcome is unknown; where there is none, a person settles
    it with `ledger.conclude`. Without a `ledger` on disk, operations are remembered in memory only. Times are
    in seconds (S2 §4.3, its slips mended).
    """

    def __init__(
        self,
        toolbox: Toolbox,
        *,
        ledger: Ledger | None = None,
        ask: Callable[[str], Answer] | None = None,
        retry: Retry | None = None,
        breaker: Breaker | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        asleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random.random,
        result_limit: int = 2000,
        observe: Sequence[Callable[[Prepared, Observation], Observation]] = (),
    ):
        self.toolbox, self.ledger, self.ask = toolbox, ledger or Ledger(), ask
        self.retry, self.breaker, self.observe = retry, breaker, tuple(observe)
        self.clock, self.random, self.result_limit, self._workers = clock, random, result_limit, Workers()
        self._blocking = (_blocks(self._workers.call), _blocks(sleep))
        self._looping = (self._workers.acall, asleep)
        self._circuits: dict[str, CircuitBreaker] = {}

    @property
    def abandoned(self) -> int:
        """Calls that ran out of time and still run: a thread cannot be killed, only counted."""
        return len(self._workers.left)

    def execute(self, prepared: Prepared, identity: Identity | None = None) -> Observation:
        """What came of the call, good or bad; raises nothing but KeyboardInterrupt."""
        return _at_once(self._execute(_Job(prepared, identity, *self._blocking)))

    async def aexecute(self, prepared: Prepared, identity: Identity | None = None) -> Observation:
        """The same in a loop, where a coroutine tool is cancelled when its time is over.

        A write stops the loop while its two commits reach the disk (bench_executor: how long). A thread would
        let it go on, but a cancelled run could leave a claim behind that nobody settles.
        """
        return await self._execute(_Job(prepared, identity, *self._looping))

    def execute_all(self, calls: Sequence[Prepared], identity: Identity | None = None) -> list[Observation]:
        """Neighbouring reads at the same time, every write alone and in its place; observations in order."""
        if len(calls) == 1:
            return [self.execute(calls[0], identity)]
        carried: list[Observation] = []
        with ThreadPoolExecutor(8) as pool:
            for group in _groups(calls):
                each = pool.map if len(group) > 1 else map
                carried += each(lambda prepared: self.execute(prepared, identity), group)
        return carried

    async def aexecute_all(self, calls: Sequence[Prepared], who: Identity | None = None) -> list[Observation]:
        carried: list[Observation] = []
        for group in _groups(calls):
            carried += await asyncio.gather(*(self.aexecute(prepared, who) for prepared in group))
        return carried

    def reconcile(self, prepared: Prepared, identity: Identity | None = None) -> Observation:
        """Ask what became of an unknown operation, and carry it out only if it never arrived (S1 §4.2).

        One that somebody else is carrying out is waited for, as long as one call may take.
        """
        return _at_once(self._reconcile(_Job(prepared, identity, *self._blocking)))

    async def areconcile(self, prepared: Prepared, identity: Identity | None = None) -> Observation:
        return await self._reconcile(_Job(prepared, identity, *self._looping))

    async def _reconcile(self, job: _Job) -> Observation:
        key, left = job.prepared.operation_id, job.prepared.tool.timeout
        while (entry := self.ledger.entry(key)) and entry.state == "pending" and left > 0:
            await job.sleep(LOOK_AGAIN)
            left -= LOOK_AGAIN
        if self.ask and entry and entry.state == "unknown" and key not in [*self._workers.left.values()]:
            outcome = await self._heard(job, partial(self.ask, key), "", lambda late: None)
            if isinstance(outcome.value, Answer):
                self.ledger.conclude(key, outcome.value)
        return await self._execute(job)

    async def _execute(self, job: _Job) -> Observation:
        prepared, started, value, error = job.prepared, self.clock(), None, None
        try:
            earlier = self._begin(job)
            value = json.loads(earlier.result or "null") if earlier else await self._persist(job)
            content = self._told(job, value, earlier)
        except errors.LabError as caught:
            error, content = caught, error_result(caught, self.result_limit)
        except BaseException:
            self._end(job, "unknown")
            raise
        unknown = isinstance(error, errors.OutcomeUnknown)
        self._end(job, "unknown" if unknown else "failed" if error else "committed", value)
        status, name, seconds = "error" if error else "success", prepared.tool.name, self.clock() - started
        key, call = prepared.operation_id, prepared.call
        seen = Observation(call, name, status, content, error, value, job.attempts, seconds, key, name)
        return self._observed(prepared, seen)

    def _begin(self, job: _Job) -> Entry | None:
        """Claim a write; the entry when it has happened before, nothing when it is to be carried out now."""
        tool, key = job.prepared.tool, job.prepared.operation_id
        if tool.effect == "read":
            return None
        tries = self.retry.attempts if self.retry else 1
        lease = self.ledger.lease + tries * (tool.timeout + (self.retry.retry_after_cap if self.retry else 0))
        try:
            entry, ours = self.ledger.claim(key, tool.name, digest(job.prepared.arguments), lease=lease)
        except Exception as error:
            said = f"{tool.name} was not begun: the ledger fails ({type(error).__name__})"
            raise errors.ToolFailed(said) from error
        if not ours and not entry.happened:
            raise errors.OutcomeUnknown(f"{key} was begun before and is {entry.state}", operation_id=key)
        job.claim = entry if ours else None
        return None if ours else entry

    def _end(self, job: _Job, state: State, value: Any = None) -> None:
        if job.claim:
            try:
                self.ledger.settle(job.claim, state, value)
            except Exception as error:
                log.error("%s is %s, but the ledger fails (%s)", job.claim.operation_id, state, error)

    async def _persist(self, job: _Job) -> Any:
        """One attempt, or as many as are allowed where this kind of call may be tried again."""
        tool = job.prepared.tool
        kind = "read" if tool.effect == "read" else "keyed_write" if tool.operation else "write"
        if self.retry is None or kind not in self.retry.on:
            return await self._attempt(job)
        return await self.retry.loop(job.sleep, self.random)(self._attempt, job)

    async def _attempt(self, job: _Job) -> Any:
        tool, key = job.prepared.tool, job.prepared.operation_id
        arguments = {name: getattr(job.prepared.arguments, name) for name in tool.arguments.model_fields}
        if _takes_context(getattr(tool.run, "__func__", tool.run)):
            arguments["context"] = CallContext(job.identity, key, self.clock() + tool.timeout)
        try:
            with self._circuit(tool.name):
                job.attempts += 1
                call = partial(tool.run, **arguments)
                outcome = await self._heard(job, call, key, partial(self._late, job))
                if outcome.error is not None:
                    raise classify(outcome.error, tool, key) from None
                return outcome.value
        except CircuitBreakerError:
            raise errors.CircuitOpen(f"{tool.name} has failed too often and is left alone for now") from None

    async def _heard(
        self, job: _Job, call: Callable[[], Any], name: str, late: Callable[[Outcome], Any]
    ) -> Outcome:
        outcome = await job.wait(call, job.prepared.tool.timeout, name, late)
        if isinstance(outcome.error, KeyboardInterrupt):
            raise outcome.error
        return outcome

    def _circuit(self, name: str) -> Any:
        if self.breaker is None:
            return nullcontext()
        circuit = self._circuits.get(name)
        return (circuit or self._circuits.setdefault(name, self.breaker.circuit(self.clock))).calling()

    def _late(self, job: _Job, outcome: Outcome) -> None:
        """A write that was left behind has come back after all: that it happened is a fact worth keeping."""
        if outcome.error is None:
            self._end(job, "committed", outcome.value)

    def _told(self, job: _Job, value: Any, earlier: Entry | None) -> str:
        tool, said = job.prepared.tool, {}
        if earlier:
            how = "reconciled" if earlier.state == "reconciled" else "repeated"
            said = {how: True, "same_arguments": earlier.arguments == digest(job.prepared.arguments)}
        try:
            return success_result(_viewed(tool, value), self.result_limit, **said)
        except Exception as error:
            name = f"{type(error).__name__} in its result"
            if tool.effect == "write":
                return success_result(None, self.result_limit, **said, notice=f"Done, but not shown: {name}.")
            raise errors.ToolFailed(f"{tool.name} failed ({name})") from None

    def _observed(self, prepared: Prepared, seen: Observation) -> Observation:
        """What the observers make of it; when one breaks, its result is withheld."""
        try:
            for observe in self.observe:
                seen = observe(prepared, seen)
        except Exception as error:
            broken = errors.ToolFailed(f"the result of {seen.tool_name} is withheld ({type(error).__name__})")
            failure = error if isinstance(error, errors.LabError) else broken
            return replace(seen, status="error", error=failure, content=error_result(failure), value=None)
        return seen


def _viewed(tool: Tool, value: Any) -> Any:
    if isinstance(tool.view, type) and issubclass(tool.view, BaseModel):
        return tool.view.model_validate(value, from_attributes=True)
    return tool.view(value) if tool.view else value


@lru_cache(256)
def _takes_context(function: Callable[..., Any]) -> bool:
    return "context" in signature(function).parameters


def _groups(calls: Sequence[Prepared]) -> list[list[Prepared]]:
    """Runs of neighbouring reads; each write by itself."""
    runs = groupby(enumerate(calls), lambda pair: -1 if pair[1].tool.effect == "read" else pair[0])
    return [[call for _, call in run] for _, run in runs]


def _blocks(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    async def blocking(*arguments: Any) -> Any:
        return function(*arguments)

    return blocking


def _at_once(coroutine: Coroutine[Any, Any, Observation]) -> Observation:
    """The result of a coroutine all of whose waits block."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("a wait that should block gave up control")
