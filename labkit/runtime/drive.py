"""The machine driven: to its end, step by step, asynchronously, as a stream; and the one edge to the SDK.

`post` sends what `create()` sends, byte for byte, at a third of its cost (tests prove it). The retries of the
SDK are off: here a wait is a state, and an account without money is not asked again (R01).
"""

import inspect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

import openai

from labkit.execution.permission import Approval, approve
from labkit.protocol.errors import BadSetup, PermissionDenied, ProviderError, Transient
from labkit.protocol.messages import Message, check_chain, system, user
from labkit.protocol.tools import Identity
from labkit.runtime import machine, states
from labkit.runtime.machine import FORMS, Agent
from labkit.runtime.states import Event, State, step

LONGEST_WAIT = 30.0
CANCELLED = Event("cancelled", "cancelled", "the caller ended the run")
Start = str | Sequence[Message] | State


class Cancel(Protocol):
    """A `threading.Event`, or anything that can say that it is set."""

    def is_set(self) -> bool: ...


def begin(
    agent: Agent,
    start: Start,
    identity: Identity | None = None,
    approvals: Iterable[Approval] = (),
    run_id: str | None = None,
) -> State:
    """The first state for a sentence or a history; a state goes on, `Waiting` once approvals are there.

    `run_id` names the run: a request that is sent again should bring the same. Raises `BadChain`.
    """
    if isinstance(start, states.Waiting) and approvals:
        return settle(
            agent, start, Event("approved", batch=start.batch, approvals=tuple(approvals)), agent.clock()
        )
    if isinstance(start, states.Stopped):
        return settle(agent, start, Event("reopened" if start.held else "resumed"), agent.clock())
    if isinstance(start, states.Stage):
        return start
    chain = (user(start),) if isinstance(start, str) else tuple(start)
    check_chain(chain)
    if agent.system and not any(message.role in ("system", "developer") for message in chain[:1]):
        chain = (system(agent.system), *chain)
    return states.Deciding(states.Run(run_id or agent.new_id(), chain, identity, tuple(approvals)))


def approvals(state: states.Waiting, *, by: str, at: str) -> tuple[Approval, ...]:
    """A person's yes to all that a run waits for, bound to exactly these arguments."""
    asked = [item for item in state.batch if item.call.id in state.asks]
    return tuple(approve(machine.request_of(state.run, item), by=by, at=at) for item in asked)


def reject(state: states.Waiting, reason: str) -> State:
    """A person's no: the calls asked about are denied, the others go their way."""
    no = PermissionDenied(f"a person said no: {reason}")
    results = tuple(machine.failure(item.call, no) for item in state.batch if item.call.id in state.asks)
    rest = tuple(item for item in state.batch if item.call.id not in state.asks)
    return step(state, Event("rejected", batch=rest, results=results))


def run(agent: Agent, start: Start, *, cancel: Cancel | None = None, **who: Any) -> State:
    """The state in which a run ends or waits for a person; `who` is what `begin` takes.

    >>> from labkit.connect import connect
    >>> from labkit.execution.executor import Executor
    >>> from labkit.execution.permission import Allow
    >>> from labkit.protocol.tools import Toolbox
    >>> from labkit.service.brains.scripted import script
    >>> client, box = connect("script", script("你好")), Toolbox([])
    >>> desk = Agent(client, "gpt-4.1-mini", box, Executor(box), lambda request: Allow())
    >>> run(desk, "hi").answer
    '你好'
    """
    state = begin(agent, start, **who)
    while going(state):
        state = advance(agent, state, cancel)
    return state


async def arun(agent: Agent, start: Start, *, cancel: Cancel | None = None, **who: Any) -> State:
    """The same without blocking the loop; the agent's client must be an `AsyncOpenAI`."""
    state = begin(agent, start, **who)
    while going(state):
        began = agent.clock()
        event = foreseen(agent, state, cancel) or await aperform(agent, state)
        state = settle(agent, state, event, began)
    return state


def stream(agent: Agent, start: Start, *, cancel: Cancel | None = None, **who: Any) -> Iterator[State | str]:
    """The states of a run as it reaches them and, between them, the text as the model writes it.

    After a `Deciding` with attempt > 0 the model begins its answer anew.
    """
    state = begin(agent, start, **who)
    yield state
    while going(state):
        began = agent.clock()
        event = foreseen(agent, state, cancel)
        if event is None and isinstance(state, states.Deciding):
            event = yield from listen(agent, state)
        state = settle(agent, state, event or perform(agent, state), began)
        yield state


def going(state: State) -> bool:
    return not (state.final or isinstance(state, states.Waiting))


def advance(agent: Agent, state: State, cancel: Cancel | None = None) -> State:
    """The next state of a run that is neither at its end nor waiting."""
    began = agent.clock()
    return settle(agent, state, foreseen(agent, state, cancel) or perform(agent, state), began)


