"""Random chains, valid by construction, are accepted; with one rule broken, exactly that rule speaks."""

import copy

from hypothesis import given
from hypothesis import strategies as st

from labkit.service.checks import CheckContext, check_chat, check_responses

STRICT = CheckContext()
NAMES = st.text("abcxyzABC019_-", min_size=1, max_size=64)
TEXTS = st.one_of(
    st.text(max_size=20), st.lists(st.builds(lambda t: {"type": "text", "text": t}, st.text(max_size=9)))
)


@st.composite
def blocks(draw):
    """Some user turns; some answered by calls, each answered once, in any order."""
    messages, number = [], 0
    if draw(st.booleans()):
        messages.append({"role": draw(st.sampled_from(["system", "developer"])), "content": draw(TEXTS)})
    for _ in range(draw(st.integers(1, 3))):
        messages.append({"role": "user", "content": draw(TEXTS)})
        for _ in range(draw(st.integers(0, 2))):
            ids = [f"call_{number + offset}" for offset in range(draw(st.integers(1, 3)))]
            number += len(ids)
            messages.append(_asking(draw, ids))
            messages += [_tool(draw, call_id) for call_id in draw(st.permutations(ids))]
        if draw(st.booleans()):
            messages.append({"role": "assistant", "content": draw(TEXTS)})
    return messages


def _asking(draw, ids):
    calls = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": draw(NAMES), "arguments": draw(st.text(max_size=9))},
        }
        for call_id in ids
    ]
    content = draw(st.sampled_from([{}, {"content": None}, {"content": ""}, {"content": "Let me look."}]))
    extra = draw(st.sampled_from([{}, {"refusal": None, "annotations": [], "audio": None}, {"parsed": None}]))
    return {"role": "assistant", "tool_calls": calls, **content, **extra}


def _tool(draw, call_id):
    return {"role": "tool", "tool_call_id": call_id, "content": draw(TEXTS)}


def refusal(messages):
    error = check_chat({"model": "gpt-4.1-mini", "messages": messages}, STRICT)
    return error and (error.param, error.code, error.message)


def places(messages, role):
    return [index for index, message in enumerate(messages) if message["role"] == role]


@given(blocks())
def test_a_valid_chain_is_accepted(messages):
    assert refusal(messages) is None


@given(blocks(), st.data())
def test_an_answer_left_out_is_missed(messages, data):
    answers = places(messages, "tool")
    if answers:
        gone = messages.pop(data.draw(st.sampled_from(answers)))["tool_call_id"]
        after = (
            next(i for i, m in enumerate(messages) if any(c["id"] == gone for c in m.get("tool_calls", ())))
            + 1
        )
        while after < len(messages) and messages[after]["role"] == "tool":
            after += 1
        param, code, message = refusal(messages)
        assert (param, code) == (f"messages.[{after}].role", None)
        assert message.endswith(f"did not have response messages: {gone}")


@given(blocks(), st.data())
def test_an_answer_given_twice_is_counted(messages, data):
    answers = places(messages, "tool")
    if answers:
        first = data.draw(st.sampled_from(answers))
        messages.insert(first + 1, copy.deepcopy(messages[first]))
        twice = f"'{messages[first]['tool_call_id']}', in messages[{first}] and messages[{first + 1}]."
        text = f"Invalid parameter: Duplicate value for 'tool_call_id' of {twice}"
        assert refusal(messages) == (f"messages.[{first + 1}].tool_call_id", None, text)


@given(blocks(), st.data())
def test_an_answer_to_nobody_is_named(messages, data):
    answers = places(messages, "tool")
    if answers:
        index = data.draw(st.sampled_from(answers))
        messages[index]["tool_call_id"] = "call_X"
        text = "Invalid parameter: 'tool_call_id' of 'call_X' not found in 'tool_calls' of previous message."
        assert refusal(messages) == (f"messages.[{index}].tool_call_id", None, text)


@given(blocks(), st.data())
def test_an_answer_without_an_id_is_named_first(messages, data):
    answers = places(messages, "tool")
    if answers:
        index = data.draw(st.sampled_from(answers))
        del messages[index]["tool_call_id"]
        text = "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'."
        assert refusal(messages) == (f"messages.[{index}].tool_call_id", None, text)


@given(blocks(), st.data())
def test_an_answer_after_a_user_message_is_an_orphan(messages, data):
    index = data.draw(st.sampled_from(places(messages, "user"))) + 1
    messages.insert(index, {"role": "tool", "tool_call_id": "call_0", "content": "x"})
    text = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
    assert refusal(messages) == (f"messages.[{index}].role", None, f"Invalid parameter: {text}")


