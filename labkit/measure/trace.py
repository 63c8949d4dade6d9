"""What a run leaves behind: one record a run, one a call and one a step, with every field that S1 §5.3 and
S2 §6.1 name.

Records go to JSON lines, append-only, and from there into SQLite, where a thousand runs can be asked.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from labkit.control.choice import Parameters
from labkit.execution.outcome import Observation, redact
from labkit.files import append_jsonl, read_appended
from labkit.measure.cost import money, price_of
from labkit.protocol.errors import BadSetup
from labkit.protocol.messages import Message, Usage
from labkit.runtime import Agent, State, run
from labkit.runtime.machine import choice_now

PREVIEW = 200
Arrow = tuple[State, State, float]  # before, after, seconds


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One arrow of the machine: seconds by the agent's clock, tokens spent, tool results that came in."""

    state: str
    next: str
    seconds: float
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    calls: int


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One tool call and what came of it; `attempts` counts tries of the tool, not of the model."""

    tool_name: str
    arguments: str
    status: str
    error_type: str
    attempts: int
    seconds: float
    operation_id: str
    result_preview: str


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A whole run; texts are empty when contents are not recorded, `usd` is None for an unpriced model.

    `retry_count` is how often something was tried again: by the model, or by the tool layer.
    `expected` is the tool that a label asks for, where an eval knows it.
    """

    correlation_id: str
    user_message: str
    prompt_version: str
    model: str
    toolset_version: str
    tools_provided: tuple[str, ...]
    tool_choice: str
    parallel_tool_calls: bool | None
    calls: tuple[CallRecord, ...]
    steps: tuple[StepRecord, ...]
    model_calls: int
    retry_count: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    usd: str | None
    seconds: float
    outcome: str
    final_answer: str
    expected: str = ""

    @property
    def usage(self) -> Usage:
        return Usage(self.input_tokens, self.output_tokens, self.cached_tokens)

    @property
    def tool_names(self) -> tuple[str, ...]:
        return tuple(call.tool_name for call in self.calls)


_RECORD = TypeAdapter(RunRecord)


def watch(agent: Agent) -> tuple[Agent, list[Arrow]]:
    """The same agent, its offers worked out only once, and the list that its arrows will go to."""
    arrows: list[Arrow] = []
    watched = replace(agent, on_step=lambda *arrow: arrows.append(arrow))
    object.__setattr__(watched, "offers", agent.offers)
    return watched, arrows


def traced(
    agent: Agent, start: Any, *, prompt_version: str = "", content: bool = True, **who: Any
) -> tuple[State, RunRecord]:
    """Run an agent and keep the record; `content=False` leaves out what people and tools said."""
    watched, arrows = watch(agent)
    state = run(watched, start, **who)
    return state, record(watched, state, arrows, prompt_version=prompt_version, content=content)


def record(
    agent: Agent,
    state: State,
    arrows: Iterable[Arrow],
    *,
    prompt_version: str = "",
    content: bool = True,
) -> RunRecord:
    """The record of a run that went through these arrows."""
    arrows = tuple(arrows)
    steps = tuple(_step(*arrow) for arrow in arrows)
    usage, paid = state.usage, money(state.usage, price_of(agent.model))
    say = _redacted if content else lambda text: ""
    calls = tuple(_call(seen, say) for seen in state.observations)
    corrections = sum(after.run.corrections > before.run.corrections for before, after, _ in arrows)
    choice = choice_now(agent, arrows[0][0].run if arrows else state.run)
    offered = agent.offers.get(choice, Parameters())
    return RunRecord(
        correlation_id=state.run.id,
        user_message=say(_last_user(state.run.chain)),
        prompt_version=prompt_version,
        model=agent.model,
        toolset_version=agent.toolbox.fingerprint,
        tools_provided=tuple(agent.toolbox.names),
        tool_choice=json.dumps(offered.get("tool_choice", choice.mode)),
        parallel_tool_calls=agent.parallel,
        calls=calls,
        steps=steps,
        model_calls=state.steps,
        retry_count=corrections + sum(max(0, call.attempts - 1) for call in calls),
        input_tokens=usage.input,
        output_tokens=usage.output,
        cached_tokens=usage.cached,
        usd=None if paid is None else str(paid),
        seconds=sum(step.seconds for step in steps),
        outcome=state.reason,
        final_answer=say(state.answer),
    )


