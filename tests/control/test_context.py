"""Layers in a stable order; examples as chains or a block; trimming that keeps a call with its results."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.control.context import Context, Example, layers, trim
from labkit.protocol import chat
from labkit.protocol.errors import BadChain
from labkit.protocol.families import family
from labkit.protocol.messages import ToolCall, assistant, check_chain, system, tool, user
from labkit.protocol.tokens import count_request
from labkit.service.checks import CheckContext, check_chat
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

MODEL = family("gpt-4.1-mini")
TOOLS = shop_tools(Shop()).chat()
EXAMPLES = (
    Example("帮我查订单 10001", "get_order", '{"order_id":"10001"}', '{"state":"shipped"}', "已发货。"),
    Example("讲个笑话", answer="我只处理订单问题。"),
)
CONTEXT = Context("你是订单助手。", EXAMPLES)
CALL = ToolCall("c1", "get_order", '{"order_id":"10001"}')
H03 = [
    system("s"),
    user("查订单 10001"),
    assistant(calls=[CALL]),
    tool("c1", "{}"),
    assistant("已发货"),
    user("谢谢"),
]


def accepted(messages, tools=TOOLS):
    wire = [chat.to_wire(message) for message in messages]
    return check_chat({"model": MODEL.name, "messages": wire, "tools": tools}, CheckContext()) is None


def test_examples_as_a_chain_are_real_messages_that_the_api_accepts():  # covers: L4
    roles = [message.role for message in CONTEXT.prefix()]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user", "assistant"]
    assert accepted(CONTEXT.messages([user("查订单 20002")], "用户已登录"))


def test_examples_as_a_block_stand_in_the_rules():
    [rules] = Context("你是订单助手。", EXAMPLES, "block").prefix()
    assert rules.content.splitlines()[1:] == [
        '帮我查订单 10001 -> get_order {"order_id":"10001"}',
        "讲个笑话 -> none",
    ]


def test_layers_come_in_the_order_in_which_the_model_reads_them_and_add_up():  # covers: 2.0
    history = [user("查订单 20002")]
    parts = layers(CONTEXT, TOOLS, history, MODEL, state="用户已登录")
    assert list(parts) == ["tools", "rules", "examples", "history", "state"]
    body = {"messages": [chat.to_wire(m) for m in CONTEXT.messages(history, "用户已登录")], "tools": TOOLS}
    assert abs(sum(parts.values()) - count_request(body, MODEL).total) <= 7


def test_what_changes_with_each_request_stands_behind_what_never_does():
    one = CONTEXT.messages([user("a")], state="1")
    other = CONTEXT.messages([user("b")], state="2")
    same = sum(x == y for x, y in zip(one, other, strict=True))
    assert same == len(CONTEXT.prefix())


@pytest.mark.parametrize(
    "changed",
    [
        (Context("你是订单助手!", EXAMPLES), TOOLS),
        (Context("你是订单助手。", EXAMPLES[::-1]), TOOLS),
        (Context("你是订单助手。", EXAMPLES, "block"), TOOLS),
        (CONTEXT, TOOLS[::-1]),
        (CONTEXT, TOOLS[1:]),
    ],
)
def test_the_fingerprint_changes_with_anything_in_the_prefix(changed):  # covers: 2.3
    context, tools = changed
    assert context.fingerprint(tools) != CONTEXT.fingerprint(TOOLS)


def test_the_fingerprint_is_the_same_for_the_same_prefix():
    again = Context("你是订单助手。", EXAMPLES, version="of no matter to the cache")
    assert again.fingerprint(list(TOOLS)) == CONTEXT.fingerprint(TOOLS)


def test_a_call_and_its_result_stay_or_go_together():
    """H03: keep both or drop both, never more than the budget, the system message kept."""
    assert [message.role for message in trim(H03, 3)] == ["system", "assistant", "user"]
    assert trim(H03, 5) == (H03[0], *H03[2:])
    assert [message.role for message in trim(H03, 4)] == ["system", "assistant", "user"]
    assert trim(H03, 6) == tuple(H03)


def test_the_naive_window_of_the_bug_report_is_refused_and_ours_is_not():
    naive = [H03[0], *H03[-3:]]
    assert not accepted(naive) and accepted(trim(H03, 4))


def test_what_must_stay_may_be_too_much():
    with pytest.raises(BadChain, match="larger than 1"):
        trim(H03, 1)


def test_the_first_messages_can_be_kept_as_the_stable_prefix():
    chain = CONTEXT.messages(H03[1:])
    kept = len(CONTEXT.prefix())
    assert trim(chain, kept + 2, keep=kept)[:kept] == CONTEXT.prefix()


def test_size_may_be_tokens():
    def tokens(messages):
        return count_request({"messages": [chat.to_wire(message) for message in messages]}, MODEL).total

    trimmed = trim(H03, tokens(H03) - 1, tokens)
    assert tokens(trimmed) < tokens(H03) and accepted(trimmed)


def random_chain(rng, turns):
    chain = [system("s")] if rng.random() < 0.7 else []
    for turn in range(turns):
        chain.append(user(f"u{turn}"))
        for step in range(rng.randrange(3)):
            calls = [ToolCall(f"c{turn}_{step}_{n}", "get_order", "{}") for n in range(rng.randrange(1, 3))]
            chain += [assistant(calls=calls), *(tool(call.id, "{}") for call in calls)]
        if rng.random() < 0.8:
            chain.append(assistant(f"done {turn}"))
    return chain


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 30))
def test_any_valid_chain_stays_valid_within_its_limit_and_keeps_the_last_request(seed, turns, limit):
    chain = random_chain(random.Random(seed), turns)
    try:
        trimmed = trim(chain, limit)
    except BadChain:
        return
    check_chain(trimmed)
    assert len(trimmed) <= limit
    assert [m for m in trimmed if m.role == "user"][-1] == [m for m in chain if m.role == "user"][-1]
    assert [m for m in chain if m in trimmed] == list(trimmed)
