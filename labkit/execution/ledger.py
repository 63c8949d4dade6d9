"""Operations and their states in SQLite, so that a write happens once, whoever crashes or repeats it.

`pending`: someone is at it. `committed`: it happened. `failed`: it did not. `unknown`: nobody can say yet.
`reconciled`: we asked, and it had happened. Only a failed operation may be begun again.
"""

import itertools
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, Literal
from uuid import uuid4

from labkit.execution.outcome import to_json

State = Literal["pending", "committed", "failed", "unknown", "reconciled"]

_TABLE = """CREATE TABLE IF NOT EXISTS ledger (operation_id TEXT PRIMARY KEY, state TEXT NOT NULL, tool TEXT,
    arguments TEXT, result TEXT, owner TEXT, claim TEXT, lease_ends REAL)"""
_CLAIM = """INSERT INTO ledger VALUES (?, 'pending', ?, ?, NULL, ?, ?, ?)
    ON CONFLICT (operation_id) DO UPDATE SET state = 'pending', tool = excluded.tool, result = NULL,
        arguments = excluded.arguments, owner = excluded.owner, claim = excluded.claim,
        lease_ends = excluded.lease_ends
    WHERE ledger.state = 'failed' RETURNING *"""
_SETTLE = """UPDATE ledger SET state = ?1, result = ?2 WHERE operation_id = ?3 AND CASE WHEN ?1 = 'committed'
    THEN state NOT IN ('committed', 'reconciled') ELSE state = 'pending' AND claim = ?4 END"""
_UNKNOWN = "(state = 'unknown' OR state = 'pending' AND lease_ends <= ?)"


@dataclass(frozen=True, slots=True)
class Entry:
    """One operation: `arguments` is a digest, `result` the JSON of what came of it; `claim` names the attempt
    that may carry it out until `lease_ends` (seconds of the ledger's clock)."""

    operation_id: str
    state: State
    tool: str = ""
    arguments: str = ""
    result: str | None = None
    owner: str = ""
    claim: str = ""
    lease_ends: float = 0.0

    @property
    def happened(self) -> bool:
        return self.state in ("committed", "reconciled")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service says of an operation: that it happened, that it never arrived, or neither."""

    state: Literal["happened", "absent", "unknown"]
    result: Any = None


class Ledger:
    """The states of all operations, shared by threads, processes and restarts through one SQLite file.

    A claim is a lease: who dies with it loses it after `lease` seconds, or as soon as a ledger of the same
    `owner` is opened, and the operation is unknown. Two ledgers alive must not share an `owner` (S1 §4.2).

    >>> ledger = Ledger()
    >>> entry, ours = ledger.claim("refund:10001", "refund_order")
    >>> ledger.settle(entry, "unknown")
    >>> ledger.reconcile("refund:10001", lambda operation_id: Answer("happened", {"paid": 1})).state
    'reconciled'
    >>> ledger.claim("refund:10001", "refund_order")[1]
    False
    """

    def __init__(
        self,
        path: str | PathLike[str] = ":memory:",
        *,
        owner: str | None = None,
        lease: float = 60.0,
        clock: Callable[[], float] = time.time,
    ):
        self.owner, self.lease, self.clock = owner or uuid4().hex, lease, clock
        self._claims, self._life, self._lock = itertools.count(1), uuid4().hex, threading.Lock()
        self._connection = sqlite3.connect(
            fspath(path), timeout=30, isolation_level=None, check_same_thread=False
        )
        self.close = weakref.finalize(self, self._connection.close)
        self._run("PRAGMA journal_mode = WAL")
        self._run(_TABLE)
        self._run("UPDATE ledger SET state = 'unknown' WHERE state = 'pending' AND owner = ?", self.owner)

    def claim(
        self, operation_id: str, tool: str = "", arguments: str = "", *, lease: float | None = None
    ) -> tuple[Entry, bool]:
        """The entry, and whether it is now ours to carry out: if nobody began it, or it has failed."""
        claim = f"{self._life}:{next(self._claims)}"
        ends = self.clock() + (self.lease if lease is None else lease)
        if rows := self._run(_CLAIM, operation_id, tool, arguments, self.owner, claim, ends):
            return Entry(*rows[0]), True
        return self._entries("operation_id = ?", operation_id)[0], False

    def settle(self, entry: Entry, state: State, result: Any = None) -> None:
        """Say how a claimed operation ended; "committed" is believed even from one who has lost the claim."""
        self._run(_SETTLE, state, _text(result), entry.operation_id, entry.claim)

    def reconcile(self, operation_id: str, ask: Callable[[str], Answer]) -> Entry | None:
        """Ask about an unknown operation and write the answer down; one that raises leaves it unknown."""
        entry = self.entry(operation_id)
        if entry is None or entry.state != "unknown":
            return entry
        try:
            answer = ask(operation_id)
        except Exception:
            return entry
        return self.conclude(operation_id, answer)

    def conclude(self, operation_id: str, answer: Answer) -> Entry | None:
        """Write down what a service, or a person, answered about an unknown operation."""
        if answer.state != "unknown":
            state = "reconciled" if answer.state == "happened" else "failed"
            update = f"UPDATE ledger SET state = ?, result = ? WHERE operation_id = ? AND {_UNKNOWN}"
            self._run(update, state, _text(answer.result), operation_id, self.clock())
        return self.entry(operation_id)

    def entry(self, operation_id: str) -> Entry | None:
        return next(iter(self._entries("operation_id = ?", operation_id)), None)

    def unsettled(self) -> list[Entry]:
        """The operations that someone must ask about, oldest first: what to look at after a restart."""
        return self._entries(_UNKNOWN, self.clock())

    def _entries(self, condition: str, *values: Any) -> list[Entry]:
        state = f"iif({_UNKNOWN}, 'unknown', state)"
        columns = f"operation_id, {state}, tool, arguments, result, owner, claim, lease_ends"
        query = f"SELECT {columns} FROM ledger WHERE {condition} ORDER BY rowid"
        return [Entry(*row) for row in self._run(query, self.clock(), *values)]

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()


def _text(result: Any) -> str:
    try:
        return to_json(result)
    except (TypeError, ValueError, RecursionError):
        return "null"
