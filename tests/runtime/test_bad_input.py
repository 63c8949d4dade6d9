"""Rubbish at every door: a clear outcome each time, nothing hangs, nothing is lost."""

import asyncio
import json
import math
from typing import Annotated, Any

import pytest
from pydantic import Field

from labkit.connect import connect
from labkit.execution.executor import Executor, Retry
from labkit.execution.ledger import Answer, Ledger
from labkit.execution.permission import Allow
from labkit.protocol.errors import BadChain, BadFile, BadSetup
from labkit.protocol.messages import ToolCall, assistant, check_chain, tool, user
from labkit.protocol.tools import CallContext, Toolbox, make_tool
from labkit.runtime import Agent, Budget, advance, arun, begin, dump, load, run, stream
from labkit.runtime.drive import pause
from labkit.service.brains.scripted import call, script
from labkit.service.decide import Decision

Text = Annotated[str, Field(description="文本")]


def agent_with(function, *, effect="read", asynchronous=False, ask=None, arguments=None, **options) -> Agent:
    """An agent whose model calls this tool once and then answers."""
    key = (lambda a: f"{function.__name__}:1") if effect == "write" else None
    made = make_tool(
        function, effect=effect, use_when="需要时", not_when="不需要时", operation=key, strict=False
    )
    toolbox = Toolbox([made])
    wanted = ToolCall("", function.__name__, arguments if arguments is not None else '{"text":"x"}')
    client = connect("script", script(Decision(calls=(wanted,)), "好", "好"), asynchronous=asynchronous)
    hands = Executor(toolbox, ledger=Ledger(owner="w"), ask=ask, sleep=lambda seconds: None)
    return Agent(client, "gpt-4.1-mini", toolbox, hands, lambda request: Allow(), **options)


def outcome(end) -> tuple[str, str]:
    check_chain(end.chain)
    result = end.observations[0]
    return end.reason, result.error.kind if result.error else result.status


