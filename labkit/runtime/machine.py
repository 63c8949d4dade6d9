"""What a state comes to, where that can be worked out here; the model and the tools are asked elsewhere.

With `step` this is the whole machine; sync, async and streamed runs differ only in how they ask.
"""

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from secrets import token_hex
from typing import Any, Literal

from labkit.control.choice import Choice, Parameters, allowed, auto, check_calls, none, parameters
from labkit.execution.executor import Executor, prepare
from labkit.execution.outcome import Observation, Prepared, error_result
from labkit.execution.permission import PermissionRequest, Policy, authorise
from labkit.protocol import chat, errors, responses
from labkit.protocol.families import family, vendor
from labkit.protocol.messages import Message, Reply, ToolCall, Usage
from labkit.protocol.tools import Toolbox
from labkit.runtime.states import Authorising, Batch, Deciding, Event, Observing, Run, State, Validating

FORMS = {"chat": chat, "responses": responses}
CUT, LIMITS = ("length", "max_output_tokens"), ("max_completion_tokens", "max_tokens", "max_output_tokens")


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend before the model is asked no more; `price` gives the money of one reply.

    `seconds` are those in which the run worked or waited for a provider, not those it waited for a person.
    """

    tokens: int | None = None
    seconds: float | None = None
    money: Any = None
    price: Callable[[Usage], Any] | None = None

    def __post_init__(self) -> None:
        if self.money is not None and self.price is None:
            raise errors.BadSetup("a budget in money needs a price", hint="Pass price=, money for a Usage.")


@dataclass(frozen=True, slots=True)
class Agent:
    """What stays the same from run to run; `max_corrections` are in a row, `max_calls` in one turn.

    `candidates` narrows the tools of a turn, `context` assembles its messages. After an error that no model
    can correct (`on_refusal`), it may only speak ("answer") or may "continue", or the run ends ("stop").
    """

    client: Any
    model: str
    toolbox: Toolbox
    executor: Executor
    policy: Policy
    _: KW_ONLY
    system: str = ""
    wire: Literal["chat", "responses"] = "chat"
    vendor: str = "openai"
    choice: Choice = field(default_factory=auto)
    parallel: bool | None = None
    candidates: Callable[[Run], Iterable[str]] | None = None
    context: Callable[[tuple[Message, ...]], Sequence[Message]] = tuple
    options: Mapping[str, Any] = field(default_factory=dict)
    lenient: bool = False
    max_steps: int = 6
    max_corrections: int = 1
    max_calls: int = 4
    on_refusal: Literal["answer", "continue", "stop"] = "answer"
    budget: Budget = field(default_factory=Budget)
    on_step: Callable[[State, State, float], Any] | None = None
    door: Callable[..., Any] | None = None
    clock: Callable[[], float] = time.perf_counter
    sleep: Callable[[float], Any] = time.sleep
    asleep: Callable[[float], Any] = asyncio.sleep
    random: Callable[[], float] = random.random
    new_id: Callable[[], str] = lambda: token_hex(16)
    offers: dict[Choice, Parameters] = field(default_factory=dict, init=False, repr=False)


def plan(agent: Agent, state: State) -> Event | None:
    """What a state comes to; nothing when a model or a tool must be asked first."""
    match state:
        case Deciding(run):
            return overspent(agent, run)
        case Validating():
            return validate(agent, state)
        case Authorising():
            return permit(agent, state)
        case Observing():
            return judge(agent, state)
    return None


def overspent(agent: Agent, run: Run) -> Event | None:
    budget = agent.budget
    for reason, what, spent, limit in (
        ("max_steps", "model calls", run.steps, agent.max_steps),
        ("over_budget", "tokens", run.usage.total, budget.tokens),
        ("over_budget", "seconds", run.seconds, budget.seconds),
        ("over_budget", "money", run.money, budget.money),
    ):
        if limit is not None and spent >= limit:
            return Event("spent", reason, f"{what}: {spent} spent, {limit} allowed")
    return None


def compose(agent: Agent, run: Run, *, stream: bool = False) -> dict[str, Any]:
    """The request of one turn: its messages, its candidate tools and its choice, in the agent's wire form."""
    choice = choice_now(agent, run)
    if choice not in agent.offers:
        who, what = vendor(agent.vendor), family(agent.model)
        agent.offers[choice] = parameters(
            choice, agent.toolbox, wire=agent.wire, vendor=who, family=what, parallel=agent.parallel
        )
    rest = {**agent.options, **agent.offers[choice]}
    return FORMS[agent.wire].request(agent.model, agent.context(run.chain), rest, stream=stream)


def choice_now(agent: Agent, run: Run) -> Choice:
    """The choice of this turn: nothing is forced after a tool turn (L01), nothing called after a refusal."""
    if run.closing:
        return none()
    if agent.candidates:
        return allowed(agent.candidates(run))
    if run.observations and agent.choice.mode == "required":
        return Choice("auto", None if agent.choice.single else agent.choice.names)
    return agent.choice


