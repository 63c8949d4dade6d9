"""Parts add up to what was counted, forecasts come near to what was spent, a budget stops a run cleanly."""

import pytest

from labkit.connect import connect, sent
from labkit.control.context import Context, Example
from labkit.execution.executor import Executor
from labkit.execution.permission import Allow
from labkit.files import dataset, read_jsonl
from labkit.measure.cases import golden
from labkit.measure.cost import forecast, money, parts, price_of, schemas
from labkit.measure.runner import RETRY, Desk, Sample
from labkit.measure.trace import traced
from labkit.protocol.families import family
from labkit.protocol.messages import check_chain
from labkit.protocol.tokens import count_request, count_tools
from labkit.runtime import Agent, run
from labkit.runtime.machine import Budget
from labkit.service.brains.scripted import call, looping, script
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

RULES = "你是客服。只有参数明确时才调用工具。You are a support desk; never guess an order number."
EXAMPLES = (
    Example("帮我查 10001", "get_order", '{"order_id": "10001"}', '{"state": "shipped"}', "已发货。"),
)


def _agent(client, **options):
    shop = Shop()
    tools = shop_tools(shop)
    executor = Executor(tools, ask=shop.payments.query, retry=RETRY)
    return Agent(client, "gpt-4.1-mini", tools, executor, lambda request: Allow(), **options)


@pytest.fixture
def last_body():
    client = connect("script", script(call("get_order", order_id="10002"), "好"))
    prompt = Context(RULES, EXAMPLES)
    run(_agent(client, context=lambda chain: prompt.messages(chain)), "帮我查 10002")
    return sent(client)[-1].body


def test_the_parts_of_a_request_add_up_to_its_tokens(last_body):
    found = parts(last_body, examples=4)
    assert sum(found.values()) == count_request(last_body, family("gpt-4.1-mini")).total
    assert min(found[name] for name in ("schemas", "rules", "few_shot", "dynamic", "results")) > 0


def test_a_result_in_an_example_is_few_shot_and_not_a_result(last_body):
    with_examples, without = parts(last_body, examples=4), parts(last_body)
    assert with_examples["few_shot"] > 0 == without["few_shot"]
    assert without["results"] > with_examples["results"]


def test_c03_every_tool_has_its_price_in_every_call():
    """C03: 89 tools nobody budgeted; a subset against allowed_tools, which sends them all."""
    rows = read_jsonl(dataset("tool_catalogs/github_mcp_tools.jsonl"))
    tools = [{"type": "function", "function": row["function"]} for row in rows]
    each = schemas(tools, "gpt-4o")
    turns, few = 4, tools[:3]
    whole = count_tools(tools, family("gpt-4o"))
    assert len(each) == len(tools) and min(each.values()) > 0
    assert sum(each.values()) == pytest.approx(whole, rel=0.01)
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
    plain, all_tools, subset = (
        forecast(body | {"tools": some}, replies=[20] * turns, results=[50] * (turns - 1)).usage.input
        for some in ([], tools, few)
    )
    assert all_tools - plain == pytest.approx(turns * whole, abs=turns * 8)
    assert all_tools - subset == pytest.approx(
        turns * (whole - count_tools(few, family("gpt-4o"))), abs=turns * 8
    )


def test_c03_allowed_tools_sends_the_whole_list():
    client = connect("script", script("好"))
    run(_agent(client, candidates=lambda state: ["get_order"]), "你好")
    assert len(sent(client)[0].body["tools"]) == 13


PILOTS = {
    "01 loop": ("北京今天天气怎么样？", "上海今天需要带伞吗？", "", {}),
    "02 description": ("Weather in Beijing today?", "Weather in Shanghai today?", RULES, {}),
    "03 control": ("帮我查订单 10001", "帮我查订单 20003", RULES, {"parallel": False}),
    "04 examples": ("帮我查订单 10001", "帮我查订单 10002", RULES, {"examples": EXAMPLES}),
    "05 strict": ("看一下工单 T-1001", "看一下工单 T-1002", RULES, {}),
    "07 side effects": ("把订单 10001 退款，坏了", "把订单 20003 退款，坏了", RULES, {}),
    "08 injection": ("总结工单 T-1001", "总结工单 T-1002", RULES, {}),
    "11 refuse": ("写一首诗", "讲个笑话", RULES, {}),
}


