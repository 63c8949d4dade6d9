"""The shop as a database: deterministic, small enough to be compared whole before and after."""

import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labkit.files import dataset
from labkit.shop.payments import Fault, Payments

NOW = "2026-09-01T09:00:00+08:00"
Row = dict[str, Any]
Snapshot = dict[str, dict[Any, Row]]


class Shop:
    """Orders, customers, products, tickets, mail, calendar, weather, payments and operations in SQLite.

    A file that holds a shop is opened as it is; a new one gets the rows of `datasets/shop/world.sql`.
    `faults` trouble the payment service.

    >>> Shop().rows("SELECT state, tracking FROM orders WHERE id = ?", "10001")
    [{'state': 'shipped', 'tracking': 'SF123'}]
    """

    def __init__(self, path: str | Path = ":memory:", *, faults: Sequence[Fault] = ()):
        self._lock, shared = threading.RLock(), {"isolation_level": None, "check_same_thread": False}
        self._database = sqlite3.connect(path, timeout=30, **shared)
        self._database.row_factory = sqlite3.Row
        self.close = weakref.finalize(self, self._database.close)
        if str(path) == ":memory:":
            _first_morning().backup(self._database)
        self._database.execute("PRAGMA journal_mode = WAL")
        self.payments = Payments(self.transaction, faults, NOW)
        self.seen: tuple[Any, Snapshot] = None, {}
        with self.transaction() as database:
            if not self.rows("SELECT name FROM sqlite_master"):
                _fill(database)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and nobody else meanwhile."""
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            yield self._database

    def rows(self, query: str, *values: Any) -> list[Row]:
        with self._lock:
            found = self._database.execute(query, values)
            names = [column[0] for column in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found]


@cache
def _first_morning() -> sqlite3.Connection:
    """A shop to copy, since most shops are opened in memory and live for one run."""
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _fill(database)
    return database


def _fill(database: sqlite3.Connection) -> None:
    for statement in dataset("shop/world.sql").read_text(encoding="utf-8").split(";\n"):
        database.execute(statement)


@dataclass(frozen=True, slots=True)
class Change:
    """One row that differs; None where it is not there."""

    table: str
    key: Any
    before: Row | None
    after: Row | None


def snapshot(shop: Shop) -> Snapshot:
    """The whole database as a value: table, then key, then row; read anew only when something was written."""
    with shop.transaction() as database:
        version = (database.total_changes, *database.execute("PRAGMA data_version").fetchone())
        if version != shop.seen[0]:
            tables = shop.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            names = [table["name"] for table in tables]
            rows = {name: shop.rows(f"SELECT * FROM {name}") for name in names}
            shop.seen = version, {name: {next(iter(r.values())): r for r in rows[name]} for name in names}
        return shop.seen[1]


def diff(before: Snapshot, after: Snapshot) -> tuple[Change, ...]:
    """Every row that came, went or changed.

    >>> diff({"mail": {}}, {"mail": {4: {"id": 4, "box": "out"}}})
    (Change(table='mail', key=4, before=None, after={'id': 4, 'box': 'out'}),)
    """
    keys = [(table, key) for table in after for key in dict.fromkeys([*before[table], *after[table]])]
    rows = [(table, key, before[table].get(key), after[table].get(key)) for table, key in keys]
    return tuple(Change(*row) for row in rows if row[2] != row[3])
