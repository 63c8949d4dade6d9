"""The states of a run as a sum type, and `step`: the whole transition table, in one match.

Nothing here calls a model or a tool. `TRANSITIONS` is the table as data, from which the picture is drawn: the
articles' figure 1, with the arrows it leaves out (throttled, over budget, cancelled, waiting, resumed).
"""

import json
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import NamedTuple

from labkit.execution.outcome import Observation, Prepared
from labkit.execution.permission import Approval
from labkit.protocol.errors import CallerError
from labkit.protocol.messages import Message, Reply, ToolCall, Usage, tool, unanswered
from labkit.protocol.tools import Identity


@dataclass(frozen=True, slots=True)
class Run:
    """What a run has gathered so far; every state carries it. `money` is in the unit of the agent's price.

    `seconds` are counted where the agent's budget limits them.
    """

    id: str
    chain: tuple[Message, ...]
    identity: Identity | None = None
    approvals: tuple[Approval, ...] = ()
    observations: tuple[Observation, ...] = ()
    usage: Usage = field(default_factory=Usage)
    money: Decimal = Decimal(0)
    seconds: float = 0.0
    steps: int = 0
    corrections: int = 0
    closing: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """What all states have in common; `chain` is in every one of them a history that the API accepts."""

    run: Run
    final, answer, reason, results = False, "", "", ()
    name = property(lambda self: type(self).__name__)
    usage = property(lambda self: self.run.usage)
    steps = property(lambda self: self.run.steps)
    observations = property(lambda self: self.run.observations)

    @property
    def chain(self) -> tuple[Message, ...]:
        return told(self.run, self.results, note("not_run", f"the run is {self.name}")).chain


