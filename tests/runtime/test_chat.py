"""One turn in the Chat Completions form: what goes out, what may come in."""

import json
from pathlib import Path

import httpx2
import openai
import pytest

from labkit.protocol import chat
from labkit.protocol.errors import ProviderError, Transient
from labkit.protocol.messages import Message, ToolCall, Usage, assistant, system, tool, user

CASSETTES = Path(__file__).parent.parent / "cassettes"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "天气",
        "parameters": {"type": "object", "properties": {}},
    },
}
CALL = ToolCall("c1", "get_weather", '{"city":"北京"}')
CHAIN = [system("s"), user("北京冷吗？"), assistant("", [CALL]), tool("c1", '{"temp":3}'), assistant("3 度")]


def completion(message: dict, finish: str = "tool_calls") -> dict:
    return {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}]}


def chunks_of(name: str) -> list[dict]:
    text = (CASSETTES / name).read_text(encoding="utf-8")
    if name.endswith(".json"):
        lines = json.loads(text)["interactions"][0]["sse"].splitlines()
        text = "\n".join(line[6:] for line in lines if line.startswith("data: {"))
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def assembled(chunks: list[dict]):
    stream = chat.Assembly()
    for chunk in chunks:
        stream.feed(chunk)
    return stream.reply()


def deltas(*fragments: dict) -> list[dict]:
    start = [{"choices": [{"index": 0, "delta": {"tool_calls": [fragment]}}]} for fragment in fragments]
    return [*start, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


def pairs(reply) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in reply.message.calls]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"tools": [WEATHER], "tool_choice": "auto", "parallel_tool_calls": False},
        {
            "tools": [WEATHER],
            "temperature": 0,
            "top_p": 0.9,
            "max_completion_tokens": 99,
            "seed": 7,
            "user": "u",
        },
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_the_body_has_the_very_bytes_that_create_sends(parameters, stream):
    """The cheaper door of performance.md may only be used because this holds."""
    sent = []

    def answer(request):
        sent.append(request)
        if stream:
            return httpx2.Response(
                200, headers={"content-type": "text/event-stream"}, content=b"data: [DONE]\n\n"
            )
        return httpx2.Response(200, json=completion({"content": "hi"}, "stop"))

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = openai.OpenAI(api_key="sk-test", base_url="http://mock/v1", http_client=http)
    body = chat.request("m", CHAIN, parameters, stream=stream)
    client.chat.completions.create(**body)
    client.post(chat.PATH, cast_to=object, body=body, stream=stream, stream_cls=openai.Stream[object])
    create, post = sent
    assert create.content == post.content
    assert (create.method, create.url, create.headers) == (post.method, post.url, post.headers)


def test_a_post_streams_the_same_chunks_as_create():
    lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks_of("compat_stream_variant_a.json"))
    reply = httpx2.Response
    headers = {"content-type": "text/event-stream"}
    http = httpx2.Client(transport=httpx2.MockTransport(lambda r: reply(200, headers=headers, content=lines)))
    client = openai.OpenAI(api_key="sk-test", base_url="http://mock/v1", http_client=http)
    body = chat.request("m", [user("hi")], stream=True)
    typed = [chunk.to_dict() for chunk in client.chat.completions.create(**body)]
    plain = list(
        client.post(chat.PATH, cast_to=object, body=body, stream=True, stream_cls=openai.Stream[object])
    )
    assert typed == plain


def test_tool_parameters_are_dropped_without_tools():
    """R08: the API refuses parallel_tool_calls and tool_choice when there are no tools."""
    body = chat.request("m", [user("hi")], {"tools": [], "parallel_tool_calls": False, "tool_choice": "none"})
    assert body.keys() == {"model", "messages"}


def test_an_empty_plain_answer_is_sent_as_empty_text_and_not_as_null():
    """H05"""
    assert chat.to_wire(assistant(""))["content"] == ""
    assert chat.to_wire(assistant("", [CALL]))["content"] is None


def test_chinese_text_is_sent_as_it_is_and_lone_surrogates_do_not_crash():
    """J03"""
    body = chat.request(
        "m", [user("北京"), tool("c1", "a\ud800b"), assistant("", [ToolCall("c", "f", '"\udc00"')])]
    )
    assert "北京".encode() in json.dumps(body, ensure_ascii=False).encode("utf-8")


