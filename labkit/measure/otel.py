"""Run records as OpenTelemetry spans, by the semantic conventions for generative AI.

`invoke_agent` over the run, under it `chat` for each model call and `execute_tool` for each tool call. The
extra `labkit[otel]` brings the SDK.
"""

from collections.abc import Iterable
from itertools import islice

from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer, set_span_in_context

from labkit.measure.trace import CallRecord, RunRecord, StepRecord

SECOND = 1_000_000_000


def export(records: Iterable[RunRecord], tracer: Tracer, *, begin: float) -> None:
    """Send the spans of these runs to `tracer`; `begin` (s since 1970) is when the first one started."""
    start = int(begin * SECOND)
    for one in records:
        start = _run(one, tracer, start)


def _run(one: RunRecord, tracer: Tracer, start: int) -> int:
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": one.correlation_id,
        "gen_ai.request.model": one.model,
        "gen_ai.usage.input_tokens": one.input_tokens,
        "gen_ai.usage.output_tokens": one.output_tokens,
        "labkit.outcome": one.outcome,
        "labkit.prompt_version": one.prompt_version,
        "labkit.toolset_version": one.toolset_version,
        "labkit.tool_choice": one.tool_choice,
        "labkit.retry_count": one.retry_count,
    }
    span = tracer.start_span("invoke_agent", attributes=attributes, start_time=start)
    context, calls, now = set_span_in_context(span), iter(one.calls), start
    for step in one.steps:
        began, now = now, now + int(step.seconds * SECOND)
        if step.input_tokens:
            _chat(one.model, step, tracer, context, began, now)
        for call in islice(calls, step.calls):
            _tool(call, tracer, context, now)
    span.end(now)
    return now


def _chat(model: str, step: StepRecord, tracer: Tracer, context: Context, start: int, end: int) -> None:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": step.input_tokens,
        "gen_ai.usage.output_tokens": step.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": step.cached_tokens,
    }
    tracer.start_span(f"chat {model}", context, SpanKind.CLIENT, attributes, start_time=start).end(end)


def _tool(call: CallRecord, tracer: Tracer, context: Context, end: int) -> None:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.tool_name,
        "gen_ai.tool.call.arguments": call.arguments,
        "gen_ai.tool.call.result": call.result_preview,
        "labkit.attempts": call.attempts,
    }
    failed = {"error.type": call.error_type} if call.error_type else {}
    name, start = f"execute_tool {call.tool_name}", end - int(call.seconds * SECOND)
    span = tracer.start_span(name, context, attributes=attributes | failed, start_time=start)
    if failed:
        span.set_status(Status(StatusCode.ERROR, call.error_type))
    span.end(end)
