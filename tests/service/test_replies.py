"""Ends, limits, several choices, refusals, both wire forms, and the same bytes for the same seed."""

import json

import openai
import pytest
from pydantic import BaseModel

from labkit.protocol.messages import Usage
from labkit.service.api import Service
from labkit.service.brains.scripted import call, obedient, script
from labkit.service.decide import Decision
from labkit.service.replies import fragments
from tests.service.doors import ASKED, BODY, FLAT_GET_ORDER, GET_ORDER, chunks_of, client, post, say

LOOKUP = call("get_order", order_id="10001")
FORCED = {"type": "function", "function": {"name": "get_order"}}
RESPONSE = {"model": "gpt-5.4-mini", "input": "Where is order 10001?", "tools": [FLAT_GET_ORDER]}


def answers(decision, body=BODY, path="/v1/chat/completions"):
    return say(Service(lambda ask: decision), body, path)


@pytest.mark.parametrize(
    ("model", "choice", "finish"),
    [
        ("gpt-4.1-mini", "auto", "tool_calls"),
        ("gpt-4.1-mini", "required", "tool_calls"),
        ("gpt-4.1-mini", FORCED, "stop"),
        ("gpt-5-mini", FORCED, "tool_calls"),
    ],
)
def test_a_named_function_ends_with_stop_on_models_that_do_not_reason(model, choice, finish):
    body = {"model": model, "messages": ASKED, "tools": [GET_ORDER], "tool_choice": choice}
    assert answers(Decision(calls=(LOOKUP,)), body)["choices"][0]["finish_reason"] == finish


def test_text_is_cut_at_the_token_limit():
    choice = answers(Decision(text="one two three four five six"), {**BODY, "max_tokens": 3})
    assert choice["choices"][0]["message"]["content"] == "one two three"
    assert choice["choices"][0]["finish_reason"] == "length" and choice["usage"]["completion_tokens"] == 3


@pytest.mark.parametrize("stop", ["three", ["six", "three"]])
def test_text_ends_before_a_stop_sequence(stop):
    reply = answers(Decision(text="one two three four five six"), {**BODY, "stop": stop})
    assert reply["choices"][0]["message"]["content"] == "one two "
    assert reply["choices"][0]["finish_reason"] == "stop" and reply["usage"]["completion_tokens"] <= 3


def test_arguments_are_cut_at_the_token_limit_and_are_no_json_then():
    body = {**BODY, "tools": [GET_ORDER], "max_tokens": 12}
    choice = answers(Decision(calls=(LOOKUP,)), body)["choices"][0]
    arguments = choice["message"]["tool_calls"][0]["function"]["arguments"]
    assert choice["finish_reason"] == "length" and LOOKUP.arguments.startswith(arguments)
    with pytest.raises(ValueError):
        json.loads(arguments)


def test_the_sdk_parser_raises_on_a_cut_answer():
    ask_by = client(Service(lambda ask: Decision(text='{"a": 1, "b": 2, "c": 3}')))
    with pytest.raises(openai.LengthFinishReasonError):
        ask_by.chat.completions.parse(**BODY, max_tokens=4, response_format=Shipped)


class Shipped(BaseModel):
    state: str


def test_the_sdk_parses_a_response_format():  # covers: 3.x
    ask_by = client(Service(obedient))
    reply = ask_by.chat.completions.parse(**BODY, response_format=Shipped)
    assert isinstance(reply.choices[0].message.parsed, Shipped)


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_arrives_as_a_refusal(stream):
    service = Service(lambda ask: Decision(refusal="I may not do that."))
    with client(service).chat.completions.stream(**BODY) as streamed:
        message = streamed.get_final_completion().choices[0].message
    if not stream:
        message = client(service).chat.completions.create(**BODY).choices[0].message
    assert (message.content, message.refusal) == (None, "I may not do that.")