def test_a_name_that_the_api_would_refuse_is_replayed_as_one_that_it_takes():
    """P09: the model made up `multi_tool_use.parallel`; the next request must still be accepted."""
    wire = chat.to_wire(assistant("", [ToolCall("c1", "multi_tool_use.parallel", "{}")]))
    assert wire["tool_calls"][0]["function"]["name"] == "multi_tool_use_parallel"


@pytest.mark.parametrize("raw", ["", "  ", None, "{}"])
def test_no_arguments_in_any_spelling_are_an_empty_object(raw):
    """P01"""
    call = {"id": "c1", "type": "function", "function": {"name": "list_orders", "arguments": raw}}
    assert pairs(chat.parse(completion({"tool_calls": [call]}))) == [("list_orders", "{}")]


def test_arguments_that_come_as_an_object_are_replayed_as_text_with_chinese_kept():
    """P07"""
    call = {"id": "c1", "function": {"name": "get_weather", "arguments": {"city": "北京"}}}
    message = chat.parse(completion({"tool_calls": [call]})).message
    assert chat.to_wire(message)["tool_calls"][0]["function"]["arguments"] == '{"city": "北京"}'


@pytest.mark.parametrize(
    ("cassette", "expected"),
    [
        ("openrouter_optional_params", [("find_education_content", "{}")]),
        ("mistral_choice_required", [("get_weather", '{"city": "Paris"}')]),
        ("ollama_tool_output", []),
        ("openai_forced_function_stop", []),
    ],
)
def test_recorded_completions_of_deviating_vendors_are_read(cassette, expected):
    """P13: arguments or type left out altogether."""
    body = json.loads((CASSETTES / f"{cassette}.json").read_text(encoding="utf-8"))["interactions"][0][
        "response"
    ]
    assert pairs(chat.parse(body)) == expected


def test_calls_count_even_when_the_finish_reason_says_stop():
    """L03: recorded from gpt-4o-mini with a named function."""
    cassette = json.loads((CASSETTES / "openai_forced_function_stop.json").read_text(encoding="utf-8"))
    reply = chat.parse(cassette["interactions"][1]["response"])
    assert reply.finish == "stop"
    assert len(reply.message.calls) == 1


def test_reasoning_content_comes_back_with_the_next_request():
    cassette = json.loads((CASSETTES / "deepseek_reasoner_parallel.json").read_text(encoding="utf-8"))
    raw = cassette["interactions"][1]["response"]["choices"][0]["message"]
    message = chat.parse(cassette["interactions"][1]["response"]).message
    assert chat.to_wire(message)["reasoning_content"] == raw["reasoning_content"]


def test_usage_is_read_with_cached_and_reasoning_tokens():
    cassette = json.loads((CASSETTES / "deepseek_reasoner_parallel.json").read_text(encoding="utf-8"))
    assert chat.parse(cassette["interactions"][0]["response"]).usage == Usage(
        563, 116, cached=512, reasoning=60
    )


@pytest.mark.parametrize("body", ["<html>busy</html>", {}, {"choices": []}, {"choices": [{}]}, None, [1]])
def test_what_is_no_completion_is_a_clear_error(body):
    with pytest.raises(ProviderError, match="not a completion"):
        chat.parse(body)


def test_calls_without_ids_or_with_one_id_twice_get_ids_that_can_be_paired():
    calls = [{"id": id, "function": {"name": "f", "arguments": "{}"}} for id in ("a", "a", None, None)]
    ids = [call.id for call in chat.parse(completion({"tool_calls": calls})).message.calls]
    assert len(set(ids)) == 4
    assert ids[0] == "a"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("compat_stream_variant_a.json", [("llm_version", "{}")]),
        ("compat_stream_variant_c.json", [("llm_version", "{}")]),
        ("raw/deepseek_tool_call_stream.chunks.txt", [("weather", '{"location": "San Francisco"}')]),
        ("raw/groq_tool_call_stream.chunks.txt", [("weather", "{}")]),
        (
            "raw/mistral_incremental_tool_call_stream.chunks.txt",
            [("webSearchTool", '{"query": "current Berlin weather"}')],
        ),
        ("raw/qwen_alibaba_tool_call_stream.chunks.txt", [("weather", '{"location": "San Francisco"}')]),
    ],
)
def test_the_recorded_stream_variants_give_the_right_calls(name, expected):
    reply = assembled(chunks_of(name))
    assert pairs(reply) == expected
    assert reply.usage.total > 0


