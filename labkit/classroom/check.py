"""`check` says what passed and what to think about, `hint` nudges, `progress` shows what is still open.

A check never stops a notebook: Run All on a fresh copy reaches the end. What it saw is kept beside the notebooks
in `.labkit/progress.json`, which belongs to the learner; `LABKIT_PROGRESS=off` keeps it in memory only.
`LABKIT_CHECK=strict` makes a check raise that has not passed.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from labkit.files import ROOT, write_text
from labkit.protocol.errors import BadFile

State = Literal["passed", "open", "not yet"]
HINT = re.compile(r"<details>\s*<summary>.*?</summary>(.*?)</details>", re.DOTALL)
_memory: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one check saw, printed as one line.

    >>> print(Outcome("3.1", "not yet", "an empty list of tools is refused"))
    3.1 not yet: an empty list of tools is refused
    """

    task: str
    state: State
    message: str = ""

    def __str__(self) -> str:
        return f"{self.task} {self.state}" + (f": {self.message}" if self.message else "")


@contextmanager
def check(task: str, *answers: Any) -> Iterator[None]:
    """Print how the answers fare against the assertions in its block; an untouched answer counts as open.

    >>> with check("0.9", 41):
    ...     assert 41 == 42, "almost: one is missing"
    0.9 not yet: almost: one is missing
    """
    error = None
    try:
        yield
    except Exception as caught:
        error = caught
    outcome = judge(task, answers, error)
    if outcome.state != "open":
        _record(outcome)
    print(outcome)
    if outcome.state != "passed" and os.environ.get("LABKIT_CHECK") == "strict":
        raise AssertionError(str(outcome)) from error


def judge(task: str, answers: tuple[Any, ...], error: Exception | None) -> Outcome:
    """The outcome of a check, from the answers it was given and the error that its block raised.

    >>> judge("3.1", (...,), TypeError("'ellipsis' object is not iterable")).state
    'open'
    """
    if any(is_blank(answer) for answer in answers):
        return Outcome(task, "open")
    if error is None:
        return Outcome(task, "passed")
    if isinstance(error, AssertionError):
        return Outcome(task, "not yet", str(error) or "an assertion of the check does not hold")
    return Outcome(task, "not yet", f"{type(error).__name__}: {error}")


def _code(text: str) -> bytes:
    scope: dict[str, Any] = {}
    exec(text, scope)
    return scope["f"].__code__.co_code


BLANK_CODE = frozenset(
    _code(f"{kind} f():\n {doc}\n ...") for kind in ("def", "async def") for doc in ("", "'doc'")
)


def is_blank(answer: Any) -> bool:
    """True for `...`, for a function whose body is only `...`, and for a container that holds one of them.

    >>> def mine(x): ...
    >>> [is_blank(value) for value in (..., mine, {"tools": [...]}, [], len)]
    [True, True, True, False, False]
    """
    if isinstance(answer, dict):
        return any(is_blank(value) for value in answer.values())
    if isinstance(answer, list | tuple):
        return any(is_blank(value) for value in answer)
    if isinstance(answer, type):
        return any(is_blank(value) for name, value in vars(answer).items() if not name.startswith("__"))
    code = getattr(answer, "__code__", None)
    return answer is ... or (code is not None and code.co_code in BLANK_CODE)


def hint(task: str, folder: Path | str = ".") -> None:
    """Print the next hint of a task, then the first again; raises `BadFile` for a task that is not there."""
    hints = _hints(task, Path(folder))
    row = _read(folder).get(task, {})
    shown = row.get("hints", 0)
    _write(folder, {**_read(folder), task: {**row, "hints": shown + 1}})
    number = shown % len(hints)
    print(f"{task} hint {number + 1} of {len(hints)}: {hints[number]}")


def _hints(task: str, folder: Path) -> list[str]:
    for path in notebooks(folder):
        for cell in cells(path):
            if cell["metadata"].get("labkit") == f"task {task}":
                return [text.strip() for text in HINT.findall("".join(cell["source"]))]
    raise BadFile(f"there is no task {task} in {folder}", hint="Tasks are named like 3.1: notebook, number.")


def progress(number: str = "", folder: Path | str = ".") -> None:
    """Print a line for each notebook, or for `number` only: what has passed and what is still open."""
    rows = _read(folder)
    for path in notebooks(Path(folder)):
        if not path.name.startswith(number):
            continue
        tasks = [cell["metadata"]["labkit"].split()[1] for cell in cells(path) if _is_exercise(cell)]
        passed = [task for task in tasks if rows.get(task, {}).get("state") == "passed"]
        still = " ".join(task for task in tasks if task not in passed)
        bar = "#" * len(passed) + "." * (len(tasks) - len(passed))
        print(
            f"{path.stem:34} {bar:5} {len(passed)} of {len(tasks)}" + (f"   open: {still}" if still else "")
        )


def _is_exercise(cell: dict[str, Any]) -> bool:
    return cell["metadata"].get("labkit", "").startswith("exercise ")


def notebooks(folder: Path) -> list[Path]:
    """The notebooks of the course in a folder, in order; those that were shipped when it has none."""
    return sorted(folder.glob("[0-9][0-9]_*.ipynb")) or sorted(
        (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")
    )


def cells(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook as they stand in its file; raises `BadFile` when it is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (ValueError, KeyError) as error:
        raise BadFile(
            f"{path.name} is not a notebook ({error})", hint="Restore it, or copy it anew."
        ) from None


def outcomes(folder: Path | str = ".") -> dict[str, dict[str, Any]]:
    """What the checks saw so far, by task: state, message, tries, hints."""
    return _read(folder)


def _record(outcome: Outcome, folder: Path | str = ".") -> None:
    rows = _read(folder)
    row = rows.get(outcome.task, {})
    seen = {"state": outcome.state, "message": outcome.message, "tries": row.get("tries", 0) + 1}
    _write(folder, {**rows, outcome.task: {**row, **seen}})


def _state_file(folder: Path | str) -> Path:
    return Path(folder) / ".labkit" / "progress.json"


def _read(folder: Path | str) -> dict[str, dict[str, Any]]:
    if os.environ.get("LABKIT_PROGRESS") == "off":
        return _memory
    try:
        rows = json.loads(_state_file(folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return rows if isinstance(rows, dict) else {}


def _write(folder: Path | str, rows: dict[str, dict[str, Any]]) -> None:
    if os.environ.get("LABKIT_PROGRESS") == "off":
        _memory.update(rows)
        return
    write_text(_state_file(folder), json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
