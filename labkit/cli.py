"""The commands of the course; what only one of them needs is imported inside it, so that each starts at once."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from labkit.classroom import check as lesson
from labkit.files import ROOT
from labkit.protocol.errors import LabError

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False
)
MINE = ROOT / "my_work"
Numbers = Annotated[list[str] | None, typer.Argument(help="chapters, such as 03; all of them when left out")]


@app.command()
def build(
    numbers: Numbers = None, check: Annotated[bool, typer.Option(help="only say what is stale")] = False
):
    """Build notebooks and solutions from solutions/NN_topic.py, or find the stale ones."""
    from labkit.classroom import workbook

    found = []
    for source in workbook.sources(numbers or ()):
        if check:
            found += workbook.stale(source)
            continue
        for path in workbook.build(source):
            print(f"built {path.parent.name}/{path.name}")
    if check:
        print("\n".join(found) or "nothing is stale")
    raise typer.Exit(1 if found else 0)


@app.command("hint")
def show_hint(task: Annotated[str, typer.Argument(help="a task, such as 3.1")]):
    """Print the next hint of a task."""
    lesson.hint(task, hand_out())


@app.command("progress")
def show_progress():
    """Print what has passed and what is still open."""
    lesson.progress(folder=hand_out())


def hand_out() -> Path:
    """The learner's own folder, with the notebooks it lacks copied in; none is ever written over."""
    MINE.mkdir(exist_ok=True)
    for source in sorted((ROOT / "notebooks").glob("*.ipynb")):
        if not (MINE / source.name).exists():
            shutil.copyfile(source, MINE / source.name)
    return MINE


def main() -> None:
    """Run a command; what a learner can mend is one line, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except LabError as error:
        print(f"labkit: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
