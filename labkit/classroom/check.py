"""`check` says what passed and what to think about, `hint` nudges, `progress` shows what is still open.

A check never stops a notebook: Run All on a fresh copy reaches the end. What it saw is kept beside the
notebooks in `.labkit/progress.json`, which belongs to the learner; `LABKIT_PROGRESS=off` keeps it in memory.
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
STATE = Path(".labkit") / "progress.json"
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
        tries = _rows().get(task, {}).get("tries", 0)
        _note(".", task, state=outcome.state, message=outcome.message, tries=tries + 1)
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
    shown = _rows(folder).get(task, {}).get("hints", 0)
    _note(folder, task, hints=shown + 1)
    number = shown % len(hints)
    print(f"{task} hint {number + 1} of {len(hints)}: {hints[number]}")


def _hints(task: str, folder: Path) -> list[str]:
    for path in notebooks(folder):
        for cell in cells(path):
            found = HINT.findall("".join(cell["source"]))
            if cell["metadata"].get("labkit") == f"task {task}" and found:
                return [text.strip() for text in found]
    raise BadFile(f"no hints for {task} in {folder}", hint="Tasks are named like 3.1: notebook, number.")


def progress(number: str = "", folder: Path | str = ".") -> None:
    """Print a line for each notebook, or for `number` only: what has passed and what is still open."""
    rows = _rows(folder)
    for path in notebooks(Path(folder), number):
        roles = [cell["metadata"].get("labkit", "") for cell in cells(path)]
        tasks = [role.removeprefix("exercise ") for role in roles if role.startswith("exercise ")]
        still = [task for task in tasks if rows.get(task, {}).get("state") != "passed"]
        done = len(tasks) - len(still)
        bar = "#" * done + "." * len(still)
        print(
            f"{path.stem:34} {bar:5} {done} of {len(tasks)}" + ("   open: " * bool(still)) + " ".join(still)
        )


def notebooks(folder: Path, number: str = "") -> list[Path]:
    """The notebooks of the course in a folder, in order; the shipped ones when it holds none."""
    pattern = f"{number or '[0-9][0-9]'}_*.ipynb"
    return sorted(folder.glob(pattern)) or sorted((ROOT / "notebooks").glob(pattern))


def cells(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook as they stand in its file; raises `BadFile` when it is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (ValueError, KeyError) as error:
        raise BadFile(
            f"{path.name} is not a notebook ({error})", hint="Restore it, or copy it anew."
        ) from None


def _rows(folder: Path | str = ".") -> dict[str, dict[str, Any]]:
    """What is known of each task: state, message, tries, hints; nothing when the file is gone or broken."""
    if os.environ.get("LABKIT_PROGRESS") == "off":
        return _memory
    try:
        rows = json.loads((Path(folder) / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return rows if isinstance(rows, dict) else {}


def _note(folder: Path | str, task: str, **news: Any) -> None:
    rows = _rows(folder)
    rows[task] = rows.get(task, {}) | news
    if rows is not _memory:
        write_text(Path(folder) / STATE, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
