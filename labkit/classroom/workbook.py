"""One source, two notebooks: `solutions/NN_topic.py` is the chapter with its answers; both are built from it.

The title of a cell says what it is for: `task`, `exercise`, `check`, and the `wrong` and `right` answers that
prove the check and are never shown. What is built is the same, byte for byte, however often it is built.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import jupytext
import nbformat
import watchfiles
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from labkit.classroom.check import Outcome, no_notebook, notebooks, record
from labkit.files import ROOT, write_text
from labkit.protocol.errors import BadFile

TITLE = re.compile(r"(task|exercise|check|wrong|right) (\d+\.\d+)(?: +(.*))?$")
SOLUTION = re.compile(
    r"^([ \t]*)### BEGIN SOLUTION\n((?:[ \t]*# blank: [^\n]*\n)*)(.*?)^[ \t]*### END SOLUTION(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
ANSI = re.compile(r"\x1b\[[0-9;]*m")
SAID = re.compile(r"^(\d+\.\d+) (passed|open|not yet)(?:: (.*))?$", re.MULTILINE)
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
WIDGET = "application/vnd.jupyter.widget-view+json"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a chapter; `role` and `task` come from its title, such as `exercise 3.1`."""

    kind: str
    source: str
    role: str = ""
    task: str = ""
    why: str = ""
    tags: tuple[str, ...] = ()


def sources(numbers: Iterable[str] = ()) -> list[Path]:
    """The chapters of the course, or those named by number; raises `BadFile` for one that is not there."""
    wanted = [number.zfill(2) for number in numbers] or [""]
    found = {n: sorted((ROOT / "solutions").glob(f"{n or '[0-9][0-9]'}_*.py")) for n in wanted}
    if missing := [number for number, paths in found.items() if number and not paths]:
        hint = "Name a chapter by its number, such as 03."
        raise BadFile(f"there is no solutions/{missing[0]}_*.py", hint=hint)
    return [path for paths in found.values() for path in paths]


def read_chapter(path: Path) -> tuple[Cell, ...]:
    """The cells of a chapter in order; raises `BadFile` when an exercise has no place for an answer."""
    chapter = tuple(_cell(raw) for raw in jupytext.read(path, fmt="py:percent").cells)
    for cell in chapter:
        if cell.role == "exercise" and not SOLUTION.search(cell.source):
            raise BadFile(
                f"{path.name}, exercise {cell.task}: the solution markers are missing",
                hint="Put ### BEGIN SOLUTION and ### END SOLUTION around what the learner is to write.",
            )
    return chapter


def _cell(raw: NotebookNode) -> Cell:
    role, task, why = "", "", ""
    if match := TITLE.match(raw.metadata.get("title", "")):
        role, task, why = match[1], match[2], match[3] or ""
    return Cell(raw.cell_type, raw.source, role, task, why, tuple(raw.metadata.get("tags", ())))


def cut(source: str, *, answers: bool) -> str:
    """An exercise with its answer, or with the blank in its place.

    >>> print(cut("def f(x):\\n    ### BEGIN SOLUTION\\n    return x\\n    ### END SOLUTION", answers=False))
    def f(x):
        ...  # your turn
    """

    def replace(match: re.Match[str]) -> str:
        indent, blank, answer = match.groups()
        return answer if answers else blank.replace("# blank: ", "") or f"{indent}...  # your turn\n"

    return SOLUTION.sub(replace, source).rstrip("\n")


def notebook(chapter: Iterable[Cell], *, answers: bool) -> NotebookNode:
    """The chapter as a notebook that has not run; cell ids follow from what a cell says, for small diffs."""
    built = nbformat.v4.new_notebook(metadata={"kernelspec": KERNEL, "language_info": {"name": "python"}})
    seen: dict[str, int] = {}
    for cell in chapter:
        if cell.role in ("wrong", "right"):
            continue
        name = f"{cell.role}-{cell.task.replace('.', '-')}" if cell.role else _digest(cell.kind + cell.source)
        seen[name] = seen.get(name, 0) + 1
        node = (nbformat.v4.new_code_cell if cell.kind == "code" else nbformat.v4.new_markdown_cell)(
            cut(cell.source, answers=answers) if cell.role == "exercise" else cell.source,
            id=name if seen[name] == 1 else f"{name}-{seen[name]}",
            metadata={"labkit": f"{cell.role} {cell.task}"} if cell.role else {},
        )
        if cell.tags:
            node.metadata["tags"] = list(cell.tags)
        built.cells.append(node)
    return built


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def quiet_environment(**more: str) -> dict[str, str]:
    """The variables of this process without what would change a lesson: keys, and settings of labkit."""
    ours = ("LABKIT_", "OPENAI_")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(ours) and "_API_KEY" not in k}
    return {**kept, "PYTHONUTF8": "1", "LABKIT_PROGRESS": "off", **more}


