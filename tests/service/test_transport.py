"""The SDK over the service in this process: sync, async, and chunk by chunk as they come."""

import asyncio
import time
from itertools import pairwise

import openai
import pytest

from labkit.service.api import Service
from labkit.service.brains.scripted import call, script
from labkit.service.decide import Decision
from labkit.service.faults import cut_stream, lost_reply, slow
from labkit.service.server import serving
from tests.service.doors import ASKED, BODY, FLAT_GET_ORDER, GET_ORDER, async_client, client

RESPONSE = {"model": "gpt-5.4-mini", "input": "Where is order 10001?", "tools": [FLAT_GET_ORDER]}


def lookup():
    return script(call("get_order", order_id="10001"))


def test_a_call_and_its_result_make_a_turn():
    both = client(Service(script(call("get_order", order_id="10001"), "It was shipped.")))
    first = both.chat.completions.create(**BODY, tools=[GET_ORDER]).choices[0].message
    result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": '{"state":"shipped"}'}
    second = both.chat.completions.create(
        model=BODY["model"], messages=[*ASKED, first, result], tools=[GET_ORDER]
    )
    assert second.choices[0].message.content == "It was shipped."


async def stream_both(ask_by):
    async with ask_by.chat.completions.stream(**BODY, tools=[GET_ORDER]) as stream:
        chat = await stream.get_final_completion()
    async with ask_by.responses.stream(**RESPONSE) as stream:
        return chat, await stream.get_final_response()


def test_the_async_sdk_streams_both_wire_forms():
    brain = script(call("get_order", order_id="10001"), call("get_order", order_id="10001"))
    chat, answer = asyncio.run(stream_both(async_client(Service(brain))))
    assert chat.choices[0].message.tool_calls[0].function.parsed_arguments == {"order_id": "10001"}
    assert answer.output[0].parsed_arguments == {"order_id": "10001"}


def test_a_stream_over_a_broken_connection_raises_in_the_async_sdk_too():
    async def ask():
        stream = await async_client(
            Service(lambda a: Decision(text="a b c d"), faults=[cut_stream(1)])
        ).chat.completions.create(**BODY, stream=True)
        return [chunk async for chunk in stream]

    with pytest.raises(openai.APIConnectionError):
        asyncio.run(ask())


def test_a_lost_reply_raises_in_the_async_sdk_too():
    service = Service(lambda a: Decision(text="a"), faults=[lost_reply(1)])
    with pytest.raises(openai.APIConnectionError):
        asyncio.run(async_client(service, max_retries=0).chat.completions.create(**BODY))


def arrivals(stream):
    start, times = time.monotonic(), []
    for _ in stream:
        times.append(time.monotonic() - start)
    return times


def patient(**where):
    brain = script("one two three four")
    return Service(brain, faults=[slow(1, 0, every=0.05)], clock=time.time, sleep=time.sleep, **where)


def test_chunks_arrive_one_by_one_in_process():
    times = arrivals(client(patient()).chat.completions.create(**BODY, stream=True))
    assert times[0] < 0.05 and all(later - earlier > 0.03 for earlier, later in pairwise(times))


def test_chunks_arrive_one_by_one_on_a_socket():
    with serving(patient()) as url, openai.OpenAI(api_key="sk-1", base_url=url) as ask_by:
        times = arrivals(ask_by.chat.completions.create(**BODY, stream=True))
    assert times[-1] - times[0] > 0.15


def test_an_async_wait_does_not_hold_up_another_request():
    async def ask():
        one = async_client(patient())
        stream = await one.chat.completions.create(**BODY, stream=True)
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        chunks = [chunk async for chunk in stream]
        ticking.cancel()
        return ticks, len(chunks)

    ticks, chunks = asyncio.run(ask())
    assert ticks > chunks


def test_a_brain_that_types_slowly_is_seen_typing():
    service = Service(script(Decision(text="one two three", pace=0.05)), clock=time.time, sleep=time.sleep)
    times = arrivals(client(service).chat.completions.create(**BODY, stream=True))
    assert all(later - earlier > 0.03 for earlier, later in pairwise(times))


def test_a_slow_brain_is_waited_for():
    def brain(ask):
        time.sleep(0.05)
        return Decision(text="at last")

    start = time.monotonic()
    client(Service(brain)).chat.completions.create(**BODY)
    assert time.monotonic() - start > 0.05


def test_the_models_of_the_vendor_are_listed_and_found():
    ask_by = client(Service(lookup()))
    assert "gpt-4.1-mini" in [model.id for model in ask_by.models.list()]
    assert ask_by.models.retrieve("gpt-4.1-mini").owned_by == "openai"
    with pytest.raises(openai.NotFoundError, match="`gpt-9` does not exist"):
        ask_by.models.retrieve("gpt-9")


@pytest.mark.parametrize(("key", "code"), [("bad-key-0123456789test", "invalid_api_key"), ("", None)])
def test_a_wrong_key_and_no_key_are_refused(key, code):
    ask_by = client(Service(lookup())).with_options(api_key=key or "x")
    headers = {} if key else {"Authorization": openai.Omit()}
    with pytest.raises(openai.AuthenticationError) as caught:
        ask_by.chat.completions.create(**BODY, extra_headers=headers)
    assert caught.value.code == code
    assert ("bad-key-**********test" in str(caught.value)) == bool(key)


def test_a_fault_of_the_service_itself_is_told_in_words(monkeypatch, caplog):
    service = Service(lookup())
    monkeypatch.setattr(service.cache, "read", None)
    with pytest.raises(openai.InternalServerError) as caught:
        client(service).chat.completions.create(**BODY, tools=[GET_ORDER])
    assert caught.value.code == "internal_error" and len(service.seen) == 1 and "TypeError" in caplog.text


def test_what_was_seen_shows_no_key():
    service = Service(lookup())
    client(service).chat.completions.create(**BODY, tools=[GET_ORDER])
    seen = service.seen[0]
    assert seen.headers["authorization"].startswith("Bearer ***") and seen.body["tools"] == [GET_ORDER]
    assert repr(seen) == "<request 1: /v1/chat/completions, attempt 1 -> 200>"
