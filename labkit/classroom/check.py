"""`check` says what passed and what to think about, `hint` nudges, `answer` opens late, `progress` counts.

A check never stops a notebook: Run All on a fresh copy reaches the end. What it saw is kept beside the
notebooks in `.labkit/progress.json`, which belongs to the learner; `LABKIT_PROGRESS=off` keeps it in memory.
`LABKIT_CHECK=strict` makes a check raise that has not passed.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from dis import get_instructions
from pathlib import Path
from typing import Any, Literal

from labkit.files import ROOT, write_text
from labkit.protocol.errors import BadFile

State = Literal["passed", "open", "not yet"]
TASK = re.compile(r"[a-z]+ (\d+)\.\d+")
HINT = re.compile(r"<details>\s*<summary>.*?</summary>(.*?)</details>", re.DOTALL)
STATE = Path(".labkit") / "progress.json"
SHIPPED = ROOT / "notebooks"
TRIES = 3
MARKS = {"passed": "#", "not yet": "~", "open": "."}
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
    ...     assert 41 + 1 == 42, "almost: one is missing"
    0.9 passed
    """
    error = None
    try:
        yield
    except Exception as caught:
        error = caught
    outcome = judge(task, answers, error)
    print(outcome)
    if outcome.state != "open":
        record(outcome)
    if outcome.state == "not yet" and count(".", task, "tries") >= TRIES:
        print(f"{task} was tried {TRIES} times, so its answer is open: labkit answer {task}")
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


def _blank(): ...


async def _later(): ...


def _steps(function: Any) -> list[tuple[str, Any]]:
    return [(step.opname, step.argval) for step in get_instructions(function)]


BLANKS = [_steps(_blank), _steps(_later)]


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
    return answer is ... or (hasattr(answer, "__code__") and _steps(answer) in BLANKS)


def record(outcome: Outcome, folder: Path | str = ".") -> None:
    """Note what a check saw; all but a blank counts as a try."""
    tries = count(folder, outcome.task, "tries") + (outcome.state != "open")
    note(folder, outcome.task, state=outcome.state, message=outcome.message, tries=tries)


def hint(task: str, folder: Path | str = ".") -> None:
    """Print the next hint of a task, then the first again; raises `BadFile` for a task that is not there."""
    hints = [text.strip() for text in HINT.findall(find(SHIPPED, f"task {task}")[1])]
    shown = count(folder, task, "hints")
    note(folder, task, hints=shown + 1)
    number = shown % len(hints)
    print(f"{task} hint {number + 1} of {len(hints)}: {hints[number]}")


def answer(task: str, folder: Path | str = ".") -> None:
    """Print the course's answer, once yours has passed or was tried three times; `BadFile` as for `hint`."""
    source = find(ROOT / "solutions", f"exercise {task}")[1]
    tries = count(folder, task, "tries")
    if tries < TRIES and _state(_rows(folder), task) != "passed":
        source = f"{task} opens when your answer passes, or after {TRIES} tries; so far {tries}"
    print(source)


def find(folder: Path, role: str) -> tuple[Path, str]:
    """The notebook that holds the cell of a role, such as `exercise 3.1`, and the source of that cell."""
    if match := TASK.fullmatch(role):
        for path in notebooks(folder, match[1].zfill(2)):
            for cell in cells(path):
                if cell["metadata"].get("labkit") == role:
                    return path, cell["source"]
    raise BadFile(f"there is no {role} in {folder.name}", hint="Tasks are named like 3.1: notebook, number.")


def standing(number: str = "", folder: Path | str = ".") -> dict[str, dict[str, State]]:
    """How each task stands, by notebook; raises `BadFile` for a notebook that cannot be read."""
    rows, stands = _rows(folder), {}
    for path in notebooks(Path(folder), number):
        roles = [cell["metadata"].get("labkit", "") for cell in cells(path)]
        tasks = [role.removeprefix("exercise ") for role in roles if role.startswith("exercise ")]
        stands[path.stem] = {task: _state(rows, task) for task in tasks}
    return stands


