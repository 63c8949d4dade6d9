"""The service behind every write: one operation, one effect, however often it is asked; planned trouble."""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count
from sqlite3 import Connection
from typing import Any, Literal

from labkit.execution.ledger import Answer
from labkit.execution.outcome import to_json
from labkit.protocol.errors import Transient

Moment = Literal["before", "after"]
Transaction = Callable[[], AbstractContextManager[Connection]]


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong at request number `at` (from 1): `act` runs before the work is done or after it."""

    at: int
    moment: Moment
    act: Callable[[], None]


def lost_before(at: int) -> Fault:
    """The request never arrives."""
    return Fault(at, "before", _break_connection)


def lost_after(at: int) -> Fault:
    """The work is done, its reply is lost."""
    return Fault(at, "after", _break_connection)


def throttled(at: int, retry_after: float | None = None) -> Fault:
    """Refused with 429; `retry_after` in seconds."""

    def refuse() -> None:
        raise Transient("the payment service is busy (429)", retry_after=retry_after)

    return Fault(at, "before", refuse)


def slow(at: int, seconds: float, moment: Moment = "before", sleep: Any = time.sleep) -> Fault:
    """The work is done `seconds` late, or its reply comes late."""
    return Fault(at, moment, lambda: sleep(seconds))


def killed(at: int, moment: Moment = "after") -> Fault:
    """The process dies on the spot, with exit status 9."""
    return Fault(at, moment, lambda: os._exit(9))


def _break_connection() -> None:
    raise ConnectionResetError("connection reset by the payment service")


class Payments:
    """Does a piece of work once for each operation id, in one transaction with the note that it is done."""

    def __init__(self, transaction: Transaction, faults: Sequence[Fault], at: str):
        self._transaction, self.faults, self._at, self._numbers = transaction, tuple(faults), at, count(1)

    def perform(self, operation_id: str, kind: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The result of `work`, or of the same operation before; without an id it is done each time."""
        with self._trouble(), self._transaction() as database:
            known = database.execute("SELECT result FROM operations WHERE id = ?", (operation_id,)).fetchone()
            if known:
                return json.loads(known["result"])
            result = to_json(work())
            if operation_id:
                row = (operation_id, kind, "done", result, self._at)
                database.execute("INSERT INTO operations VALUES (?, ?, ?, ?, ?)", row)
            return json.loads(result)

    def query(self, operation_id: str) -> Answer:
        """What became of an operation: the question that comes before any second try (S1 §4.2)."""
        with self._trouble(), self._transaction() as database:
            known = database.execute("SELECT result FROM operations WHERE id = ?", (operation_id,)).fetchone()
            return Answer("happened", json.loads(known["result"])) if known else Answer("absent")

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        number = next(self._numbers)
        planned = [fault for fault in self.faults if fault.at == number]
        for fault in planned:
            if fault.moment == "before":
                fault.act()
        yield
        for fault in planned:
            if fault.moment == "after":
                fault.act()