@pytest.mark.parametrize("name", PILOTS)
def test_a_forecast_from_a_pilot_is_within_ten_percent(name):
    """Issue 6.6: a pilot run gives the sizes of replies and results; the forecast is for another sentence."""
    pilot, sentence, rules, options = PILOTS[name]
    prompt = Context(rules or "客服", options.get("examples", ()))
    settings = {"context": lambda chain: prompt.messages(chain), "options": {"seed": 1, "temperature": 0.1}}
    one, other = (Spent(_agent(connect("sim"), **settings), asked) for asked in (pilot, sentence))
    assert abs(_error([one], [other])) < 0.10, (name, one, other)


def test_a_pilot_that_was_corrected_forecasts_a_correction():
    """Notebook 06: a model that first writes the number wrongly pays for a third call."""
    runs = []
    for number, said in (("10001", "订单 10001 已发货。"), ("20003", "订单 20003 已付款，还没有发货。")):
        steps = (call("get_order", order_id=f"#{number}"), call("get_order", order_id=number), said)
        runs.append(Spent(_agent(connect("script", script(*steps))), f"帮我查订单 {number}"))
    assert len(runs[0].replies) == 3 and abs(_error(runs[:1], runs[1:])) < 0.10


def test_a_day_of_mixed_questions_is_forecast_from_a_few_of_them():
    """Notebook 09: at temperature 1 hardly a run is like the average one, but the sum of forty is."""
    asked = [
        "北京今天天气怎么样？",
        "Where is order 10002?",
        "读一下工单 T-1001",
        "2026-09-02 有什么会议？",
        "谢谢",
        "帮我查 99999",
    ]
    runs = []
    for n in range(60):
        options = {"temperature": 1.0, "seed": n}
        runs.append(Spent(_agent(connect("sim"), options=options), asked[n % len(asked)]))
    assert len({len(run.replies) for run in runs}) > 1 and abs(_error(runs[:18], runs[18:])) < 0.10


def test_an_eval_is_forecast_from_one_case_in_five():
    """Notebook 10: half of the golden set, whose kinds need one turn or three."""
    desk = Desk("sim", rules=RULES)
    samples = [Sample(desk, case, 0) for case in golden()[::2]]
    runs = [Spent(sample.agent, sample.case.input, **sample.who) for sample in samples]
    assert abs(_error(runs[::5], [run for n, run in enumerate(runs) if n % 5])) < 0.10


class Spent:
    """One run: its first request, the sizes of its replies and of what came back between them, its bill."""

    def __init__(self, agent, sentence, **who):
        _, record = traced(agent, sentence, **who)
        self.body, self.usage = sent(agent.client)[0].body, record.usage
        inputs = [step.input_tokens for step in record.steps if step.input_tokens]
        self.replies = [step.output_tokens for step in record.steps if step.input_tokens]
        grown = zip(inputs, inputs[1:], self.replies, strict=False)
        self.results = [after - before - reply for before, after, reply in grown]

    def __repr__(self):
        return f"{self.replies}, {self.results}: {self.usage.total}"


def _error(pilots, runs):
    """Each run is forecast from its own first request, as if it went on like the pilots on average."""
    sizes = [(pilot.replies, pilot.results) for pilot in pilots]
    expected = sum(
        forecast(run.body, replies=replies, results=results).usage.total
        for run in runs
        for replies, results in sizes
    )
    return expected / len(pilots) / sum(run.usage.total for run in runs) - 1


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(tokens=1), "over_budget"),
        (Budget(seconds=2.5), "over_budget"),
        (
            Budget(money=0.0001, price=lambda used: float(money(used, price_of("gpt-4.1-mini")))),
            "over_budget",
        ),
        (Budget(), "max_steps"),
    ],
)
def test_a_budget_of_any_kind_ends_a_run_with_a_sound_history(budget, reason):
    """Tokens, time, money and calls: the run stops before the next call, and nothing is left unanswered."""
    ticks = iter(range(10_000))
    agent = _agent(connect("script", looping), budget=budget, max_steps=5, clock=lambda: next(ticks))
    state = run(agent, "帮我查订单 10001")
    assert (state.name, state.reason) == ("Stopped", reason)
    check_chain(state.chain)
    assert (state.steps == 5) == (reason == "max_steps")


def test_time_is_counted_over_a_pause_in_which_nobody_works():
    ticks = iter(range(10_000))
    agent = _agent(
        connect("script", looping), budget=Budget(seconds=1000), max_steps=2, clock=lambda: next(ticks)
    )
    state = run(agent, "帮我查订单 10001")
    assert state.run.seconds == next(ticks) // 2