def test_several_choices_are_asked_for_one_by_one_and_billed_together():
    reply = say(Service(lambda ask: Decision(text=f"choice {ask.choice}")), {**BODY, "n": 3})
    assert [c["message"]["content"] for c in reply["choices"]] == ["choice 0", "choice 1", "choice 2"]
    assert reply["usage"]["completion_tokens"] == 3 * 3


def test_usage_is_streamed_only_when_asked_for():
    body = {**BODY, "stream": True}
    plain = chunks_of(post(Service(obedient), body)[1])
    asked = chunks_of(post(Service(obedient), {**body, "stream_options": {"include_usage": True}})[1])
    assert all("usage" not in chunk for chunk in plain)
    assert [chunk["usage"] is None for chunk in asked] == [True] * len(plain) + [False] and asked[-1][
        "choices"
    ] == []


def test_padding_can_be_left_out():
    body = {**BODY, "stream": True, "stream_options": {"include_obfuscation": False}}
    assert all("obfuscation" not in chunk for chunk in chunks_of(post(Service(obedient), body)[1]))


def test_what_a_model_really_spent_is_billed():
    usage = answers(Decision(text="hi", usage=Usage(7, 5)))["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (7, 5, 12)


def test_reasoning_is_billed_and_not_shown():
    body = {"model": "gpt-5-mini", "messages": ASKED}
    reply = answers(Decision(text="hi", reasoning_tokens=64, reasoning_text="hm"), body)
    assert reply["usage"]["completion_tokens_details"]["reasoning_tokens"] == 64
    assert "hm" not in json.dumps(reply)


@pytest.mark.parametrize(("vendor", "model"), [("deepseek", "deepseek-flash"), ("kimi", "kimi-k3")])
def test_a_vendor_answers_in_its_own_way(vendor, model):
    body = {"model": model, "messages": ASKED, "tools": [GET_ORDER]}
    decision = Decision(calls=(LOOKUP,), reasoning_text="I look it up.")
    reply = say(Service(lambda ask: decision, vendor=vendor), body)
    message = reply["choices"][0]["message"]
    assert message["reasoning_content"] == "I look it up."
    if vendor == "kimi":
        assert message["tool_calls"][0]["id"] == "functions.get_order:0"
    else:
        assert reply["usage"]["prompt_cache_miss_tokens"] == reply["usage"]["prompt_tokens"]


def every_byte(seed):
    steps = (LOOKUP, "Shipped.", [LOOKUP, LOOKUP], "Done.")
    service, body = Service(script(*steps), seed=seed), {**BODY, "tools": [GET_ORDER]}
    said = [post(service, body), post(service, {**body, "stream": True}), post(service, body)]
    return [*said, post(service, RESPONSE | {"stream": True}, "/v1/responses")]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others():
    assert every_byte(1) == every_byte(1) != every_byte(2)


def test_headers_are_those_of_the_api_and_the_same_each_time():
    def headers():
        service = Service(obedient, seed=3)
        return dict(
            service.handle("POST", "/v1/chat/completions", {"authorization": "Bearer sk-1"}, _raw()).headers
        )

    given = headers()
    assert given == headers() and given[b"x-request-id"].startswith(b"req_")
    assert given[b"openai-version"] == b"2020-10-01" and given[b"x-ratelimit-reset-tokens"].endswith(b"ms")


def _raw():
    return json.dumps(BODY).encode()


def test_ids_have_the_form_and_length_of_the_api():
    reply = answers(Decision(calls=(LOOKUP,)), {**BODY, "tools": [GET_ORDER]})
    own, one = reply["id"], reply["choices"][0]["message"]["tool_calls"][0]["id"]
    assert len(own.removeprefix("chatcmpl-")) == 29 and len(one.removeprefix("call_")) == 24
    assert (own[9:] + one[5:]).isalnum()


@pytest.mark.parametrize(
    "text", ["", "a", "  two  spaces ", '{"城市": "北京", "n": [1, 2]}', "a\n\n\tb!!!!!c" * 3]
)
def test_fragments_make_the_whole_text(text):
    assert "".join(fragments(text)) == text


def test_a_response_goes_on_from_the_one_before():
    service = Service(script(LOOKUP, "It was shipped."))
    ask_by = client(service)
    first = ask_by.responses.create(**RESPONSE)
    result = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "shipped"}
    second = ask_by.responses.create(model="gpt-5.4-mini", previous_response_id=first.id, input=[result])
    assert second.output_text == "It was shipped." and second.previous_response_id == first.id
    assert second.usage.input_tokens > first.usage.output_tokens


