"""Planned trouble as the SDK meets it: what it retries, how often, how long it waits, what it raises."""

import time

import openai
import pytest

from labkit.service.api import Service, VirtualClock
from labkit.service.decide import Decision
from labkit.service.faults import cut_stream, lost_reply, overloaded, quota, server_error, slow, throttle
from labkit.service.server import serving
from tests.service.doors import ASKED, BODY, client, post


def sunny(ask):
    return Decision(text="It was shipped yesterday.")


@pytest.fixture
def naps(monkeypatch):
    """The SDK's own waits between tries, taken down and not waited for."""
    taken = []
    monkeypatch.setattr(time, "sleep", taken.append)
    return taken


def attempts(service):
    return [(seen.attempt, seen.status) for seen in service.seen]


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        (throttle(1), 429, "rate_limit_exceeded"),
        (quota(1), 429, "insufficient_quota"),
        (server_error(1), 500, None),
        (overloaded(1), 503, "server_is_overloaded"),
    ],
    ids=["throttle", "quota", "server error", "overloaded"],
)
def test_the_sdk_tries_again_after_an_error_and_says_so_in_its_header(fault, status, code, naps):
    service = Service(sunny, faults=[fault])
    reply = client(service).chat.completions.create(**BODY)
    assert reply.choices[0].message.content == "It was shipped yesterday."
    assert attempts(service) == [(1, status), (2, 200)] and service.seen[0].error.code == code


def test_the_sdk_waits_as_long_as_a_throttled_answer_says(naps):
    client(Service(sunny, faults=[throttle(1, retry_after=3.5)])).chat.completions.create(**BODY)
    assert naps == [3.5]


def test_a_throttled_answer_names_seconds_in_whole_numbers_and_the_model():
    service = Service(sunny, faults=[throttle(1, retry_after=0.25)])
    answer = service.handle("POST", "/v1/chat/completions", {"authorization": "Bearer sk-1"}, _raw())
    assert (b"retry-after", b"1") in answer.headers and (b"retry-after-ms", b"250") in answer.headers
    assert b"Rate limit reached for gpt-4.1-mini" in answer.body and b"try again in 250ms" in answer.body


def test_a_used_up_quota_is_tried_three_times_and_names_no_time(naps):
    service = Service(sunny, faults=[quota(1), quota(2), quota(3)])
    with pytest.raises(openai.RateLimitError) as caught:
        client(service).chat.completions.create(**BODY)
    assert (
        attempts(service) == [(1, 429), (2, 429), (3, 429)]
        and "retry-after" not in caught.value.response.headers
    )


def test_a_lost_reply_was_decided_and_is_asked_for_again(naps):
    decided = []

    def brain(ask):
        decided.append(ask.turn)
        return sunny(ask)

    service = Service(brain, faults=[lost_reply(1)])
    client(service).chat.completions.create(**BODY)
    assert decided == [0, 1] and attempts(service) == [(1, 200), (2, 200)]


def test_a_reply_that_is_lost_every_time_is_a_connection_error(naps):
    service = Service(sunny, faults=[lost_reply(n) for n in (1, 2, 3)])
    with pytest.raises(openai.APIConnectionError):
        client(service).chat.completions.create(**BODY)
    assert len(service.seen) == 3


def test_an_answer_slower_than_the_timeout_is_tried_again_and_no_real_time_passes(naps):
    clock = VirtualClock(0.0)
    service = Service(sunny, faults=[slow(1, 30), slow(2, 2)], clock=clock)
    client(service, timeout=5).chat.completions.create(**BODY)
    assert attempts(service) == [(1, 200), (2, 200)] and clock() == 5 + 2


def test_an_answer_that_is_always_too_slow_is_a_timeout(naps):
    service = Service(sunny, faults=[slow(n, 30) for n in (1, 2, 3)])
    with pytest.raises(openai.APITimeoutError):
        client(service, timeout=5).chat.completions.create(**BODY)


def test_a_stream_cut_in_the_middle_is_not_tried_again():
    service = Service(sunny, faults=[cut_stream(1, after_chunks=3)])
    texts = []
    with pytest.raises(openai.APIConnectionError):
        for chunk in client(service).chat.completions.create(**BODY, stream=True):
            texts.append(chunk.choices[0].delta.content)
    assert texts == ["", "It", " was"] and len(service.seen) == 1


def test_a_stream_that_stalls_longer_than_the_timeout_is_a_timeout():
    service = Service(sunny, faults=[slow(1, 0, every=9)])
    with pytest.raises(openai.APITimeoutError):
        list(client(service, timeout=5).chat.completions.create(**BODY, stream=True))


@pytest.mark.parametrize("fault", [lost_reply(1), cut_stream(1)], ids=["lost", "cut"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_broken_connection_raises_the_same_in_process_and_on_a_socket(fault, stream):
    def kinds(ask_by):
        try:
            reply = ask_by.chat.completions.create(**BODY, stream=stream)
            return list(reply) if stream else reply
        except openai.APIConnectionError as error:
            return type(error), type(error.__cause__)

    inside = kinds(client(Service(sunny, faults=[fault]), max_retries=0))
    with (
        serving(Service(sunny, faults=[fault])) as url,
        openai.OpenAI(api_key="sk-1", base_url=url) as outside,
    ):
        assert kinds(outside.with_options(max_retries=0)) == inside


def test_a_refused_request_is_not_tried_again():
    service = Service(sunny)
    with pytest.raises(openai.BadRequestError):
        client(service).chat.completions.create(model="gpt-4o", messages=[])
    assert attempts(service) == [(1, 400)]


def test_a_broken_script_is_said_in_words_and_not_tried_again():
    def broken(ask):
        raise KeyError("city")

    service = Service(broken)
    with pytest.raises(openai.InternalServerError, match="it raised KeyError: 'city'"):
        client(service).chat.completions.create(**BODY)
    assert attempts(service) == [(1, 500)] and service.seen[0].error.code == "brain_error"


def test_faults_leave_an_invalid_request_to_its_own_error():
    status, _ = post(Service(sunny, faults=[throttle(1)]), {"model": "gpt-4o", "messages": []})
    assert status == 400


def _raw():
    return (
        b'{"model":"gpt-4.1-mini","messages":[{"role":"user","content":"%s"}]}' % ASKED[0]["content"].encode()
    )
