"""The house stands as it is drawn: who may import whom, and how large a file, a function and the whole may be."""

import ast
import subprocess
import sys
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

import labkit

ROOT = Path(labkit.__file__).parent
ORDER = """
    protocol/errors protocol/messages files protocol/strict protocol/arguments protocol/schema protocol/tools protocol/families
    protocol/tokens protocol/chat protocol/responses
    service/decide service/checks/* service/* service/brains/* connect wire_check
    control/context control/choice control/candidates
    execution/* runtime/* runtime shop/* measure/* classroom/* cli
""".split()
CORE = ("protocol", "control", "execution", "runtime")
HEAVY = ("openai", "matplotlib", "ipywidgets", "opentelemetry", "uvicorn", "jupyterlab", "nbclient", "numpy")
MAY_IMPORT_LATE = {"cli": "start-up time", "service/brains/local": "an extra of 100 MB"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix()


FILES = {name_of(path): path for path in sorted(ROOT.rglob("*.py")) if path.name != "__init__.py"}


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(FILES[name].read_text(encoding="utf-8"))


def place(name: str) -> int:
    exact = [place for place, pattern in enumerate(ORDER) if pattern == name]
    return (exact or [place for place, pattern in enumerate(ORDER) if fnmatch(name, pattern)] or [-1])[-1]


@cache
def imported(name: str) -> set[str]:
    """The modules of labkit that one of them imports."""
    found = set()
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("labkit"):
            path = node.module.replace(".", "/").removeprefix("labkit").lstrip("/")
            inside = {f"{path}/{alias.name}".lstrip("/") for alias in node.names}
            found |= (inside & set(FILES)) or ({path} & set(FILES))
        if isinstance(node, ast.Import):
            found |= {alias.name.replace(".", "/").removeprefix("labkit/") for alias in node.names} & set(
                FILES
            )
    return found


@pytest.mark.parametrize("name", FILES)
def test_a_module_has_a_place_and_imports_only_from_above(name):
    assert place(name) >= 0, f"{name} has no place in the list"
    assert [other for other in imported(name) if place(other) > place(name)] == []


def test_no_two_modules_import_each_other_round_about():
    def below(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path, name))
        for other in imported(name):
            below(other, (*path, name))

    for name in FILES:
        below(name, ())


@pytest.mark.parametrize("name", sorted(set(FILES) - set(MAY_IMPORT_LATE)))
def test_imports_stand_at_the_top(name):
    functions = [n for n in ast.walk(tree(name)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    late = [i.lineno for f in functions for i in ast.walk(f) if isinstance(i, ast.Import | ast.ImportFrom)]
    assert late == []


@pytest.mark.parametrize("name", FILES)
def test_no_file_is_longer_than_300_lines_and_no_function_than_40(name):
    functions = [n for n in ast.walk(tree(name)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert lines(name) <= 300
    assert [f.name for f in functions if f.end_lineno - f.lineno + 1 > 40] == []


def lines(name: str) -> int:
    return len(FILES[name].read_text(encoding="utf-8").splitlines())


def test_the_kit_stays_small():
    core = sum(lines(name) for name in FILES if name.startswith(CORE))
    assert core < 2500
    assert sum(map(lines, FILES)) < 6000


def test_what_a_lesson_imports_first_pulls_in_nothing_heavy():
    modules = [
        name.replace("/", ".") for name in FILES if name.startswith(("protocol", "control", "execution"))
    ]
    code = f"import sys, labkit, labkit.{', labkit.'.join(modules)}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [heavy for heavy in HEAVY if heavy in loaded] == []
