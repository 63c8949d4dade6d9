"""The pages that follow from the chapters: `uv run docs/teaching/pages.py` writes them anew.

Minutes are an estimate by a stated rule, routes add them up; the misconceptions are the wrong answers that
prove the checks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from labkit.classroom.workbook import SOLUTION, Cell, read_chapter, sources
from labkit.files import write_text

HERE = Path(__file__).parent
WORD = re.compile(r"[A-Za-z0-9_'-]+|[\u4e00-\u9fff]{2}")
ASIDE = re.compile(r"<!--.*?-->|<details>.*?</details>|```.*?```|\]\([^)]*\)", re.DOTALL)
HEADING, TITLE = re.compile(r"^(?=##? )", re.MULTILINE), re.compile("##? (.+)")
BOLD = re.compile(r"\*\*(\d+\.\d+)? *(.+?)\*\*", re.DOTALL)
WORDS_A_MINUTE, LINES_A_MINUTE, FIRST_MINUTES, ANSWER_LINES_A_MINUTE = 120, 12, 3, 1.5
MINUTES = f"""# Minutes

Made by `uv run docs/teaching/pages.py` from the chapters: {WORDS_A_MINUTE} words or
{LINES_A_MINUTE} lines of code a minute; for an exercise {FIRST_MINUTES} minutes, and one more for
every {ANSWER_LINES_A_MINUTE} lines of our answer; folded hints count nothing. The rates were chosen,
not measured: **an estimate until a class has been timed.** When you have timed one, change
the rates at the top of the script and say in the commit how many people they come from.

| section | exercises | minutes |
|---|---|--:|
"""
ROUTES = """# Routes

Made by `uv run docs/teaching/pages.py`, from the lists at its top and the [minutes](minutes.md), which are an
estimate. Add a tenth for questions, and a break every ninety minutes. A section that is not listed is for
reading at home, and so is an exercise. Nothing in a notebook depends on an exercise.
"""
# Sections by number; `/` names the exercises done in class (else all); a bare number is a whole chapter.
PLANS = (
    (
        "90 minutes: why a tool call is a request and not an action",
        "0.1 0.2/ 1.1 1.2 1.3/1.2 3.1/ 3.2 6.1 6.2 7.1 7.2 8.1 8.2/ 8.4/",
        "For people who decide whether to build. Who is done early reads the next section.",
    ),
    (
        "Half a day: a loop that can be trusted",
        "0.1 0.2/ 0.3 1.1 1.2 1.3/1.2 1.5 2.2/ 3.1 3.2 3.3 5.1 5.6/ 6.1 6.2 6.4 6.5 "
        "7.1 7.2 7.4 8.1 8.2 8.4 9.1 10.1 10.2/",
        "For people who build next week. The first break comes after the loop of 1.5 has been written.",
    ),
    (
        "Two days: the whole course",
        "0 1 2 3 4 5 6 7 8 9 10 11 12",
        "Notebooks 0 to 6 on the first day, the others on the second. Some take the capstone home.",
    ),
)
MISCONCEPTIONS = """# Misconceptions

Made by `uv run docs/teaching/pages.py` from the `wrong` cells of the chapters: answers of
somebody who thinks wrongly in a usual way. A test proves that each is refused with a sentence
that teaches. They are what we expect, not a count; what *your* class thinks stands in its
[report](README.md#after-the-room). Ask for the reason before you show the remedy.

| exercise | what somebody thinks or does |
|---|---|
"""


@dataclass
class Section:
    """A heading with what stands below it."""

    title: str
    cells: list[Cell] = field(default_factory=list)

    @property
    def tasks(self) -> list[str]:
        return [cell.task for cell in self.cells if cell.role == "exercise"]

    @property
    def minutes(self) -> int:
        return max(1, round(sum(map(minutes, self.cells))))


def minutes(cell: Cell) -> float:
    """What one cell takes by the rule."""
    if cell.role == "exercise":
        answer = SOLUTION.search(cell.source)[3].strip().splitlines()
        return FIRST_MINUTES + len(answer) / ANSWER_LINES_A_MINUTE
    if cell.kind == "markdown":
        return len(WORD.findall(ASIDE.sub("", cell.source))) / WORDS_A_MINUTE
    return 0 if cell.role else len(cell.source.splitlines()) / LINES_A_MINUTE


def sections(chapter: Path) -> list[Section]:
    """The sections of a chapter; the first holds its title and what stands before the first `##`."""
    found: list[Section] = []
    for cell in read_chapter(chapter):
        prose = cell.kind == "markdown"
        for part in HEADING.split(cell.source) if prose else [cell.source]:
            if prose and (title := TITLE.match(part)):
                found.append(Section(title[1]))
            if part.strip():
                found[-1].cells.append(replace(cell, source=part))
    return found


def timed(chapter: Path) -> Iterator[str]:
    first, *rest = sections(chapter)
    tasks, whole = sum(len(one.tasks) for one in rest), sum(one.minutes for one in (first, *rest))
    yield f"| **{first.title}** | {tasks} | **{whole}** |"
    yield from (f"| {one.title} | {' '.join(one.tasks)} | {one.minutes} |" for one in rest)


def misread(chapter: Path) -> Iterator[str]:
    """A row for each exercise: its name, and why somebody would answer it wrongly."""
    cells = read_chapter(chapter)
    for task in (cell for cell in cells if cell.role == "task"):
        title = BOLD.search(task.source)
        name = title[2].rstrip(".") if title else ""
        whys = [cell.why for cell in cells if (cell.role, cell.task) == ("wrong", task.task)]
        yield f"| {task.task} {' '.join(name.split())} | {' · '.join(whys)} |"


def spent(wanted: str, one: Section) -> tuple[float, list[str]]:
    """What a section of a plan takes, and the exercises that are done in it."""
    _, slash, named = wanted.partition("/")
    done = [task for task in one.tasks if not slash or task in named.split(",")]
    kept = [cell for cell in one.cells if cell.role != "exercise" or cell.task in done]
    return sum(map(minutes, kept)), done


def route(title: str, plan: str, words: str) -> Iterator[str]:
    """A table: a row for each chapter, with its sections, its exercises and its minutes."""
    yield f"\n## {title}\n\n{words}\n\n| notebook | sections | exercises | minutes |\n|---|---|---|--:|\n"
    wanted, whole = {one.partition("/")[0]: one for one in plan.split()}, 0.0
    for chapter in sources():
        first, *rest = sections(chapter)
        number, _, name = first.title.partition(". ")
        taken = [one for one in rest if number in wanted or one.title.split()[0] in wanted]
        parts = [spent(wanted.get(one.title.split()[0], ""), one) for one in taken]
        if taken:
            time = sum(part[0] for part in parts)
            whole += time
            titles = "all" if number in wanted else " ".join(one.title.split()[0] for one in taken)
            tasks = " ".join(task for part in parts for task in part[1])
            yield f"| {number}. {name} | {titles} | {tasks} | {round(time)} |\n"
    yield f"| **together** | | | **{round(whole)}** |\n"


def pages() -> dict[str, str]:
    """The pages by file name."""
    parts = {"minutes.md": (MINUTES, timed), "misconceptions.md": (MISCONCEPTIONS, misread)}
    tables = {
        name: head + "".join(f"{row}\n" for chapter in sources() for row in rows(chapter))
        for name, (head, rows) in parts.items()
    }
    return tables | {"routes.md": ROUTES + "".join(line for plan in PLANS for line in route(*plan))}


if __name__ == "__main__":
    for name, text in pages().items():
        write_text(HERE / name, text)
        print(f"wrote {name}")
