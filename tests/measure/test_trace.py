"""A run leaves a record with every field that the articles name; a file of them survives a crash."""

import json
from dataclasses import replace

import pytest

from labkit.connect import connect
from labkit.execution.executor import Executor
from labkit.execution.permission import Allow
from labkit.measure import trace
from labkit.protocol.errors import BadFile, BadSetup
from labkit.runtime import Agent
from labkit.service.brains.scripted import call, script
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop

S1_FIELDS = {
    "correlation_id", "prompt_version", "model", "toolset_version", "tool_choice", "parallel_tool_calls",
    "retry_count", "input_tokens", "output_tokens", "cached_tokens", "outcome",
}  # fmt: skip
S2_FIELDS = {"user_message", "tools_provided", "calls", "final_answer", "seconds"}


def _agent(*steps, **options) -> Agent:
    ticks = iter(range(1000))
    tools = shop_tools(Shop())
    client = connect("script", script(*steps))
    executor = Executor(tools, clock=lambda: 0.0)
    return Agent(
        client, "gpt-4.1-mini", tools, executor, lambda request: Allow(),
        clock=lambda: float(next(ticks)), new_id=lambda: "run_1", **options,
    )  # fmt: skip


@pytest.fixture
def record():
    agent = _agent(call("get_order", order_id="10001"), "已发货。")
    return trace.traced(agent, "帮我查订单 10001", prompt_version="v3")[1]


def test_a_record_has_every_field_of_both_articles(record):
    """covers: B6.1 5.3b"""
    names = {field.name for field in trace.fields(record)}
    assert names >= S1_FIELDS | S2_FIELDS
    assert (record.prompt_version, record.outcome, record.tool_names) == ("v3", "answered", ("get_order",))


def test_the_steps_add_up_to_the_run(record):
    assert sum(step.input_tokens for step in record.steps) == record.input_tokens > 0
    assert sum(step.calls for step in record.steps) == len(record.calls) == 1
    assert record.seconds == len(record.steps)


def test_money_is_the_price_of_the_tokens(record):
    fresh, cached = record.input_tokens - record.cached_tokens, record.cached_tokens
    expected = (fresh * 0.40 + cached * 0.10 + record.output_tokens * 1.60) / 1e6
    assert cached > 0
    assert float(record.usd) == pytest.approx(expected)


def test_contents_can_be_left_out():
    agent = _agent(call("get_order", order_id="10001"), "已发货。")
    _, silent = trace.traced(agent, "帮我查订单 10001", content=False)
    assert (silent.user_message, silent.final_answer, silent.calls[0].arguments) == ("", "", "")
    assert silent.calls[0].tool_name == "get_order"


def test_secrets_never_reach_a_record():
    said = "my password=hunter2，密钥 sk-proj-abcdefgh12345678 and sk-abcdefgh12345678"
    _, record = trace.traced(_agent("ok"), said)
    assert record.user_message == "my password=***，密钥 *** and ***"


def test_a_correction_counts_as_a_retry():
    agent = _agent(call("get_order", order_id="x"), call("get_order", order_id="10001"), "ok")
    assert trace.traced(agent, "查订单")[1].retry_count == 1


def test_records_come_back_from_the_file_as_they_were(record, tmp_path):
    path = tmp_path / "追踪 runs.jsonl"
    trace.append(path, [record])
    trace.append(path, [replace(record, correlation_id="run_2")])
    assert list(trace.read(path)) == [record, replace(record, correlation_id="run_2")]


def test_a_torn_last_line_is_passed_over_and_the_file_left_alone(record, tmp_path):
    path = tmp_path / "runs.jsonl"
    trace.append(path, [record])
    whole = path.read_bytes()
    torn = whole + whole[: whole.index("北".encode()) + 1]
    path.write_bytes(torn)
    assert list(trace.read(path)) == [record]
    assert path.read_bytes() == torn


def test_what_a_crash_tore_is_cut_off_before_more_is_written(record, tmp_path):
    path = tmp_path / "runs.jsonl"
    trace.append(path, [record])
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    trace.append(path, [record])
    assert path.read_bytes() == whole + whole


def test_a_last_line_without_its_end_is_a_row_all_the_same(record, tmp_path):
    path = tmp_path / "runs.jsonl"
    trace.append(path, [record])
    path.write_bytes(path.read_bytes().rstrip())
    assert list(trace.read(path)) == [record]
    trace.append(path, [record])
    assert list(trace.read(path)) == [record, record]


def test_damage_in_the_middle_is_told_by_line(record, tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"broken\n' + json.dumps({}) + "\n", encoding="utf-8")
    with pytest.raises(BadFile, match="line 1"):
        list(trace.read(path))


def test_a_thousand_runs_answer_which_tools_are_mixed_up(record):
    """covers: B6.1b"""
    wrong = replace(record, expected="get_weather")
    runs = [replace(wrong if i % 10 == 0 else record, correlation_id=str(i)) for i in range(1000)]
    assert trace.mixed_up(trace.database(runs)) == [("get_weather", "get_order", 100)]


def test_loading_the_same_runs_twice_does_not_double_them(record, tmp_path):
    for _ in range(2):
        db = trace.database([record], tmp_path / "runs.sqlite")
    assert [db.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("runs", "calls")] == [
        (1,),
        (1,),
    ]
    db.close()


def test_the_dearest_run_is_found_and_a_wrong_column_refused(record):
    db = trace.database([record, replace(record, correlation_id="dear", usd="0.9")])
    assert trace.worst(db, "usd", 1) == [("dear", "0.9")]
    with pytest.raises(BadSetup, match="no column"):
        trace.worst(db, "usd; DROP TABLE runs")


def test_spans_follow_the_conventions_for_generative_ai(record):
    """With the real SDK; skipped where the extra is not installed."""
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from labkit.measure import otel

    memory, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    otel.export([record], provider.get_tracer("labkit"), begin=1_796_000_000)
    spans = memory.get_finished_spans()
    assert [span.name for span in spans] == [
        "chat gpt-4.1-mini", "execute_tool get_order", "chat gpt-4.1-mini", "invoke_agent",
    ]  # fmt: skip
    root = spans[-1]
    assert root.attributes["gen_ai.usage.input_tokens"] == record.input_tokens
    assert all(span.parent.span_id == root.context.span_id for span in spans[:-1])