def progress(number: str = "", folder: Path | str = ".") -> None:
    """Print a bar for each notebook, or for `number` only: # has passed, ~ was tried, . is still open."""
    for name, tasks in (stands := standing(number, folder)).items():
        still = [task for task, state in tasks.items() if state != "passed"]
        print(f"{name:34} {_bar(tasks):5} {_done(tasks)}" + "   open: " * bool(still) + " ".join(still))
    if number:
        return
    every = {task: state for tasks in stands.values() for task, state in tasks.items()}
    ordered = dict(sorted(every.items(), key=lambda item: list(MARKS).index(item[1])))
    print(f"{'all together':34} {_bar(ordered)} {_done(every)}   # passed  ~ tried  . open")


def _bar(tasks: dict[str, State]) -> str:
    return "".join(MARKS[state] for state in tasks.values())


def _done(tasks: dict[str, State]) -> str:
    return f"{list(tasks.values()).count('passed')} of {len(tasks)}"


def notebooks(folder: Path, number: str = "") -> list[Path]:
    """The notebooks of the course in a folder, in order, or the shipped ones; `BadFile` without any."""
    pattern = f"{number or '[0-9][0-9]'}_*.ipynb"
    own = sorted(path for path in folder.glob(pattern) if ".new" not in path.suffixes)
    if not (found := own or sorted(SHIPPED.glob(pattern))):
        raise BadFile(f"there is no notebook {number}", hint="labkit progress lists them.")
    return found


def cells(path: Path) -> list[dict[str, Any]]:
    """Type, metadata and source of each cell of a notebook file; raises `BadFile` when it is none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["cells"]
        kept = ("cell_type", "metadata")
        return [{k: cell[k] for k in kept} | {"source": "".join(cell["source"])} for cell in found]
    except (ValueError, KeyError, TypeError) as error:
        raise no_notebook(path, error) from None


def no_notebook(path: Path, error: Exception) -> BadFile:
    """What to say of a file that should be a notebook and cannot be read as one."""
    hint = "Move it away and run labkit update: that brings a fresh copy."
    return BadFile(f"{path.name} is not a notebook ({type(error).__name__})", hint=hint)


def _rows(folder: Path | str = ".") -> dict[str, dict[str, Any]]:
    """What is known of each task: state, message, tries, hints; a file that cannot be read is set aside."""
    if os.environ.get("LABKIT_PROGRESS") == "off":
        return _memory
    path = Path(folder) / STATE
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {task: row for task, row in rows.items() if isinstance(row, dict)}
    except OSError:
        return {}
    except (ValueError, AttributeError):
        with suppress(OSError):
            path.replace(path.with_suffix(".broken.json"))
            print(f"{path} is no longer JSON: it is kept as progress.broken.json, and counting starts anew")
        return {}


def note(folder: Path | str, task: str, **news: Any) -> None:
    """Keep news about a task, or about the copies that were handed out, in the learner's file."""
    rows = _rows(folder)
    rows[task] = rows.get(task, {}) | news
    if rows is _memory:
        return
    try:
        write_text(Path(folder) / STATE, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    except OSError as error:
        print(f"(progress is not kept: {error})")


def count(folder: Path | str, task: str, what: str) -> int:
    """A number from the learner's file; 0 where it holds none."""
    number = _rows(folder).get(task, {}).get(what)
    return number if isinstance(number, int) else 0


def given(copy: Path) -> str:
    """The fingerprint that a copy had when it was handed out; empty when nobody noted it."""
    return str(_rows(copy.parent).get("copies", {}).get(copy.name, ""))


def _state(rows: dict[str, dict[str, Any]], task: str) -> State:
    state = rows.get(task, {}).get("state")
    return state if state in ("passed", "not yet") else "open"