@dataclass(frozen=True, slots=True)
class Deciding(Stage):
    """The model is to be asked, after `wait` seconds."""

    attempt: int = 0
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Validating(Stage):
    """The model wants these calls; nobody has looked at them yet."""

    calls: tuple[ToolCall, ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Batch(Stage):
    """Valid calls of one turn, and what is already known about the others."""

    batch: tuple[Prepared, ...] = ()
    results: tuple[Observation, ...] = ()


@dataclass(frozen=True, slots=True)
class Authorising(Batch):
    """The calls are valid: may this identity do them?"""


@dataclass(frozen=True, slots=True)
class Waiting(Batch):
    """A person must say yes: `asks` gives the reason by call id."""

    asks: dict[str, str] = field(default_factory=dict, hash=False)
    reason = "approval_needed"


@dataclass(frozen=True, slots=True)
class Executing(Batch):
    """The calls are allowed and on their way."""


@dataclass(frozen=True, slots=True)
class Reconciling(Batch):
    """A write may or may not have happened: ask, never repeat."""


@dataclass(frozen=True, slots=True)
class Observing(Stage):
    """Every call of the turn has a result: what does it mean for the run?"""

    results: tuple[Observation, ...] = ()


@dataclass(frozen=True, slots=True)
class Done(Stage):
    """The model has spoken."""

    answer: str = ""
    reason: str = "answered"
    final = True


@dataclass(frozen=True, slots=True)
class Stopped(Stage):
    """No answer: `reason` is one word, `message` says what happened, `held` is what is not settled yet."""

    reason: str = ""
    message: str = ""
    held: Reconciling | None = None
    final = True


State = Deciding | Validating | Authorising | Waiting | Executing | Reconciling | Observing | Done | Stopped


class Event(NamedTuple):
    """What came of a state: `name` picks the arrow, the rest is what the next state needs."""

    name: str
    reason: str = ""
    message: str = ""
    reply: Reply | None = None
    money: Decimal = Decimal(0)
    wait: float = 0.0
    batch: tuple[Prepared, ...] = ()
    results: tuple[Observation, ...] = ()
    approvals: tuple[Approval, ...] = ()
    asks: dict[str, str] | None = None


_ARROWS = """
Deciding     answered>Done called>Validating throttled>Deciding cut>Stopped failed>Stopped spent>Stopped
Validating   valid>Authorising invalid>Observing
Authorising  allowed>Executing denied>Observing asked>Waiting
Waiting      approved>Authorising rejected>Authorising
Executing    executed>Observing lost>Reconciling
Reconciling  settled>Observing unsettled>Stopped
Observing    succeeded>Deciding correctable>Deciding exhausted>Stopped refused>Deciding halted>Stopped
Stopped      resumed>Deciding reopened>Reconciling
"""
CANCELLABLE = Deciding | Validating | Authorising | Waiting | Executing
TRANSITIONS = {
    (row.split()[0], event): target
    for row in _ARROWS.strip().splitlines()
    for event, target in (arrow.split(">") for arrow in row.split()[1:])
} | {(state.__name__, "cancelled"): "Stopped" for state in CANCELLABLE.__args__}


def step(state: State, event: Event) -> State:
    """The next state, or `CallerError`; what has happened is written down before a run can be cancelled.

    >>> step(Deciding(Run("r", ())), Event("throttled", wait=2.0)).attempt
    1
    """
    run, results = state.run, state.results + event.results
    match state, event.name:
        case Deciding(), "answered":
            return Done(said(run, event), event.message, event.reason)
        case Deciding(), "called":
            return Validating(said(run, event), event.reply.message.calls, event.reason == "truncated")
        case Deciding(), "throttled":
            return Deciding(run, state.attempt + 1, event.wait)
        case Deciding(), "cut":
            return Stopped(said(run, event), event.reason, event.message)
        case Validating(), "valid":
            return Authorising(run, event.batch, results)
        case Authorising(), "asked":
            return Waiting(run, state.batch, state.results, event.asks)
        case Authorising(), "allowed":
            return Executing(run, event.batch, results)
        case Waiting(), "approved" | "rejected":
            return Authorising(replace(run, approvals=run.approvals + event.approvals), event.batch, results)
        case Executing(), "lost":
            return Reconciling(run, state.batch, results)
        case (Validating(), "invalid") | (Authorising(), "denied") | (Executing(), "executed"):
            return Observing(run, results)
        case Reconciling(), "settled":
            return Observing(run, event.results)
        case Observing(), "succeeded" | "correctable" | "refused":
            return Deciding(told(run, results, after=event.name))
        case Stopped(), "resumed":
            return Deciding(replace(run, corrections=0, closing=False))
        case Stopped(), "reopened":
            return state.held
        case Reconciling(), "unsettled":
            return replace(stopped(state, event), held=replace(state, results=event.results))
        case (Deciding(), "failed" | "spent") | (Observing(), "exhausted" | "halted"):
            return stopped(state, event)
        case Deciding() | Validating() | Authorising() | Waiting() | Executing(), "cancelled":
            return stopped(state, event)
    raise CallerError(f"{state.name} has no arrow {event.name!r}", hint="TRANSITIONS lists them.")


def stopped(state: State, event: Event) -> Stopped:
    """The end of a run, every open call answered: by its result, or by why it was not carried out."""
    run = told(state.run, event.results or state.results, note(event.reason, event.message))
    return Stopped(run, event.reason, event.message)


def said(run: Run, event: Event) -> Run:
    """The run with the model's message in it; arguments that are no JSON stand as `{}` (P02)."""
    message, usage = event.reply.message, run.usage + event.reply.usage
    if (calls := tuple(map(mended, message.calls))) != message.calls:
        message = replace(message, calls=calls)
    chain, money = (*run.chain, message), run.money + event.money
    return replace(run, chain=chain, usage=usage, money=money, steps=run.steps + 1)


def mended(call: ToolCall) -> ToolCall:
    try:
        json.loads(call.arguments)
    except (ValueError, RecursionError):
        return replace(call, arguments="{}")
    return call


def told(run: Run, results: tuple[Observation, ...], otherwise: str = "", after: str = "") -> Run:
    """The run with one tool message for every open call, in the order of the calls (H01)."""
    contents = {result.call.id: result.content for result in results}
    answers = [tool(call.id, contents.get(call.id, otherwise)) for call in unanswered(run.chain)]
    return replace(
        run,
        chain=(*run.chain, *answers),
        observations=run.observations + results,
        corrections=run.corrections + 1 if after == "correctable" else 0,
        closing=after == "refused",
    )


def note(reason: str, message: str) -> str:
    """What a call is answered with that was not carried out."""
    said = {"status": "error", "error_type": reason, "message": message, "retryable_by_model": False}
    return json.dumps(said, ensure_ascii=False)
