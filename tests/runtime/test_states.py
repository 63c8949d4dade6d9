"""The transition table: what every event does in every state; no state and no arrow is for nothing."""

from dataclasses import FrozenInstanceError
from itertools import product

import pytest

from labkit.execution.outcome import Observation
from labkit.protocol.errors import CallerError
from labkit.protocol.messages import Reply, ToolCall, assistant, check_chain, tool, unanswered, user
from labkit.runtime import TRANSITIONS, Event, states, step
from labkit.runtime.states import CANCELLABLE, Run, Stage, State

CALL = ToolCall("c1", "get_order", '{"order_id":"10001"}')
ASKED = Run("r", (user("查订单 10001"),))
CALLED = Run("r", (user("查订单 10001"), assistant(calls=[CALL])))
SEEN = (Observation(CALL, "get_order", "success", '{"status":"success"}'),)
EVENTS = sorted({event for _, event in TRANSITIONS})
KINDS = {kind.__name__: kind for kind in State.__args__}


def a_state(name: str) -> State:
    """A state as a run would reach it: those from `Validating` to `Observing` have a call that is open."""
    if name in ("Deciding", "Done", "Stopped"):
        return KINDS[name](ASKED)
    if name == "Validating":
        return states.Validating(CALLED, (CALL,))
    return states.Observing(CALLED, SEEN) if name == "Observing" else KINDS[name](CALLED)


def an_end(name: str, event: str) -> State:
    """`Stopped` holds what was not settled, where something is to be reopened."""
    held = states.Reconciling(CALLED) if event == "reopened" else None
    return states.Stopped(ASKED, "why", held=held) if name == "Stopped" else a_state(name)


def an_event(name: str) -> Event:
    reply = Reply(assistant(calls=[CALL]) if name == "called" else assistant("已发货"))
    return Event(name, "why", "text", reply, results=() if name == "answered" else SEEN)


@pytest.mark.parametrize(("name", "event"), list(product(sorted(KINDS), EVENTS)))
def test_every_event_in_every_state_does_what_the_table_says(name, event):
    """Every state × every event: an arrow of the table is taken, any other is a clear error."""
    target = TRANSITIONS.get((name, event))
    if target is None:
        with pytest.raises(CallerError, match=f"{name} has no arrow"):
            step(a_state(name), an_event(event))
    else:
        assert step(an_end(name, event), an_event(event)).name == target


@pytest.mark.parametrize(("name", "event"), sorted(TRANSITIONS))
def test_every_arrow_leaves_a_history_that_the_api_accepts(name, event):
    check_chain(step(an_end(name, event), an_event(event)).chain)


def test_every_state_can_be_reached_and_every_run_can_end():
    reached = {"Deciding"}
    for _ in KINDS:
        reached |= {target for (name, _), target in TRANSITIONS.items() if name in reached}
    ends = {"Done", "Stopped", "Waiting"}
    for _ in KINDS:
        ends |= {name for (name, _), target in TRANSITIONS.items() if target in ends}
    assert reached == ends == set(KINDS)


def test_only_what_has_happened_already_cannot_be_cancelled():
    cancellable = {name for (name, event) in TRANSITIONS if event == "cancelled"}
    assert cancellable == {kind.__name__ for kind in CANCELLABLE.__args__}
    assert set(KINDS) - cancellable == {"Reconciling", "Observing", "Done", "Stopped"}


@pytest.mark.parametrize("name", sorted(KINDS))
def test_states_are_small_frozen_values(name):
    state = a_state(name)
    assert not hasattr(state, "__dict__")
    assert isinstance(state, Stage)
    with pytest.raises(FrozenInstanceError):
        state.run = ASKED


def test_corrections_are_counted_in_a_row_and_forgotten_after_success():
    state = states.Observing(CALLED, SEEN)
    corrected = step(state, Event("correctable"))
    assert corrected.run.corrections == 1
    again = states.Observing(step(corrected, an_event("called")).run, SEEN)
    assert step(again, Event("succeeded")).run.corrections == 0


def test_results_stand_in_the_order_of_the_calls():
    """H01: one tool message for each call, in order, whatever order the results came in."""
    calls = [ToolCall(id, "get_weather", "{}") for id in ("c:0", "c:1")]
    seen = [Observation(call, "get_weather", "success", call.id) for call in reversed(calls)]
    state = states.Observing(Run("r", (user("?"), assistant(calls=calls))), tuple(seen))
    assert [m.call_id for m in step(state, Event("succeeded")).run.chain[2:]] == ["c:0", "c:1"]


def test_results_are_paired_within_the_turn_even_when_ids_come_back():
    """H09: the ids of some vendors are only unique inside one turn."""
    state = states.Observing(CALLED, SEEN)
    second = step(step(state, Event("succeeded")), an_event("called"))
    assert [call.id for call in second.calls] == ["c1"]
    assert len(step(states.Observing(second.run, SEEN), Event("succeeded")).run.chain) == 5


def test_arguments_that_are_not_json_are_not_replayed_as_if_they_were():
    """P02"""
    broken = ToolCall("c1", "create_ticket", '{"title":"退货","body":"客户反映')
    state = step(states.Deciding(ASKED), Event("called", "truncated", reply=Reply(assistant(calls=[broken]))))
    assert state.calls == (broken,)
    assert state.run.chain[-1].calls[0].arguments == "{}"
    assert state.truncated


def test_a_call_stays_open_until_its_own_answer_comes():
    chain = [user("?"), assistant(calls=[CALL, ToolCall("c2", "get_order", "{}")]), tool("c1", "{}")]
    assert [call.id for call in unanswered(chain)] == ["c2"]
    assert unanswered([*chain, tool("c2", "{}")]) == ()