def execute(built: NotebookNode, folder: Path, environment: dict[str, str], **options: Any) -> NotebookNode:
    """Run a notebook in a fresh kernel and keep only what every run has in common; a failing cell raises."""
    client = NotebookClient(
        built,
        timeout=300,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--IPKernelApp.log_level=40"],
        **options,
    )
    try:
        client.execute(env=environment)
    except AssertionError:  # Ctrl-C: nbclient shuts its kernel down, and then misses it
        raise KeyboardInterrupt from None
    built.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for output in (output for cell in built.cells for output in cell.get("outputs", ())):
        output.get("data", {}).pop(WIDGET, None)
    return built


def build(source: Path) -> list[Path]:
    """Make and run both notebooks of a chapter; nothing is written unless both run to the end."""
    chapter, texts = read_chapter(source), {}
    for answers, path in _targets(source).items():
        built = notebook(chapter, answers=answers)
        environment = quiet_environment(**({"LABKIT_CHECK": "strict"} if answers else {}))
        with tempfile.TemporaryDirectory() as folder:
            write_text(Path(folder) / path.name, nbformat.writes(built))
            try:
                texts[path] = nbformat.writes(execute(built, Path(folder), environment)) + "\n"
            except CellExecutionError as error:
                raise BadFile(
                    f"{path.parent.name}/{path.name}: a cell fails\n{ANSI.sub('', str(error))}"
                ) from None
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)


def stale(source: Path) -> list[str]:
    """Why the notebooks of a chapter are not what its source makes of them, if so; nothing is run."""
    chapter, reasons = read_chapter(source), []
    for answers, path in _targets(source).items():
        name = f"{path.parent.name}/{path.name}"
        if not path.exists():
            reasons.append(f"{name} has not been built")
            continue
        wanted = notebook(chapter, answers=answers).cells
        found = nbformat.read(path, as_version=4).cells
        if [_said(cell) for cell in wanted] != [_said(cell) for cell in found]:
            reasons.append(f"{name} differs from solutions/{source.name}")
        counts = [cell.execution_count for cell in found if cell.cell_type == "code"]
        if counts != list(range(1, len(counts) + 1)):
            reasons.append(f"{name} was not run from top to bottom")
    return reasons


def _said(cell: NotebookNode) -> tuple[Any, ...]:
    return cell.id, cell.cell_type, cell.source, dict(cell.metadata)


def _targets(source: Path) -> dict[bool, Path]:
    name = source.with_suffix(".ipynb").name
    return {False: source.parent.parent / "notebooks" / name, True: source.parent / name}


def run_checks(folder: Path, number: str, **settings: str) -> list[Outcome]:
    """Run a learner's notebook in memory, past cells that fail, and return what each check said.

    Raises `BadFile` when there is no such notebook, when it is damaged, and when it does not come to an end.
    """
    path = notebooks(folder, number)[0]
    environment = {**os.environ, "PYTHONUTF8": "1", **settings}
    try:
        book = nbformat.read(path, as_version=4)
        ran = execute(book, folder, environment, allow_errors=True)
    except (ValueError, AttributeError, nbformat.ValidationError) as error:
        raise no_notebook(path, error) from None
    except (CellTimeoutError, DeadKernelError) as error:
        raise BadFile(f"{path.name} does not run to its end: {str(error).splitlines()[0]}") from None
    heard: dict[str, list[NotebookNode]] = {}
    for cell in ran.cells:
        role, _, task = cell.metadata.get("labkit", "").partition(" ")
        if role in ("exercise", "check"):
            heard.setdefault(task, []).extend(cell.get("outputs", ()))
    return [_outcome(task, outputs) for task, outputs in heard.items()]


def _outcome(task: str, outputs: list[NotebookNode]) -> Outcome:
    """What a check said; where it was not reached, the first error in its way."""
    if said := SAID.search("".join(output.get("text", "") for output in outputs)):
        return Outcome(*said.groups(""))
    errors = [f"{output.ename}: {output.evalue}" for output in outputs if output.output_type == "error"]
    return Outcome(task, "not yet", errors[0] if errors else "its check was not reached")


def watch(folder: Path, tell: Callable[[str], Any] = print, stop: Event | None = None) -> None:
    """Run the checks of every notebook that is saved in `folder`, and tell what changed, until Ctrl-C."""
    tell(f"watching {folder.name}: save a notebook and its checks run; Ctrl-C ends")
    known: dict[str, Outcome] = {}
    with suppress(KeyboardInterrupt):
        for changes in watchfiles.watch(folder, stop_event=stop, recursive=False):
            saved = {Path(path) for change, path in changes if change != watchfiles.Change.deleted}
            for path in sorted(saved & set(notebooks(folder))):
                tell(f"{path.stem} was saved: its checks run")
                tell("\n".join(_news(folder, path, known)) or "nothing new")


def _news(folder: Path, path: Path, known: dict[str, Outcome]) -> list[str]:
    try:
        said = run_checks(folder, path.name[:2], LABKIT_PROGRESS="off")
    except BadFile as error:
        return [str(error)]
    news = [outcome for outcome in said if known.get(outcome.task) != outcome]
    for outcome in news:
        record(outcome, folder)
        known[outcome.task] = outcome
    return [str(outcome) for outcome in news]
