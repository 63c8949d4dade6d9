"""A learner's own agent, read from his notebook or file, and judged by the seven criteria of S1."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.classroom import criteria
from labkit.classroom.check import cells, is_blank
from labkit.classroom.criteria import Work, play, results
from labkit.measure.runner import Row
from labkit.protocol.errors import BadFile
from labkit.shop.world import Shop


@dataclass(frozen=True, slots=True)
class Finding:
    """One criterion: what was seen, what is missing, and the notebook to read again."""

    title: str
    seen: str
    missing: Sequence[str]
    lesson: str

    def __str__(self) -> str:
        todo = [*self.missing[:3], f"read notebook {self.lesson} again"] if self.missing else []
        return "\n    ".join([f"{'missing' if todo else 'passed '} {self.title} ({self.seen})", *todo])


def read(path: Path, *, full: bool = False) -> Work:
    """The work in a Python file, or in the first code cell and the answers of a notebook (`BadFile`)."""
    scope: dict[str, Any] = {"__name__": "capstone"}
    for name, source in _sources(path):
        try:
            exec(compile(source, name, "exec"), scope)
        except (Exception, SystemExit) as error:
            said = f"{name} does not run by itself: {type(error).__name__}: {error}"
            raise BadFile(said, hint="Only imports and answers count: move what it needs there.") from None
    parts = {part: scope.get(part, ...) for part in ("build", "SCHEMAS", "GATE")}
    if still := [part for part, value in parts.items() if is_blank(value)]:
        raise BadFile(f"{path.name}: still open: {', '.join(still)}", hint="Notebook 12 says what each is.")
    return Work(*parts.values(), scope.get("answer", str), full)


def _sources(path: Path) -> Iterator[tuple[str, str]]:
    if not path.is_file():
        raise BadFile(f"there is no file {path}", hint="Give a notebook or a Python file with build().")
    if path.suffix != ".ipynb":
        yield path.name, path.read_text(encoding="utf-8")
        return
    for number, cell in enumerate(cell for cell in cells(path) if cell["cell_type"] == "code"):
        role = cell["metadata"].get("labkit", "")
        if number == 0 or role.startswith("exercise"):
            yield f"{path.name}, {role or 'first cell'}", cell["source"]


OWNER = {"tool_error": 4, "side_effect": 4, "injection": 5}  # whose the golden cases of a kind are, else 6
CRITERIA = (
    ("1 tool_choice is hard, a prompt is soft", criteria.hard_control, "03"),
    ("2 a strict schema written by hand", criteria.strict_by_hand, "05"),
    ("3 parallel calls are replayed", criteria.replayed, "01"),
    ("4 errors are sorted into five classes", criteria.sorted_errors, "06"),
    ("5 an injected result moves nothing", criteria.unmoved, "08"),
    ("6 a golden set measures the prompt", criteria.measured, "10"),
    ("7 retries, tokens, P95, cache in the gate", criteria.gated, "11"),
)


def failing(work: Work, criterion: int) -> list[str]:
    """The golden cases of a criterion that fail although the model does all that is expected of it."""
    rows = [row for row in results(work.build, work.full, "reference") if not held(row)]
    lost = [row for row in rows if OWNER.get(row["kind"], 6) == criterion]
    return [f"golden case {row['case']} fails {row['grader_error']}".strip() for row in lost]


def held(row: Row) -> bool:
    """Who may not do a thing may be denied it, or never be offered it."""
    grade = row["grade"] or {"success": False, "action": "", "harm": 1}
    refused = (row["kind"], grade["action"], grade["harm"]) == ("unauthorised", "refuse", 0)
    return grade["success"] or refused


def graduate(work: Work) -> Iterator[Finding]:
    """The findings, criterion by criterion, as they come; raises `BadFile` where there is no agent."""
    try:
        work.agent(play(), Shop())
    except Exception as error:
        hint = "build(shop, client, ledger) must return an Agent."
        raise BadFile(f"build does not work: {type(error).__name__}: {error}", hint=hint) from None
    for number, (title, criterion, lesson) in enumerate(CRITERIA, 1):
        try:
            seen, missing = criterion(work)
            missing += failing(work, number)
        except Exception as error:
            seen, missing = "not reached", [f"{type(error).__name__}: {error}"]
        yield Finding(title, seen, missing, lesson)
