"""Break labkit on purpose, and see whether anything turns red: `uv run .ci/mutate.py [part of a file name]`.

Each break of mutations.toml is made in a copy of the repository. The test that it names runs first, then the
tests of its folder, then its notebooks; the first red ends it. What is red without a break does not count.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE, REPORT = ROOT / ".ci" / "mutations.toml", ROOT / "docs" / "mutation.md"
AWAY = shutil.ignore_patterns(".git", ".venv", ".labkit", "my_work", "__pycache__", ".*_cache", ".hypothesis")
PYTEST = ("-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly")
RED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
FINE, SECONDS = (0, 5), 900
NOTICE = {  # after a break in this folder: tests, then notebooks by number
    "protocol": ("tests/schema tests/runtime tests/wire tests/service", "01 05"),
    "service": ("tests/service tests/wire tests/connect tests/brains", "00 01 02"),
    "control": ("tests/control", "02 03 04"),
    "execution": ("tests/execution tests/guard tests/runtime", "06 07 08"),
    "runtime": ("tests/runtime", "06 12"),
    "shop": ("tests/shop tests/execution tests/measure", "07"),
    "measure": ("tests/measure tests/guard", "09 10 11"),
    "classroom": ("tests/classroom tests/project", "00"),
    "": ("tests/connect tests/measure tests/classroom", "00 01"),
}


@dataclass(frozen=True)
class Break:
    """One line of labkit changed: where, from what, into what, in words; the test that should notice."""

    file: str
    old: str
    new: str
    words: str
    first: str
    survives: str = ""

    @property
    def folder(self) -> str:
        parts = Path(self.file).parts
        return parts[1] if len(parts) > 2 else ""

    def stages(self, copy: Path) -> Iterator[list[str]]:
        """What to run, the quickest first; each is a list of pytest's arguments."""
        tests, numbers = NOTICE[self.folder]
        yield [self.first]
        yield [self.file, *tests.split()]
        books = [
            path for number in numbers.split() for path in sorted(copy.glob(f"solutions/{number}_*.ipynb"))
        ]
        yield [path.relative_to(copy).as_posix() for path in books]


def breaks() -> list[Break]:
    return [Break(**row) for row in tomllib.loads(TABLE.read_text(encoding="utf-8"))["break"]]


