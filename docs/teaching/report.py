"""How a class stands, without names: `uv run docs/teaching/report.py FOLDER`.

It reads every progress file below the folder, under any name; for a hub that is `.labkit/hub/people`.
Names, paths, answers, and what only one person was told, are never printed.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

TASK = re.compile(r"\d+\.\d+")
SHARED, LONGEST = 2, 100
Rows = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Standing:
    """One exercise: people by state, median and most of their tries, hints taken, the usual refusal."""

    task: str
    passed: int
    trying: int
    open: int
    tries: float
    most: int
    hints: int
    refusal: str = ""

    def __str__(self) -> str:
        numbers = (self.passed, self.trying, self.open, f"{self.tries:g}", self.most, self.hints)
        return (
            f"{self.task:>6}" + "".join(f"{number:>8}" for number in numbers) + f"  {self.refusal}".rstrip()
        )


HEAD = f"{'task':>6}" + "".join(
    f"{word:>8}" for word in ("passed", "trying", "open", "tries", "most", "hints")
)


def read(folder: Path) -> tuple[list[Rows], int]:
    """The tasks of every progress file below a folder, and how many JSON files were none."""
    found = [tasks(path) for path in sorted(folder.rglob("*.json"))]
    return [rows for rows in found if rows is not None], found.count(None)


def tasks(path: Path) -> Rows | None:
    """What one file says of tasks; nothing when it is no progress file."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        found = {task: dict(row) for task, row in rows.items() if TASK.fullmatch(task)}
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    return found if found or "copies" in rows else None


def standings(people: list[Rows]) -> Iterator[Standing]:
    """Each exercise that somebody touched, in the order of the course."""
    touched = {task for rows in people for task in rows}
    for task in sorted(touched, key=lambda name: [int(part) for part in name.split(".")]):
        seen = [rows.get(task, {}) for rows in people]
        states = Counter(row.get("state", "open") for row in seen)
        tries = [number(row, "tries") for row in seen if number(row, "tries")] or [0]
        hints = sum(number(row, "hints") for row in seen)
        yield Standing(
            task,
            states["passed"],
            states["not yet"],
            len(seen) - states["passed"] - states["not yet"],
            median(tries),
            max(tries),
            hints,
            usual(str(row.get("message", "")) for row in seen if row.get("state") == "not yet"),
        )


def number(row: dict[str, Any], name: str) -> int:
    value = row.get(name)
    return value if isinstance(value, int) else 0


def usual(messages: Iterable[str]) -> str:
    """The refusal that most people look at now, if more than one does."""
    best = Counter(" ".join(message.split()) for message in messages if message).most_common(1)
    return best[0][0][:LONGEST] if best and best[0][1] >= SHARED else ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    sys.stdout.reconfigure(errors="backslashreplace")
    people, strangers = read(parser.parse_args().folder)
    print(f"{len(people)} people" + f"; {strangers} files are no progress files" * bool(strangers))
    print("\n".join([HEAD, *map(str, standings(people))]))


if __name__ == "__main__":
    main()
