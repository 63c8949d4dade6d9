"""Real traffic replayed and recorded: the whole request is the key, and nothing private reaches a file."""

import json

import openai
import pytest

from labkit.connect import connect, model_for
from labkit.files import ROOT
from labkit.protocol.errors import BadFile, BadSetup, ScriptEnded
from labkit.protocol.messages import ToolCall
from labkit.service.brains.recorded import decisions, read_cassette, replay
from labkit.service.decide import Ask, Decision

CASSETTES = ROOT / "tests" / "cassettes"


def request(name, position=0):
    return json.loads(json.dumps(read_cassette(CASSETTES / name)[position]["request"]))


def answered(path):
    found = [one for one in read_cassette(path) if one["request"] and one["status"] == 200]
    return [one for one in found if "error" not in (one.get("response") or {})]


WITH_ANSWERS = [path for path in sorted(CASSETTES.glob("*.json")) if answered(path)]


@pytest.mark.parametrize("path", WITH_ANSWERS, ids=lambda path: path.stem)
def test_every_recorded_answer_is_replayed_as_it_was_decided(path):
    brain = replay(path)
    for one in answered(path):
        text = one.get("sse") or json.dumps(one["response"], ensure_ascii=False)
        decided = brain(Ask("m", (), raw=one["request"]))
        assert decided.text or decided.calls
        assert all(call.id in text and call.name in text for call in decided.calls)


def test_a_replayed_client_gives_the_recorded_call_and_then_the_recorded_answer():
    client = connect("replay", CASSETTES / "openai_choice_auto.json")
    first = client.chat.completions.create(**request("openai_choice_auto.json"))
    call = first.choices[0].message.tool_calls[0]
    assert (call.id, call.function.arguments) == ("call_aDdJTteHrpMdhdkEkyxjxEHH", '{"city":"Paris"}')
    last = client.chat.completions.create(**request("openai_choice_auto.json", 1))
    assert last.choices[0].message.content.startswith("It's sunny in Paris")
    assert last.usage.prompt_tokens == 167


def test_streamed_or_whole_is_not_part_of_what_was_asked():
    client = connect("replay", CASSETTES / "openai_choice_auto.json")
    streamed = client.chat.completions.create(**{**request("openai_choice_auto.json"), "stream": True})
    assert "get_weather" in str([chunk.choices for chunk in streamed])


def test_two_choices_of_one_stream_are_two_decisions():
    first, second = decisions(read_cassette(CASSETTES / "openai_stream_n2.json")[0])
    assert first.text != second.text


def test_the_last_user_text_alone_does_not_make_a_request_the_recorded_one():
    brain = replay(CASSETTES / "openai_choice_auto.json")
    asked = request("openai_choice_auto.json") | {"tool_choice": "none"}
    with pytest.raises(ScriptEnded, match='tool_choice: recorded "auto", asked "none"'):
        brain(Ask("m", (), raw=asked))


def test_a_request_asked_more_often_than_recorded_ends_the_recording():
    brain = replay(CASSETTES / "openai_choice_auto.json")
    brain(Ask("m", (), raw=request("openai_choice_auto.json")))
    with pytest.raises(ScriptEnded, match="has 1 answer"):
        brain(Ask("m", (), raw=request("openai_choice_auto.json")))


def test_the_sdk_is_told_what_differs():
    client = connect("replay", CASSETTES / "openai_choice_auto.json", max_retries=0)
    asked = request("openai_choice_auto.json") | {"model": "gpt-4o-mini"}
    with pytest.raises(openai.InternalServerError, match='model: recorded "gpt-5-mini", asked "gpt-4o-mini"'):
        client.chat.completions.create(**asked)


def test_a_file_that_is_no_cassette_is_refused(tmp_path):
    (tmp_path / "x.json").write_text("[]", encoding="utf-8")
    with pytest.raises(BadFile, match="is not a cassette"):
        replay(tmp_path / "x.json")


SECRETS = ("sk-proj-abcdefghijklmnop", "org-AbCdEfGhIjKlMnOpQrStUvWx", "user-AbCdEfGhIjKlMnOpQrStUvWx")


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_recorded_can_be_replayed_and_holds_nothing_private(tmp_path, stream):
    path = tmp_path / "录音.json"
    brain = lambda ask: Decision(calls=(ToolCall("call_1", "get_order", json.dumps({"id": SECRETS[1]})),))  # noqa: E731
    tools = [
        {
            "type": "function",
            "function": {"name": "get_order", "parameters": {"type": "object", "properties": {}}},
        }
    ]
    asked = {"messages": [{"role": "user", "content": f"查 {SECRETS[0]} {SECRETS[2]}"}], "tools": tools}
    client = connect("script", brain, record=path)
    asked["model"] = model_for(client)
    list(client.chat.completions.create(**asked, stream=stream))
    text = path.read_text(encoding="utf-8")
    assert not [secret for secret in (*SECRETS, "authorization", "openai-organization") if secret in text]
    again = connect("replay", path).chat.completions.create(**asked)
    assert again.choices[0].message.tool_calls[0].id == "call_1"


def test_a_recording_is_never_written_over(tmp_path):
    (tmp_path / "mine.json").write_text("{}", encoding="utf-8")
    with pytest.raises(BadSetup, match="is there already"):
        connect("script", lambda ask: Decision(text="x"), record=tmp_path / "mine.json")


@pytest.mark.parametrize("stream", [False, True])
def test_the_other_wire_form_is_recorded_and_replayed_too(tmp_path, stream):
    client = connect("script", lambda ask: Decision(text="已发货"), record=tmp_path / "r.json")
    asked = {"model": model_for(client), "input": "订单 10001 到哪了？"}
    told = client.responses.create(**asked, stream=stream)
    assert not stream or [event.type for event in told][-1] == "response.completed"
    assert connect("replay", tmp_path / "r.json").responses.create(**asked).output_text == "已发货"