RAISED = [
    ValueError("x"),
    SystemExit(1),
    GeneratorExit(),
    RecursionError(),
    MemoryError(),
    StopIteration(),
    asyncio.CancelledError(),
    BaseException("anything"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_tool_that_raises_anything_ends_in_an_answer(error, asynchronous):
    def get_text(text: Text) -> str:
        """读取文本。"""
        raise error

    agent = agent_with(get_text, asynchronous=asynchronous)
    end = asyncio.run(arun(agent, "?")) if asynchronous else run(agent, "?")
    assert outcome(end) == ("answered", "tool_execution_error")


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_a_write_that_raises_anything_is_asked_about_before_it_may_be_repeated(error):
    calls = []

    def set_text(text: Text, *, context: CallContext) -> str:
        """写入文本。"""
        calls.append(context.operation_id)
        raise error

    agent = agent_with(set_text, effect="write", ask=lambda operation: Answer("happened", "done"))
    assert outcome(run(agent, "?")) == ("answered", "success")
    assert calls == ["set_text:1"]


def test_ctrl_c_in_a_tool_leaves_a_state_from_which_the_run_goes_on():
    calls, saved = [], []

    def set_text(text: Text, *, context: CallContext) -> str:
        """写入文本。"""
        calls.append(context.operation_id)
        raise KeyboardInterrupt

    agent = agent_with(
        set_text,
        effect="write",
        ask=lambda operation: Answer("happened", "done"),
        on_step=lambda before, after, seconds: saved.append(dump(after)),
    )
    with pytest.raises(KeyboardInterrupt):
        run(agent, "?")
    end = run(agent, load(saved[-1], agent.toolbox))
    assert outcome(end) == ("answered", "success")
    assert calls == ["set_text:1"]


class Odd:
    """Something that has no JSON form."""


def circle() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


@pytest.mark.parametrize(
    "value",
    [Odd(), circle(), lambda: 1, (number for number in range(3))],
    ids=["object", "circle", "function", "generator"],
)
def test_a_result_that_cannot_be_serialised_is_a_tool_error(value):
    def get_text(text: Text) -> Any:
        """读取文本。"""
        return value

    assert outcome(run(agent_with(get_text), "?")) == ("answered", "tool_execution_error")


def test_a_write_whose_result_cannot_be_serialised_has_happened_all_the_same():
    def set_text(text: Text, *, context: CallContext) -> Any:
        """写入文本。"""
        return Odd()

    assert outcome(run(agent_with(set_text, effect="write"), "?")) == ("answered", "success")


def test_a_result_of_ten_megabytes_is_cut_and_says_so():  # covers: B4.3c
    def get_text(text: Text) -> str:
        """读取文本。"""
        return "晴" * 10_000_000

    end = run(agent_with(get_text), "?")
    content = json.loads(end.chain[-2].content)
    assert len(end.chain[-2].content) <= 2000
    assert "10000" in content["notice"]


def test_arguments_of_a_megabyte_are_read():
    def get_text(text: Text) -> int:
        """读取文本。"""
        return len(text)

    end = run(agent_with(get_text, arguments=json.dumps({"text": "晴" * 1_000_000})), "?")
    assert end.observations[0].value == 1_000_000


@pytest.mark.parametrize(
    "text", ["[" * 10_000, "[" * 10_000 + "]" * 10_000, '{"text":' * 10_000 + "1" + "}" * 10_000]
)
def test_arguments_nested_ten_thousand_deep_are_the_models_mistake(text):
    def get_text(text: Text) -> str:
        """读取文本。"""
        return text

    end = run(agent_with(get_text, arguments=text), "?")
    assert outcome(end) == ("answered", "validation_error")


def test_a_tool_that_hangs_is_left_behind_and_counted():  # covers: B4.3a
    def get_text(text: Text) -> str:
        """读取文本。"""
        import threading

        threading.Event().wait(2)
        return text

    agent = agent_with(get_text)
    object.__setattr__(agent.toolbox["get_text"], "timeout", 0.05)
    assert outcome(run(agent, "?")) == ("answered", "transient_error")
    assert agent.executor.abandoned == 1


def get_nothing(text: Text) -> str:
    """什么都不做。"""
    return text


@pytest.mark.parametrize(
    "chain",
    [
        [user("?"), assistant(calls=[ToolCall("c1", "f", "{}")])],
        [tool("c1", "{}")],
        [user("?"), assistant(calls=[ToolCall("c1", "f", "{}")]), user("??")],
    ],
)
def test_a_history_that_the_api_would_refuse_is_refused_before_it_is_sent(chain):  # covers: B6.2
    with pytest.raises(BadChain, match="c1"):
        run(agent_with(get_nothing), chain)


def test_an_asynchronous_client_in_run_is_a_clear_error():
    with pytest.raises(BadSetup, match="arun"):
        run(agent_with(get_nothing, asynchronous=True), "?")
    with pytest.raises(BadSetup, match="arun"):
        list(stream(agent_with(get_nothing, asynchronous=True), "?"))


def test_a_synchronous_client_in_arun_is_a_clear_error():
    with pytest.raises(BadSetup, match="AsyncOpenAI"):
        asyncio.run(arun(agent_with(get_nothing), "?"))


def test_a_model_without_tools_on_this_wire_is_a_matter_of_setup():
    agent = agent_with(get_nothing)
    with pytest.raises(BadSetup, match="Responses"):
        run(Agent(agent.client, "gpt-6.2-sol", agent.toolbox, agent.executor, agent.policy), "?")


def test_a_budget_in_money_needs_a_price():
    with pytest.raises(BadSetup, match="price"):
        Budget(money=1)
    agent = agent_with(get_nothing, budget=Budget(money=1, price=lambda usage: None))
    with pytest.raises(BadSetup, match="has no price"):
        run(agent, "?")


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "{}", '{"state":"Run"}', '{"state":"Done"}', '{"state":"Nowhere","run":{}}', "{" * 9],
)
def test_what_is_no_saved_state_is_refused(text):
    with pytest.raises(BadFile, match="saved state"):
        load(text, Toolbox([]))


def test_a_step_from_the_end_is_a_clear_error():
    agent = agent_with(get_nothing)
    end = run(agent, "?")
    assert run(agent, end) is end
    with pytest.raises(Exception, match="Done"):
        advance(agent, end)


def test_a_saved_run_whose_tool_is_gone_says_which():
    agent = agent_with(get_nothing)
    state = begin(agent, "?")
    while state.name != "Executing":
        state = advance(agent, state)
    with pytest.raises(Exception, match="get_nothing"):
        load(dump(state), Toolbox([]))


@pytest.mark.parametrize("said", ["nan", "-1", "soon", "", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_retry_after_that_makes_no_sense_is_not_obeyed(said):
    wait = pause({"retry-after": said}, 1, 0.0)
    assert wait == 1.0
    assert not math.isnan(wait)


def test_the_retry_of_the_executor_is_the_callers_decision():
    with pytest.raises(TypeError):
        Retry()


def test_a_call_of_nothing_is_an_unknown_tool():
    agent = agent_with(get_nothing)
    client = connect("script", script(call("get_nothing", text="x"), "好"))
    end = run(Agent(client, "gpt-4.1-mini", agent.toolbox, agent.executor, agent.policy), "?")
    assert outcome(end) == ("answered", "success")