def append(path: Path | str, records: Iterable[RunRecord]) -> None:
    append_jsonl(path, map(plain, records))


def plain(record: RunRecord) -> dict[str, Any]:
    """The record as a dict, ready to be a line; `from_json` is the way back."""
    return _RECORD.dump_python(record)


def read(path: Path | str) -> Iterator[RunRecord]:
    """The records of a file; a last line torn by a crash is passed over, other damage raises `BadFile`."""
    return map(from_json, read_appended(path))


def from_json(row: dict[str, Any]) -> RunRecord:
    """The record of one line; fields of another version of labkit are left out."""
    return _RECORD.validate_python(row)


def database(records: Iterable[RunRecord], path: Path | str = ":memory:") -> sqlite3.Connection:
    """The records as two tables, `runs` and `calls`; running it again on one file replaces, never doubles."""
    db = sqlite3.connect(path)
    runs = [f.name for f in fields(RunRecord) if f.name not in ("calls", "steps", "tools_provided")]
    calls = ["correlation_id", "position", *(f.name for f in fields(CallRecord))]
    db.execute(f"CREATE TABLE IF NOT EXISTS runs ({', '.join(runs)}, PRIMARY KEY (correlation_id))")
    key = "PRIMARY KEY (correlation_id, position)"
    db.execute(f"CREATE TABLE IF NOT EXISTS calls ({', '.join(calls)}, {key})")
    for row in map(plain, records):
        about = {"correlation_id": row["correlation_id"]}
        db.execute("DELETE FROM calls WHERE correlation_id = :correlation_id", about)
        db.execute(_insert("runs", runs), row)
        made = [call | about | {"position": position} for position, call in enumerate(row["calls"])]
        db.executemany(_insert("calls", calls), made)
    db.commit()
    return db


def mixed_up(db: sqlite3.Connection) -> list[tuple[str, str, int]]:
    """Which tool was called first where a label asked for another: (expected, called, runs), worst first."""
    return db.execute(
        "SELECT expected, coalesce(tool_name, 'none') AS called, count(*) AS n FROM runs LEFT JOIN calls "
        "ON calls.correlation_id = runs.correlation_id AND position = 0 "
        "WHERE expected != '' AND expected != called GROUP BY 1, 2 ORDER BY n DESC, 1, 2"
    ).fetchall()


def worst(db: sqlite3.Connection, column: str, most: int = 5) -> list[tuple[str, Any]]:
    """The runs with the most of a number: "seconds", "usd", "retry_count", "input_tokens" …"""
    if column not in {row[1] for row in db.execute("PRAGMA table_info(runs)")}:
        hint = "Take seconds, usd, retry_count, input_tokens …"
        raise BadSetup(f"a run has no column {column!r}", hint=hint)
    order = f"CAST({column} AS REAL) DESC"
    return db.execute(
        f"SELECT correlation_id, {column} FROM runs ORDER BY {order} LIMIT ?", [most]
    ).fetchall()


def _insert(table: str, columns: Iterable[str]) -> str:
    return f"INSERT OR REPLACE INTO {table} VALUES ({', '.join(f':{column}' for column in columns)})"


def _step(before: State, after: State, seconds: float) -> StepRecord:
    old, new = before.usage, after.usage
    spent = (new.input - old.input, new.output - old.output, new.cached - old.cached)
    calls = len(after.observations) - len(before.observations)
    return StepRecord(before.name, after.name, seconds, *spent, calls)


def _call(seen: Observation, say: Callable[[Any], str]) -> CallRecord:
    return CallRecord(
        tool_name=seen.tool_name,
        arguments=say(seen.call.arguments),
        status=seen.status,
        error_type=seen.error.kind if seen.error else "",
        attempts=seen.attempts,
        seconds=seen.seconds,
        operation_id=seen.operation_id,
        result_preview=say(seen.content)[:PREVIEW],
    )


def _redacted(text: Any) -> str:
    return redact(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False))


def _last_user(chain: tuple[Message, ...]) -> str:
    return next((message.content for message in reversed(chain) if message.role == "user"), "")