@given(blocks(), st.data())
def test_content_may_be_null_only_beside_calls(messages, data):
    silent = [i for i, m in enumerate(messages) if "tool_calls" not in m and m["role"] != "developer"]
    index = data.draw(st.sampled_from(silent))
    messages[index]["content"] = None
    text = "Invalid value for 'content': expected a string, got null."
    assert refusal(messages) == (f"messages.[{index}].content", None, text)


@given(blocks(), st.data())
def test_content_is_no_object(messages, data):
    index = data.draw(st.integers(0, len(messages) - 1))
    messages[index]["content"] = {"temperature": 21}
    path = f"messages[{index}].content"
    text = (
        f"Invalid type for '{path}': expected one of a string or array of objects, but got an object instead."
    )
    assert refusal(messages) == (path, "invalid_type", text)


@given(blocks(), st.data())
def test_arguments_are_a_string(messages, data):
    asking = [i for i, m in enumerate(messages) if "tool_calls" in m]
    if asking:
        index = data.draw(st.sampled_from(asking))
        call = data.draw(st.integers(0, len(messages[index]["tool_calls"]) - 1))
        messages[index]["tool_calls"][call]["function"]["arguments"] = {"city": "Paris"}
        path = f"messages[{index}].tool_calls[{call}].function.arguments"
        text = f"Invalid type for '{path}': expected a string, but got an object instead."
        assert refusal(messages) == (path, "invalid_type", text)


KINDS = {"function_call": "function call", "custom_tool_call": "custom tool call"}


@st.composite
def items(draw):
    """Calls of both kinds and their outputs, each output somewhere after its call."""
    found, waiting = [{"role": "user", "content": draw(TEXTS.filter(lambda t: isinstance(t, str)))}], []
    for number in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(sorted(KINDS)))
        body = {"arguments": "{}"} if kind == "function_call" else {"input": "1 + 1"}
        found.append(
            {"type": kind, "call_id": f"call_{number}", "name": draw(NAMES), "id": f"fc_{number}", **body}
        )
        waiting.append(
            {"type": f"{kind}_output", "call_id": f"call_{number}", "output": draw(st.text(max_size=9))}
        )
        if draw(st.booleans()):
            found += draw(st.permutations(waiting))
            waiting = []
    return [*found, *draw(st.permutations(waiting))]


def answer(given_items):
    error = check_responses({"model": "gpt-4.1-mini", "input": given_items}, STRICT)
    return error and (error.param, error.code, error.message)


@given(items())
def test_valid_items_are_accepted(given_items):
    assert answer(given_items) is None


@given(items(), st.data())
def test_an_output_left_out_is_missed(given_items, data):
    outputs = [item for item in given_items if item.get("type", "").endswith("_output")]
    gone = data.draw(st.sampled_from(outputs))
    given_items.remove(gone)
    kind = KINDS[gone["type"].removesuffix("_output")]
    assert answer(given_items) == ("input", None, f"No tool output found for {kind} {gone['call_id']}.")


@given(items(), st.data())
def test_a_call_left_out_orphans_its_output(given_items, data):
    gone = data.draw(st.sampled_from([item for item in given_items if item.get("type") in KINDS]))
    given_items.remove(gone)
    words = f"No tool call found for {KINDS[gone['type']]} output with call_id {gone['call_id']}."
    assert answer(given_items) == ("input", None, words)


@given(items(), st.data())
def test_an_item_sent_twice_is_named(given_items, data):
    twice = data.draw(st.sampled_from([item for item in given_items if item.get("type") in KINDS]))
    words = (
        f"Duplicate item found with id {twice['id']}. Remove duplicate items from your input and try again."
    )
    assert answer([*given_items, twice]) == ("input", None, words)


@given(items(), st.data())
def test_a_key_of_the_sdk_only_is_named(given_items, data):
    index = data.draw(st.sampled_from([i for i, item in enumerate(given_items) if item.get("type") in KINDS]))
    given_items[index]["parsed_arguments"] = {}
    path = f"input[{index}].parsed_arguments"
    assert answer(given_items) == (path, "unknown_parameter", f"Unknown parameter: '{path}'.")


def test_a_message_sent_back_without_the_reasoning_before_it_is_refused_as_a_call_is():
    answer = {"type": "message", "id": "msg_1", "role": "assistant", "content": "21 degrees."}
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    context = CheckContext(stored_responses={"resp_1": [{"role": "user", "content": "?"}, thought, answer]})
    body = {"model": "gpt-5-mini", "input": [answer, {"role": "user", "content": "And tomorrow?"}]}
    error = check_responses(body, context)
    assert error.message == (
        "Item 'msg_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1'."
    )
    assert check_responses(body | {"input": [thought, *body["input"]]}, context) is None
