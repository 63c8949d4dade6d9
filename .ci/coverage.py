"""docs/coverage.md from the `covers:` tags in solutions/ and tests/: `uv run .ci/coverage.py`."""

import re
from collections import defaultdict
from collections.abc import Iterator

from labkit.classroom.workbook import read_chapter, sources
from labkit.files import ROOT, write_text

TAG = re.compile(r"covers: ((?:[A-Z]{0,2}\d[\w.]*[ \t]*)+)")
PAGE = ROOT / "docs" / "coverage.md"
HEAD = """# What covers what

Every row of the two articles, with the cells that teach it and the tests that hold it.
`uv run .ci/coverage.py` makes this page from the tags in `solutions/*.py` and `tests/`;
a test fails when a row is not covered, or when the page is stale.

| row | what it is | cells | tests |
|---|---|---|---|
"""


def rows() -> dict[str, str]:
    """Id and title of every row of the articles, from `.ci/rows.txt`."""
    lines = (ROOT / ".ci" / "rows.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))


def in_cells() -> Iterator[tuple[str, str]]:
    """(row, link to its cell), the number of the cell and the section it stands in."""
    for source in sources():
        shown = [cell for cell in read_chapter(source) if cell.role not in ("wrong", "right")]
        section = ""
        for number, cell in enumerate(shown, 1):
            headings = re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE) if cell.kind == "markdown" else []
            section = headings[-1] if headings else section
            for row in tags(cell.source) if cell.kind == "markdown" else ():
                yield row, f"[{source.stem[:2]}](../notebooks/{source.stem}.ipynb) cell {number}: {section}"


def in_tests() -> Iterator[tuple[str, str]]:
    """(row, the test that carries the tag, or its file when the tag stands above all tests)."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        test, pending = "", []
        for line in path.read_text(encoding="utf-8").splitlines():
            if match := re.match(r"(?:async )?def (test_\w+)", line):
                test = match[1]
            for row in tags(line):
                pending.append((row, f"{path.relative_to(ROOT / 'tests').as_posix()} {test}".strip()))
        yield from pending


def tags(text: str) -> list[str]:
    return [row for found in TAG.findall(text) for row in found.split()]


def table() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The cells and the tests of every row; a tag that names no row raises `KeyError`."""
    cells, tests, known = defaultdict(list), defaultdict(list), rows()
    for found, places in ((cells, in_cells()), (tests, in_tests())):
        for row, place in places:
            known[row]
            found[row] += [place] * (place not in found[row])
    return cells, tests


def page() -> str:
    cells, tests = table()
    lines = [
        f"| {row} | {title} | {'<br>'.join(cells[row])} | {'<br>'.join(tests[row])} |"
        for row, title in rows().items()
    ]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_text(PAGE, page())
    cells, tests = table()
    print("no cell:", *[row for row in rows() if row not in cells])
    print("no test:", *[row for row in rows() if row not in tests])