def test_a_body_accepted_at_one_path_is_not_accepted_at_the_other():
    service = Service(obedient)
    assert [post(service, BODY, path)[0] for path in ("/v1/chat/completions", "/v1/responses")] == [200, 400]


def test_a_request_that_comes_again_is_asked_of_the_brain_again():
    service = Service(lambda ask: Decision(text=f"turn {ask.turn}"))
    texts = [say(service, BODY)["choices"][0]["message"]["content"] for _ in range(3)]
    assert texts == ["turn 0", "turn 1", "turn 2"]


def test_a_response_that_was_not_stored_cannot_be_continued():
    ask_by = client(Service(script(LOOKUP)))
    first = ask_by.responses.create(**RESPONSE, store=False)
    with pytest.raises(openai.BadRequestError) as caught:
        ask_by.responses.create(model="gpt-5.4-mini", previous_response_id=first.id, input="hi")
    assert caught.value.code == "previous_response_not_found"


def test_a_response_can_be_continued_by_sending_all_items():
    ask_by = client(Service(script(LOOKUP, "It was shipped.")))
    first = ask_by.responses.create(**RESPONSE, store=False)
    result = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "shipped"}
    items = [{"role": "user", "content": RESPONSE["input"]}, *first.output, result]
    assert ask_by.responses.create(**{**RESPONSE, "input": items}).output_text == "It was shipped."


def test_a_cut_response_is_incomplete():
    reply = answers(
        Decision(text="one two three four"), {**RESPONSE, "max_output_tokens": 16}, "/v1/responses"
    )
    long = answers(Decision(text="word " * 50), {**RESPONSE, "max_output_tokens": 16}, "/v1/responses")
    assert reply["status"] == "completed" and long["status"] == "incomplete"
    assert (
        long["incomplete_details"] == {"reason": "max_output_tokens"} and long["usage"]["output_tokens"] == 16
    )


def test_the_events_of_a_response_come_in_their_order():
    decision = Decision(text="I look.", calls=(LOOKUP,), reasoning_tokens=8)
    sse = post(Service(lambda ask: decision), RESPONSE | {"stream": True}, "/v1/responses")[1].decode()
    kinds = [line[7:] for line in sse.splitlines() if line.startswith("event: ")]
    once = [kind.removeprefix("response.") for n, kind in enumerate(kinds) if kind != kinds[n - 1]]
    item = ["output_item.added", "output_item.done"]
    part = ["content_part.added", "output_text.delta", "output_text.done", "content_part.done"]
    calls = ["function_call_arguments.delta", "function_call_arguments.done"]
    wanted = ["created", "in_progress", *item, item[0], *part, item[1], item[0], *calls, item[1], "completed"]
    assert once == wanted and [e["sequence_number"] for e in chunks_of(sse)] == list(range(len(kinds)))


@pytest.mark.parametrize(
    "decision", [Decision(text="hi"), Decision(calls=(LOOKUP, LOOKUP)), Decision(refusal="no")]
)
def test_the_sdk_ends_a_streamed_response_with_the_whole_one(decision):
    service = Service(lambda ask: decision)
    with client(service).responses.stream(**RESPONSE) as stream:
        streamed = stream.get_final_response()
    whole = client(Service(lambda ask: decision)).responses.create(**RESPONSE)
    assert [_said(item) for item in streamed.output] == [_said(item) for item in whole.output]


def _said(item):
    parts = [part.model_dump(exclude={"parsed"}) for part in getattr(item, "content", None) or ()]
    return item.model_dump(include={"type", "name", "arguments", "call_id", "status", "role"}), parts
