"""What is committed of the notebooks is what their sources make, was run, and keeps to the house style."""

import json
import re
from itertools import pairwise

import pytest

from labkit.classroom.workbook import read_chapter, sources, stale
from labkit.files import ROOT

BUILT = sorted([*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "solutions").glob("*.ipynb")])
WORD = re.compile(r"[A-Za-z0-9_'-]+|[\u4e00-\u9fff]{2}")
PRIVATE = re.compile(r"0x[0-9a-f]{6,}|/tmp/|/home/|/Users/|/root/|[A-Z]:\\\\|site-packages|\bsk-\w{8}")
LINK = re.compile(r"\[(\d+\. [^\]]+)\]\((\d\d_\w+\.ipynb)\)")
SHORT = {"00_start_here"}  # twenty minutes, not forty-five

each_source = pytest.mark.parametrize("source", sources(), ids=lambda path: path.stem)
each_built = pytest.mark.parametrize("path", BUILT, ids=lambda path: f"{path.parent.name}/{path.stem}")


def cells(path, kind):
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


@each_source
def test_no_notebook_is_stale(source):
    assert stale(source) == []


def test_a_link_to_a_chapter_bears_its_title():
    texts = {f"{source.stem}.ipynb": source.read_text(encoding="utf-8") for source in sources()}
    titles = {name: re.search("^# # (.+)$", text, re.MULTILINE)[1] for name, text in texts.items()}
    links = [link for text in texts.values() for link in LINK.findall(text)]
    assert len(links) >= 2 * len(texts) - 1
    assert [link for link in links if titles.get(link[1]) != link[0]] == []


def test_every_notebook_has_a_source():
    assert {path.stem for path in BUILT} <= {source.stem for source in sources()}


@each_source
def test_a_chapter_keeps_the_measures_of_the_house(source):
    chapter = [cell for cell in read_chapter(source) if cell.role not in ("wrong", "right")]
    code = [cell.source.splitlines() for cell in chapter if cell.kind == "code"]
    words = sum(len(WORD.findall(cell.source)) for cell in chapter if cell.kind == "markdown")
    assert (15 if source.stem in SHORT else 35) <= len(chapter) <= 60
    assert words <= 2000
    assert sum(map(len, code)) <= 250
    assert max(map(len, code)) <= 25


def is_claim(cell):
    return all(line.startswith(("assert ", " ", ")")) for line in cell.source.splitlines())


@each_source
def test_prose_stands_between_code_cells(source):
    chapter = [cell for cell in read_chapter(source) if cell.role not in ("wrong", "right")]
    for one, other in pairwise(chapter):
        assert "markdown" in (one.kind, other.kind) or other.role == "check" or is_claim(other), other.source


@each_built
def test_no_cell_leaves_python(path):
    lines = [line for cell in cells(path, "code") for line in "".join(cell["source"]).splitlines()]
    assert [line for line in lines if line.lstrip().startswith(("!", "%"))] == []


@each_built
def test_outputs_hold_nothing_of_this_machine(path):
    outputs = [output for cell in cells(path, "code") for output in cell["outputs"]]
    assert PRIVATE.findall(json.dumps(outputs, ensure_ascii=False)) == []
    assert [output for output in outputs if output.get("name") == "stderr"] == []


@each_built
def test_only_cells_that_say_so_end_in_an_error(path):
    failed = [c for c in cells(path, "code") if any(o["output_type"] == "error" for o in c["outputs"])]
    assert [cell["id"] for cell in failed if "raises-exception" not in cell["metadata"].get("tags", ())] == []