class Copy:
    """A copy of the repository in which the tests run; everything it starts ends with it."""

    def __init__(self, folder: str):
        self.path = Path(folder)
        shutil.copytree(ROOT, self.path, ignore=AWAY)
        own = {"PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
        self.environment = {**os.environ, **own, "LABKIT_PROGRESS": "off"}
        where = self.python("-c", "import labkit; print(labkit.__file__)")
        if str(self.path) not in where:
            raise SystemExit(f"the copy would test another labkit: {where}")

    def python(self, *arguments: str) -> str:
        """What a Python process prints; one that does not come to its end is killed and says so."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "start_new_session": True}
        words = {"text": True, "encoding": "utf-8", "errors": "replace"}
        command = [sys.executable, *arguments]
        process = subprocess.Popen(command, cwd=self.path, env=self.environment, **pipes, **words)
        try:
            said = process.communicate(timeout=SECONDS)[0]
            return said if process.returncode in FINE or RED.search(said) else f"{said}\nFAILED by-itself"
        except subprocess.TimeoutExpired:
            return "FAILED no-end"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def red(self, targets: Sequence[str], without: Sequence[str] = (), *, first: bool = False) -> list[str]:
        """The tests that fail; only the first one if that will do."""
        rest = [*(["-x"] * first), *targets, *(f"--deselect={name}" for name in without)]
        return [name for name in RED.findall(self.python(*PYTEST, *rest)) if name not in without]

    def noticed_by(self, one: Break, without: Sequence[str]) -> str:
        """The first test that a break turns red; empty when none does."""
        for targets in filter(None, one.stages(self.path)):
            if found := self.with_break(one, targets, without):
                return found[0]
        return ""

    def with_break(self, one: Break, targets: Sequence[str], without: Sequence[str]) -> list[str]:
        path = self.path / one.file
        whole = path.read_text(encoding="utf-8")
        path.write_text(whole.replace(one.old, one.new), encoding="utf-8", newline="\n")
        try:
            return self.red(targets, without, first=True)
        finally:
            path.write_text(whole, encoding="utf-8", newline="\n")


def report(found: dict[Break, str]) -> str:
    """The page: how many were noticed, who survived and why, and who noticed what."""
    dead, alive = [one for one in found if found[one]], [one for one in found if not found[one]]
    share = (
        f"{len(dead)} of {len(found)} breaks turn a test or a notebook red ({len(dead) / len(found):.1%})."
    )
    lines = ["# What breaks when labkit is broken", "", f"Made by `uv run .ci/mutate.py`. {share}", ""]
    lines += ["## Survivors", "", *[f"- `{one.file}`: {one.words}. {one.survives}" for one in alive]]
    lines += [] if alive else ["None."]
    lines += ["", "## Noticed", "", "| file | what was broken | noticed first by |", "|---|---|---|"]
    lines += [f"| {one.file.removeprefix('labkit/')} | {one.words} | {brief(found[one])} |" for one in dead]
    return "\n".join(lines) + "\n"


def brief(name: str) -> str:
    return name.split("[")[0].removeprefix("tests/").replace("::", ": ")


def carry_out(chosen: Sequence[Break], jobs: int) -> dict[Break, str]:
    """What notices each break. Who noticed must be green without a break, or does not count."""
    found, red_anyway = dict.fromkeys(chosen, ""), []
    with tempfile.TemporaryDirectory() as folder:
        copies = [Copy(f"{folder}/{job}/labkit") for job in range(jobs)]
        todo = list(chosen)
        while todo:
            found |= side_by_side(copies, todo, red_anyway)
            names = {target(found[one]) for one in todo if "/" in found[one]}
            red_anyway += copies[0].red(sorted(names)) if names else []
            todo = [one for one in todo if found[one] in red_anyway]
    return found


def target(name: str) -> str:
    """What to run to see a test again; its name may have been cut at a blank."""
    cut = "[" in name and not name.endswith("]")
    return name.split("::")[0] if ".ipynb" in name else name.split("[")[0] if cut else name


def side_by_side(copies: Sequence[Copy], todo: Sequence[Break], without: Sequence[str]) -> dict[Break, str]:
    """One break after the other in each copy, until the list is empty."""
    rest, found = deque(todo), {}

    def work(copy: Copy) -> None:
        while rest:
            with suppress(IndexError):  # another copy may have been quicker
                one = rest.popleft()
                found[one] = copy.noticed_by(one, without)
                print(
                    f"{'red  ' if found[one] else 'GREEN'} {one.file}: {one.words} | {found[one]}", flush=True
                )

    with ThreadPoolExecutor(len(copies)) as pool:
        try:
            list(pool.map(work, copies))
        except BaseException:
            rest.clear()
            raise
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", help="only files with one of these in their names; no page is written"
    )
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    moved = [one for one in breaks() if (ROOT / one.file).read_text(encoding="utf-8").count(one.old) != 1]
    if moved:
        sys.exit("\n".join(f"{one.file}: the text of {one.words!r} is not there once" for one in moved))
    chosen = [one for one in breaks() if not asked.parts or any(part in one.file for part in asked.parts)]
    found = carry_out(chosen, asked.jobs)
    if not asked.parts:
        REPORT.write_text(report(found), encoding="utf-8", newline="\n")
    alive = [one for one in found if not found[one]]
    print(f"{len(found) - len(alive)} of {len(found)} noticed")
    sys.exit(1 if any(not one.survives for one in alive) else 0)


if __name__ == "__main__":
    main()
