"""One turn in the Responses form: items and call_id, and nothing of the other form."""

from dataclasses import replace

import httpx2
import openai
import pytest

from labkit.protocol import chat, responses
from labkit.protocol.errors import ProviderError, Transient
from labkit.protocol.messages import Message, ToolCall, Usage, assistant, system, tool, user

TOOL = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}
CALL = ToolCall("call_1", "get_weather", '{"city":"北京"}')
CHAIN = [system("s"), user("北京冷吗？"), assistant("", [CALL]), tool("call_1", '{"temp":3}')]
OUTPUT = [
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {
        "type": "function_call",
        "id": "fc_1",
        "status": "completed",
        "call_id": "call_1",
        "name": "get_weather",
        "arguments": '{"city":"北京"}',
    },
]
RESPONSE = {
    "id": "resp_1",
    "status": "completed",
    "model": "m",
    "output": OUTPUT,
    "usage": {
        "input_tokens": 30,
        "output_tokens": 9,
        "input_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 5},
    },
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": False, "max_output_tokens": 99}],
)
def test_the_body_has_the_very_bytes_that_create_sends(parameters, stream):
    sent = []

    def answer(request):
        sent.append(request)
        return httpx2.Response(200, json=RESPONSE | {"object": "response"})

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = openai.OpenAI(api_key="sk-test", base_url="http://mock/v1", http_client=http)
    body = responses.request("m", CHAIN, parameters, stream=stream)
    client.responses.create(**body)
    client.post(responses.PATH, cast_to=object, body=body, stream=stream, stream_cls=openai.Stream[object])
    create, post = sent
    assert create.content == post.content
    assert (create.method, create.url, create.headers) == (post.method, post.url, post.headers)


def test_a_chain_becomes_items_with_call_id():  # covers: 4.1
    assert responses.request("m", CHAIN)["input"] == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "北京冷吗？"},
        {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city":"北京"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": '{"temp":3}'},
    ]


def test_the_items_of_an_answer_are_sent_back_as_they_came_reasoning_first():
    """openai-wire §5.4: a call without its reasoning item is refused."""
    message = responses.parse(RESPONSE).message
    assert responses.to_items(message) == OUTPUT


def test_arguments_that_the_runtime_mended_replace_those_in_the_item():
    message = responses.parse(RESPONSE).message
    mended = replace(message, calls=(ToolCall("call_1", "get_weather", "{}"),))
    assert responses.to_items(mended)[1]["arguments"] == "{}"
    assert responses.to_items(mended)[1]["id"] == "fc_1"


def test_the_items_of_one_form_never_reach_the_other():  # covers: 4.1
    wire = chat.to_wire(responses.parse(RESPONSE).message)
    assert wire.keys() == {"role", "content", "tool_calls"}
    assert responses.to_items(Message("assistant", "hi", extra={"reasoning_content": "hm"})) == [
        {"role": "assistant", "content": "hi"}
    ]


def test_a_response_is_read_with_its_calls_and_usage():
    reply = responses.parse(RESPONSE)
    assert reply.message.calls == (CALL,)
    assert reply.usage == Usage(30, 9, cached=8, cache_write=4, reasoning=5)


def test_an_incomplete_response_says_why():
    body = RESPONSE | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert responses.parse(body).finish == "max_output_tokens"


def test_a_refusal_is_a_part_of_the_message_item():
    item = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    assert responses.parse(RESPONSE | {"output": [item]}).message.refusal == "No."


@pytest.mark.parametrize("body", ["<html>", {}, {"output": None}, {"choices": []}, None])
def test_what_is_no_response_is_a_clear_error(body):
    with pytest.raises(ProviderError, match="not a response"):
        responses.parse(body)


def test_a_failed_response_raises_in_its_own_words():
    with pytest.raises(ProviderError, match="overloaded"):
        responses.parse(RESPONSE | {"status": "failed", "error": {"message": "overloaded"}})


def test_a_stream_gives_the_text_as_it_comes_and_the_whole_at_the_end():
    stream = responses.Assembly()
    said = [stream.feed({"type": "response.output_text.delta", "delta": text}) for text in "晴天"]
    stream.feed({"type": "response.output_item.done", "item": OUTPUT[1]})
    stream.feed({"type": "response.completed", "response": RESPONSE | {"output": []}})
    assert said == ["晴", "天"]
    assert stream.reply().message.calls == (CALL,)


def test_a_stream_that_breaks_off_or_reports_an_error_is_no_answer():
    stream = responses.Assembly()
    stream.feed({"type": "response.output_item.done", "item": OUTPUT[1]})
    with pytest.raises(Transient, match="broke off"):
        stream.reply()
    with pytest.raises(ProviderError, match="too busy"):
        stream.feed({"type": "error", "message": "too busy"})


def test_lone_surrogates_do_not_crash():
    """J03"""
    items = responses.request("m", [user("\ud800"), tool("call_1", "北\udc00京")])["input"]
    assert str(items).encode("utf-8")