def foreseen(agent: Agent, state: State, cancel: Cancel | None) -> Event | None:
    stop = cancel is not None and cancel.is_set() and isinstance(state, states.CANCELLABLE)
    return CANCELLED if stop else machine.plan(agent, state)


def settle(agent: Agent, state: State, event: Event, began: float) -> State:
    after, seconds = step(state, event), agent.clock() - began
    if agent.budget.seconds is not None:
        after = replace(after, run=replace(after.run, seconds=after.run.seconds + seconds))
    if agent.on_step:
        agent.on_step(state, after, seconds)
    return after


def perform(agent: Agent, state: State) -> Event:
    """Ask the world: the model in `Deciding`, the tools in `Executing`, or what became of a lost write."""
    executor, who = agent.executor, state.run.identity
    if isinstance(state, states.Executing):
        return machine.executed(executor.execute_all(state.batch, who))
    if not isinstance(state, states.Deciding):
        return machine.reconciled(state, [executor.reconcile(item, who) for item in machine.unknown(state)])
    if state.wait:
        agent.sleep(state.wait)
    try:
        return machine.replied(agent, state.run, FORMS[agent.wire].parse(ask(agent, state)))
    except (openai.OpenAIError, ProviderError) as error:
        return failed(agent, state, error)


async def aperform(agent: Agent, state: State) -> Event:
    executor, who = agent.executor, state.run.identity
    if isinstance(state, states.Executing):
        return machine.executed(await executor.aexecute_all(state.batch, who))
    if not isinstance(state, states.Deciding):
        return machine.reconciled(
            state, [await executor.areconcile(item, who) for item in machine.unknown(state)]
        )
    if state.wait:
        await agent.asleep(state.wait)
    try:
        return machine.replied(agent, state.run, FORMS[agent.wire].parse(await ask(agent, state, wait=True)))
    except (openai.OpenAIError, ProviderError) as error:
        return failed(agent, state, error)


def listen(agent: Agent, state: states.Deciding) -> Iterator[str]:
    """Yields the text of a streamed reply as it comes; returns the event that it comes to."""
    if state.wait:
        agent.sleep(state.wait)
    whole = FORMS[agent.wire].Assembly()
    try:
        with ask(agent, state, stream=True) as chunks:
            for chunk in chunks:
                if text := whole.feed(chunk):
                    yield text
        return machine.replied(agent, state.run, whole.reply())
    except (openai.OpenAIError, ProviderError) as error:
        return failed(agent, state, error)


def ask(agent: Agent, state: states.Deciding, *, stream: bool = False, wait: bool = False) -> Any:
    body = machine.compose(agent, state.run, stream=stream)
    said = (agent.door or post)(agent.client, FORMS[agent.wire].PATH, body, stream=stream)
    if inspect.isawaitable(said) != wait:
        getattr(said, "close", dict)()
        raise BadSetup(
            "run and stream take an OpenAI client, arun an AsyncOpenAI", hint="Take the other one."
        )
    return said


def post(client: Any, path: str, body: dict[str, Any], *, stream: bool = False) -> Any:
    """The reply as plain data, its chunks, or, of an `AsyncOpenAI`, a coroutine for it."""
    no_retries = {"max_retries": 0}
    return client.post(
        path, cast_to=object, body=body, options=no_retries, stream=stream, stream_cls=openai.Stream[object]
    )


def failed(agent: Agent, state: states.Deciding, error: Exception) -> Event:
    """What a failed request means: wait and ask again, as often as the client would, or stop and say why."""
    status, code = getattr(error, "status_code", 0), getattr(error, "code", None)
    headers = error.response.headers if status else {}
    if "insufficient_quota" in (code, getattr(error, "type", None)):
        return Event("failed", "quota_exhausted", str(error))
    if status in (401, 403, 404) or code == "model_not_found":
        return Event("failed", "bad_setup", str(error))
    brief = status in (408, 409, 429) or status >= 500
    if 400 <= status < 500 and not brief:
        return Event("failed", "bad_request", str(error))
    again = brief or isinstance(error, openai.APIConnectionError | Transient)
    wait = pause(headers, state.attempt, agent.random())
    if not again or headers.get("x-should-retry") == "false" or wait > LONGEST_WAIT:
        return Event("failed", "provider_error", str(error))
    if state.attempt >= agent.client.max_retries:
        return Event("failed", "provider_error", f"asked {state.attempt + 1} times: {error}")
    return Event("throttled", wait=wait)


def pause(headers: Any, attempt: int, drawn: float) -> float:
    """Seconds to wait: what the service asks for, or else 0.5, 1, 2 … up to 8, less a quarter at random."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        with suppress(TypeError, ValueError):
            if (asked := float(headers.get(name)) / unit) > 0:
                return asked
    return min(0.5 * 2**attempt, 8.0) * (1 - 0.25 * drawn)
