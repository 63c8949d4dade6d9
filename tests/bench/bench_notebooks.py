"""What all notebooks cost under nbval, against their floor: a kernel each, and what they import.

Run: python tests/bench/bench_notebooks.py [first digits of a name]    (minutes; wants a quiet machine)
The floor is measured in the same run: notebooks whose only cell holds the imports of the real ones.
"""

import ast
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from labkit.classroom.workbook import quiet_environment

ROOT = Path(__file__).resolve().parent.parent.parent
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2")


def imports(path: Path) -> str:
    """The import statements of a notebook, in order."""
    cells = nbformat.read(path, as_version=4).cells
    trees = [ast.parse(cell.source) for cell in cells if cell.cell_type == "code"]
    nodes = [node for tree in trees for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return "\n".join(map(ast.unparse, nodes))


def seconds(root: Path, paths: list[Path]) -> tuple[float, float]:
    """Wall and CPU time of a run over these notebooks; ends with what pytest said when one is red."""
    offline = {"PYTHONPATH": str(ROOT / "tests" / "offline")}
    began, before = time.perf_counter(), os.times()
    command = [sys.executable, *PYTEST, "--rootdir", root, "-c", ROOT / "pyproject.toml", *paths]
    ran = subprocess.run(command, cwd=ROOT, env=quiet_environment(**offline), stdout=subprocess.PIPE)
    if ran.returncode:
        sys.exit(ran.stdout.decode(errors="replace"))
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, spent


def main() -> None:
    part = "".join(sys.argv[1:])
    books = sorted(
        path for home in ("notebooks", "solutions") for path in (ROOT / home).glob(f"{part}*.ipynb")
    )
    with tempfile.TemporaryDirectory() as folder:
        floors = [Path(folder) / f"{path.parent.name}_{path.name}" for path in books]
        for book, floor in zip(books, floors, strict=True):
            cell = new_code_cell(imports(book), execution_count=1)
            nbformat.write(new_notebook(cells=[cell]), floor)
        floor, whole = seconds(Path(folder), floors), seconds(ROOT, books)
    for name, low, high in zip(("wall", "CPU"), floor, whole, strict=True):
        print(
            f"{len(books)} notebooks, {name}: floor {low:.1f} s, whole {high:.1f} s, {high / low:.2f} times"
        )


if __name__ == "__main__":
    main()
