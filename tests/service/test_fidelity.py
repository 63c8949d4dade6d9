"""A recorded decision comes out of the service in the shape in which the API said it."""

import itertools

import pytest

from tests.service.doors import as_decided, chunks_of, client, post, recordings, say

LATER = {"annotations", "service_tier", "obfuscation", "refusal", "logprobs"}
LATER |= {"prompt_tokens_details", "completion_tokens_details"}
WHOLE, STREAMED = dict(recordings(stream=False)), dict(recordings(stream=True))


def shape(value, path=""):
    """Paths of all keys with the kind of their values; list places are kept, for their number matters."""
    if isinstance(value, dict):
        return {p for key, inner in value.items() for p in shape(inner, f"{path}.{key}")} | {f"{path} dict"}
    if isinstance(value, list):
        inside = (shape(inner, f"{path}[{place}]") for place, inner in enumerate(value))
        return set().union({f"{path} list"}, *inside)
    return {f"{path} {type(value).__name__}"}


def without_later(shapes):
    return {one for one in shapes if not LATER & set(one.replace(" ", ".").split("."))}


@pytest.mark.parametrize("name", WHOLE)
def test_a_completion_has_the_keys_and_kinds_of_the_recording(name):
    recorded = WHOLE[name]["response"]
    given = say(as_decided(WHOLE[name]), WHOLE[name]["request"])
    wanted, got = shape(recorded), shape(given)
    fingerprints = {one for one in wanted ^ got if "system_fingerprint" in one}
    assert wanted - got <= fingerprints and without_later(got - wanted) <= fingerprints


@pytest.mark.parametrize("name", WHOLE)
def test_a_completion_ends_and_calls_as_recorded(name):
    recorded = WHOLE[name]["response"]["choices"]
    given = say(as_decided(WHOLE[name]), WHOLE[name]["request"])["choices"]
    assert [outcome(choice) for choice in given] == [outcome(choice) for choice in recorded]


def outcome(choice):
    message = choice["message"]
    calls = [call["function"] for call in message.get("tool_calls", ())]
    return choice["finish_reason"], message["content"], calls


@pytest.mark.parametrize("name", WHOLE)
def test_only_families_that_name_a_fingerprint_have_one(name):
    recorded = WHOLE[name]["response"]
    given = say(as_decided(WHOLE[name]), WHOLE[name]["request"])
    assert type(given["system_fingerprint"]) is type(recorded["system_fingerprint"])
    assert given["model"] == recorded["model"] and given["object"] == recorded["object"]


def steps(chunks):
    """The kinds of chunks in order, a run of equal ones said once, each choice by itself."""
    kinds = {}
    for chunk in chunks:
        for choice in chunk["choices"] or [{"index": "usage", "delta": {}, "finish_reason": None}]:
            delta, end = choice["delta"], choice["finish_reason"]
            calls = [(c["index"], *sorted(c), *sorted(c["function"])) for c in delta.get("tool_calls", ())]
            kind = (*sorted(delta.keys() - {"tool_calls"}), *calls, end, chunk.get("usage") is not None)
            kinds.setdefault(choice["index"], []).append(kind)
    return {index: [kind for kind, _ in itertools.groupby(run)] for index, run in kinds.items()}


@pytest.mark.parametrize("name", STREAMED)
def test_a_stream_has_the_steps_of_the_recording(name):
    given = chunks_of(post(as_decided(STREAMED[name]), STREAMED[name]["request"])[1])
    assert steps(given) == steps(chunks_of(STREAMED[name]["sse"]))


@pytest.mark.parametrize("name", STREAMED)
def test_the_chunks_of_a_stream_have_the_keys_of_the_recording(name):
    given = chunks_of(post(as_decided(STREAMED[name]), STREAMED[name]["request"])[1])
    recorded = chunks_of(STREAMED[name]["sse"])
    wanted, got = (
        {(key, type(v).__name__) for c in chunks for key, v in c.items()} for chunks in (recorded, given)
    )
    assert wanted - got == set() and {key for key, _ in got - wanted} <= LATER


def test_two_choices_take_turns_as_recorded():
    recorded = STREAMED["openai_stream_n2-0"]
    given = chunks_of(post(as_decided(recorded), recorded["request"])[1])
    turns = [
        [choice["index"] for chunk in chunks[:20] for choice in chunk["choices"]]
        for chunks in (
            given,
            chunks_of(recorded["sse"]),
        )
    ]
    assert turns[0] == turns[1]


def test_padding_makes_recorded_and_given_chunks_one_more_than_a_multiple_of_16_bytes():
    recorded = STREAMED["openai_complex_strict_parallel_stream-2"]
    given = post(as_decided(recorded), recorded["request"])[1]
    for sse in (recorded["sse"].encode(), given):
        lines = [line[6:] for line in sse.splitlines() if line.startswith(b"data: {")]
        assert {len(line) % 16 for line in lines} == {1}


@pytest.mark.parametrize("name", STREAMED)
def test_the_sdk_assembles_the_recorded_calls_and_text_from_our_stream(name):
    request = {key: value for key, value in STREAMED[name]["request"].items() if key != "stream"}
    with client(as_decided(STREAMED[name])).chat.completions.stream(**request) as stream:
        final = stream.get_final_completion()
    given = [_said(choice.message.content, choice.message.tool_calls) for choice in final.choices]
    assert given == _assembled(chunks_of(STREAMED[name]["sse"]))


def _said(content, calls):
    return content or None, [(call.function.name, call.function.arguments) for call in calls or ()]


def _assembled(chunks):
    """What the recorded chunks say, put together by hand."""
    said = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            text, calls = said.setdefault(choice["index"], ([], []))
            text.append(choice["delta"].get("content") or "")
            for call in choice["delta"].get("tool_calls", ()):
                if "id" in call:
                    calls.append([call["function"]["name"], ""])
                calls[call["index"]][1] += call["function"]["arguments"]
    return [("".join(text) or None, [tuple(call) for call in calls]) for text, calls in said.values()]
