"""What is asked through a cheaper door is what `post` asks; what goes wrong there is the SDK's own error."""

import asyncio

import httpx2
import openai
import pytest

from labkit.connect import connect, sent
from labkit.execution.executor import Executor
from labkit.execution.permission import Allow
from labkit.files import read_appended
from labkit.measure.cases import golden
from labkit.measure.quick import quick, straight
from labkit.measure.runner import Desk, _online, aevaluate, desk_unit
from labkit.runtime import Agent, arun, run
from labkit.runtime.drive import post
from labkit.service.api import Service
from labkit.service.brains.scripted import call
from labkit.service.decide import Decision
from labkit.service.faults import Fault
from labkit.service.server import serving
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

BODY = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "帮我查订单 10001 \U0001f600"}]}
PATH = "/chat/completions"


def one_client(answer, kind=openai.OpenAI):
    http = httpx2.Client if kind is openai.OpenAI else httpx2.AsyncClient
    transport = httpx2.MockTransport(answer)
    extra = {"http_client": http(transport=transport), "default_headers": {"x-team": "desk"}, "timeout": 7}
    return kind(api_key="sk-a", base_url="http://mock/v1/", organization="o", max_retries=0, **extra)


def ask(door, client):
    async def later():
        return await door(client, PATH, BODY)

    return asyncio.run(later()) if isinstance(client, openai.AsyncOpenAI) else door(client, PATH, BODY)


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
def test_the_same_bytes_are_sent_as_by_post(kind):
    requests = []

    def answer(request):
        requests.append(request)
        return httpx2.Response(200, json={"n": len(requests)})

    client = one_client(answer, kind)
    assert [ask(door, client)["n"] for door in (post, quick, quick)] == [1, 2, 3]
    theirs, *ours = [(one.method, one.url, one.headers, one.content, one.extensions) for one in requests]
    assert ours == [theirs, theirs]


def failing_with(answer, door):
    def raising(request):
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(openai.OpenAIError) as caught:
        ask(door, one_client(raising))
    error = caught.value
    return type(error), str(error), getattr(error, "status_code", None), getattr(error, "code", None)


QUOTA = {"error": {"message": "no money", "code": "insufficient_quota", "type": "insufficient_quota"}}


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(429, json=QUOTA, headers={"retry-after": "2"}),
        httpx2.Response(400, json={"error": {"message": "bad", "param": "messages"}}),
        httpx2.Response(401, text="who?"),
        httpx2.Response(503),
        httpx2.ReadTimeout("slow"),
        httpx2.ConnectError("nobody there"),
    ],
)
def test_what_goes_wrong_is_what_the_sdk_says_to_it(answer):
    assert failing_with(answer, quick) == failing_with(answer, post)


def test_a_stream_is_left_to_the_sdk():
    lines = b'data: {"a": 1}\n\ndata: [DONE]\n\n'
    head = {"content-type": "text/event-stream"}
    client = one_client(lambda request: httpx2.Response(200, headers=head, content=lines))
    assert list(quick(client, PATH, BODY, stream=True)) == [{"a": 1}]


@pytest.mark.parametrize("fault", [Fault(1, lost=True), Fault(1, wait=9)])
def test_trouble_on_the_way_is_met_on_the_way(fault):
    """A lost reply, a wait longer than the client's patience: there is no way without HTTP to have them."""
    errors = []
    for door in (post, straight):
        client = connect("script", lambda ask: Decision("never heard"), faults=[fault]).with_options(
            timeout=1
        )
        with pytest.raises(openai.APIConnectionError) as caught:
            door(client, PATH, BODY)
        errors.append(type(caught.value))
    assert errors[0] is errors[1]


def desk(client, model="gpt-4.1-mini", **options):
    tools = shop_tools(Shop())
    return Agent(client, model, tools, Executor(tools), lambda request: Allow(), **options)


@pytest.mark.parametrize("door", [quick, straight])
def test_a_run_is_the_same_through_every_door(door):
    ends, requests = [], []
    for one in (None, door):
        client = connect("sim")
        state = run(desk(client, door=one), "帮我查订单 10001", run_id="same")
        ends.append((state.chain, state.usage, state.reason, state.answer))
        requests.append([(seen.path, seen.body, seen.status) for seen in sent(client)])
    assert ends[0] == ends[1] and requests[0] == requests[1] and len(requests[0]) == 2


def test_a_run_in_a_loop_is_the_same_too():
    states = []
    for one in (None, quick):
        client = connect("sim", asynchronous=True)
        states.append(asyncio.run(arun(desk(client, door=one), "帮我查订单 10001", run_id="same")))
    assert states[0].chain == states[1].chain and states[0].steps == 2


@pytest.mark.parametrize("model", ["no-such-model", "gpt-4.1-mini"])
def test_a_refusal_of_the_service_ends_a_run_as_it_does_over_http(model):
    """An unknown model, and a brain that breaks: the same end, in the same words."""
    ends = []
    for door in (None, straight):
        agent = desk(connect("script", lambda ask: 1 / 0), model, door=door, sleep=lambda seconds: None)
        state = run(agent, "hi")
        ends.append((state.name, state.reason, str(state.run.chain)))
    assert ends[0] == ends[1] and ends[0][0] == "Stopped"


@pytest.mark.parametrize("named", [True, False])
def test_an_eval_over_a_socket_is_answered(tmp_path, monkeypatch, named):
    """Twelve samples over a real connection: side by side at a URL, one by one at LABKIT_CLIENT's."""

    def brain(ask):
        told = ask.messages[-1].role == "tool"
        return (
            Decision("订单 10001 已发货。")
            if told
            else Decision(calls=(call("get_order", order_id="10001"),))
        )

    path = tmp_path / "rows.jsonl"
    with serving(Service(brain)) as url:
        monkeypatch.setenv("LABKIT_CLIENT", url)
        unit = desk_unit(Desk(url if named else None, "gpt-4.1-mini", asynchronous=named))
        assert asyncio.run(aevaluate(golden()[:12], 1, unit, path, concurrency=4)) == 12
        named or _online(url, asynchronous=False).close()
    rows = list(read_appended(path))
    assert [row["called"] for row in rows] == [["get_order"]] * 12
    assert {row["trace"]["final_answer"] for row in rows} == {"订单 10001 已发货。"}