def replied(agent: Agent, run: Run, reply: Reply) -> Event:
    """What a reply means: calls count, whatever the finish reason says (L03)."""
    message, cut, money = reply.message, reply.finish in CUT, cost(agent, reply.usage)
    if message.calls and run.closing:
        mute = replace(reply, message=replace(message, calls=(), extra={}))
        return Event("cut", "refused", "it went on calling tools after a refusal", mute, money)
    if message.calls:
        return Event("called", "truncated" if cut or at_limit(agent, reply) else "", "", reply, money)
    if cut:
        return Event("cut", "truncated", "the output limit cut the answer off", reply, money)
    if reply.finish == "content_filter":
        return Event("cut", "content_filter", "the provider withheld the answer", reply, money)
    if message.refusal is not None:
        return Event("answered", "refused", message.refusal, reply, money)
    return Event("answered", "answered", message.content, reply, money)


def cost(agent: Agent, usage: Usage) -> Decimal:
    paid = agent.budget.price(usage) if agent.budget.price else 0
    if paid is None:
        raise errors.BadSetup(
            f"{agent.model} has no price", hint="Give the budget one, or no limit in money."
        )
    return Decimal(str(paid))


def at_limit(agent: Agent, reply: Reply) -> bool:
    """Whether the output limit was reached: some gateways say so nowhere else (P02)."""
    return any(reply.usage.output >= agent.options[name] for name in LIMITS if agent.options.get(name))


def validate(agent: Agent, state: Validating) -> Event:
    """Read every call of the turn; what the model did wrong becomes the result of the call."""
    choice, batch, results = choice_now(agent, state.run), [], []
    how = {"run_id": state.run.id, "lenient": agent.lenient, "truncated": state.truncated}
    offered = () if choice.mode == "none" else choice.names
    for call in state.calls:
        try:
            check_calls(state.calls, agent.max_calls)
            batch.append(prepare(call, agent.toolbox, offered=offered, **how))
        except errors.ModelError as error:
            results.append(failure(call, error))
    return Event("valid" if batch else "invalid", batch=tuple(batch), results=tuple(results))


def failure(call: ToolCall, error: errors.LabError) -> Observation:
    """The result of a call that was not carried out."""
    return Observation(call, call.name, "error", error_result(error), error)


def permit(agent: Agent, state: Authorising) -> Event:
    """Authorise every call; while one waits for a person, none of the turn is carried out."""
    batch, results, asks = [], [], {}
    for item in state.batch:
        try:
            authorise(request_of(state.run, item), agent.policy, state.run.approvals)
            batch.append(item)
        except errors.PermissionDenied as error:
            results.append(failure(item.call, error))
        except errors.ApprovalNeeded as error:
            asks[item.call.id] = str(error)
    name = "asked" if asks else "allowed" if batch else "denied"
    return Event(name, batch=tuple(batch), results=tuple(results), asks=asks)


def request_of(run: Run, item: Prepared) -> PermissionRequest:
    arguments, key = item.arguments, item.operation_id
    return PermissionRequest(run.identity, item.tool, arguments, key, run.chain, run.observations)


def is_unknown(result: Observation) -> bool:
    return isinstance(result.error, errors.OutcomeUnknown)


def unknown(state: Batch) -> tuple[Prepared, ...]:
    lost = {result.call.id for result in state.results if is_unknown(result)}
    return tuple(item for item in state.batch if item.call.id in lost)


def executed(results: Sequence[Observation]) -> Event:
    return Event("lost" if any(map(is_unknown, results)) else "executed", results=tuple(results))


def reconciled(state: Batch, found: Sequence[Observation]) -> Event:
    """The results, with what asking has settled; while one is unknown, nobody goes on as if it were not."""
    settled = {result.call.id: result for result in found}
    results = tuple(settled.get(result.call.id, result) for result in state.results)
    for result in filter(is_unknown, results):
        return Event("unsettled", "pending_reconciliation", str(result.error), results=results)
    return Event("settled", results=results)


def judge(agent: Agent, state: Observing) -> Event:
    """Who can act on the errors of a turn, and that alone, decides what comes next (S1 §4.2)."""
    faults = [result.error for result in state.results if result.error]
    correctable = [error for error in faults if error.who == "model"]
    others = [error for error in faults if error.who != "model"]
    if others and agent.on_refusal != "continue":
        name = "refused" if agent.on_refusal == "answer" else "halted"
        return Event(name, "refused", str(others[0]))
    if not correctable:
        return Event("succeeded")
    if state.run.corrections >= agent.max_corrections:
        return Event("exhausted", "corrections_exhausted", str(correctable[0]))
    return Event("correctable")
