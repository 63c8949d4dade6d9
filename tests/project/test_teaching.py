"""What an instructor is given: pages that follow from the chapters, slides that need nothing, a report."""

import json
import re
import runpy

import pytest

from labkit.files import ROOT

TEACHING = ROOT / "docs" / "teaching"


def script(name):
    return runpy.run_path(str(TEACHING / f"{name}.py"))


def test_the_pages_are_what_their_script_makes():
    for name, text in script("pages")["pages"]().items():
        assert (TEACHING / name).read_text(encoding="utf-8") == text, "run: uv run docs/teaching/pages.py"


def test_every_exercise_of_a_chapter_is_timed_once():
    pages = script("pages")
    for chapter in pages["sources"]():
        timed = [task for section in pages["sections"](chapter) for task in section.tasks]
        assert timed == [cell.task for cell in pages["read_chapter"](chapter) if cell.role == "exercise"]


def test_a_route_names_only_sections_and_exercises_that_there_are():
    pages = script("pages")
    found = [one for chapter in pages["sources"]() for one in pages["sections"](chapter)]
    titles, tasks = {one.title.split()[0] for one in found}, {task for one in found for task in one.tasks}
    for _, plan, _ in pages["PLANS"]:
        wanted = [one.partition("/") for one in plan.split() if "." in one]
        assert {section for section, _, _ in wanted} <= titles
        assert {task for _, _, named in wanted for task in named.split(",") if task} <= tasks


@pytest.mark.parametrize("path", sorted((ROOT / "solutions").glob("*.ipynb")), ids=lambda path: path.stem)
def test_slides_need_nothing_from_elsewhere_and_miss_no_claim(path):
    page = script("slides")["page"](path)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    headings = [one for text in prose for one in re.findall(r"^## (.+)$", text, re.MULTILINE)]
    tasks = [cell for cell in cells if cell["metadata"].get("labkit", "").startswith("task")]
    assert page.count("<h2>") == len(headings) and page.count('class="task"') == len(tasks)
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\(""", page.split("<section>", 1)[0])
    assert not re.search(r"""src=["'](?!data:)""", page)


def learner(folder, name, **rows):
    path = folder / name / ".labkit" / "progress.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


def test_a_class_report_counts_and_names_nobody(tmp_path, monkeypatch, capsys):
    stuck = {"state": "not yet", "message": "content is a string", "tries": 4}
    learner(tmp_path, "王小明", copies={}, **{"1.1": {"state": "passed", "tries": 2, "set_aside": "geheim"}})
    learner(tmp_path, "alice", copies={}, **{"1.1": stuck, "1.2": stuck | {"message": "only alice's"}})
    learner(tmp_path, "bob", copies={}, **{"1.1": stuck | {"tries": 6, "hints": 2}, "10.1": {"hints": 1}})
    learner(tmp_path, "eve", copies={})
    (tmp_path / "settings.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["report.py", str(tmp_path)])
    script("report")["main"]()
    said = capsys.readouterr().out
    assert "4 people; 1 files are no progress files" in said
    assert "   1.1       1       2       1       4       6       2  content is a string" in said
    assert re.findall(r"^ +(\d+\.\d)", said, re.MULTILINE) == ["1.1", "1.2", "10.1"]
    assert not re.search("王|alice|bob|eve|geheim", said)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs"])
def test_a_link_of_a_page_leads_somewhere(page):
    pages = [ROOT / page] if page.endswith(".md") else sorted((ROOT / page).rglob("*.md"))
    links = [
        (one, link) for one in pages for link in re.findall(r"\]\(([^)#:]+)", one.read_text(encoding="utf-8"))
    ]
    assert links and [(one.name, link) for one, link in links if not (one.parent / link).exists()] == []