@pytest.mark.parametrize("name", ["openai_parallel_stream.json", "openai_stream_usage_last_chunk.json"])
def test_recorded_openai_streams_say_what_the_sdk_says(name):
    chunks = chunks_of(name)
    reply = assembled(chunks)
    with_choice = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert reply.message.content == "".join(delta.get("content") or "" for delta in with_choice)
    assert len(reply.message.calls) == sum(
        "id" in call for d in with_choice for call in d.get("tool_calls") or ()
    )


def test_only_the_first_choice_of_an_interleaved_stream_is_the_answer():
    chunks = chunks_of("openai_stream_n2.json")
    mine = [c["delta"].get("content") or "" for chunk in chunks for c in chunk["choices"] if c["index"] == 0]
    assert assembled(chunks).message.content == "".join(mine)


def test_deltas_without_an_index_are_one_call():
    """S01"""
    reply = assembled(
        deltas(
            {"id": "c1", "function": {"name": "get_weather", "arguments": ""}},
            {"function": {"arguments": '{"city":'}},
            {"function": {"arguments": '"北京"}'}},
        )
    )
    assert pairs(reply) == [("get_weather", '{"city":"北京"}')]


def test_a_fragment_with_neither_id_nor_index_goes_to_the_call_being_streamed():
    """S01, two ids"""
    reply = assembled(
        deltas(
            {"id": "a", "function": {"name": "f", "arguments": "{}"}},
            {"id": "b", "function": {"name": "g", "arguments": '{"x":'}},
            {"function": {"arguments": "1}"}},
        )
    )
    assert pairs(reply) == [("f", "{}"), ("g", '{"x":1}')]


def test_only_the_first_delta_of_a_call_needs_an_id():
    """S05"""
    reply = assembled(
        deltas(
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"p":"'}},
            {"index": 0, "function": {"arguments": "1"}},
            {"index": 0, "function": {"arguments": '"}'}},
        )
    )
    assert pairs(reply) == [("f", '{"p":"1"}')]


@pytest.mark.parametrize("ids", [("a", "b"), ("", "")])
def test_parallel_calls_that_all_say_index_0_are_told_apart(ids):
    whole = [
        {"index": 0, "id": id, "function": {"name": "f", "arguments": f'{{"n":{n}}}'}}
        for n, id in enumerate(ids)
    ]
    assert pairs(assembled(deltas(*whole))) == [("f", '{"n":0}'), ("f", '{"n":1}')]


def test_an_id_that_repeats_at_another_index_is_another_call():
    fragments = [{"index": n, "id": "0", "function": {"name": "f", "arguments": "{}"}} for n in range(2)]
    calls = assembled(deltas(*fragments)).message.calls
    assert len({call.id for call in calls}) == 2


def test_id_and_name_repeated_in_every_delta_are_one_call():
    part = {"index": 0, "id": "x", "function": {"name": "f"}}
    fragments = [{**part, "function": {"name": "f", "arguments": text}} for text in ('{"a"', ":1", "}")]
    assert pairs(assembled(deltas(*fragments))) == [("f", '{"a":1}')]


def test_interleaved_fragments_find_their_calls_by_index():
    start = [{"index": n, "id": f"c{n}", "function": {"name": f"f{n}", "arguments": ""}} for n in range(2)]
    rest = [{"index": n, "function": {"arguments": text}} for text in ('{"a":', "1}") for n in range(2)]
    assert pairs(assembled(deltas(*start, *rest))) == [("f0", '{"a":1}'), ("f1", '{"a":1}')]


def test_a_last_chunk_with_usage_only_is_read():
    """S06"""
    chunks = [
        {"choices": [{"index": 0, "delta": {"content": "好"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}},
    ]
    reply = assembled(chunks)
    assert (reply.message.content, reply.usage) == ("好", Usage(10, 5))


def test_a_stream_that_breaks_off_is_an_error_and_not_a_short_answer():
    stream = chat.Assembly()
    stream.feed({"choices": [{"index": 0, "delta": {"content": "今天北"}}]})
    with pytest.raises(Transient, match="broke off"):
        stream.reply()


def test_a_refusal_is_kept_and_replayed():
    message = chat.parse(completion({"content": None, "refusal": "No."}, "stop")).message
    assert chat.to_wire(message) == {"role": "assistant", "content": "", "refusal": "No."}
    assert isinstance(message, Message)
