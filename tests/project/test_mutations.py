"""The list of breaks stays usable: each text is there once, changes something, and leaves Python behind."""

import ast
import runpy

import pytest

from labkit.files import ROOT

MUTATE = runpy.run_path(str(ROOT / ".ci" / "mutate.py"))
BREAKS = MUTATE["breaks"]()


@pytest.mark.parametrize("one", BREAKS, ids=lambda one: f"{one.file}: {one.words}")
def test_a_break_changes_one_place_and_leaves_python(one):
    whole = (ROOT / one.file).read_text(encoding="utf-8")
    assert whole.count(one.old) == 1, "the text has moved: mend .ci/mutations.toml"
    assert ast.dump(ast.parse(whole.replace(one.old, one.new))) != ast.dump(ast.parse(whole))
    assert (ROOT / one.first).exists()


def test_every_folder_is_broken_somewhere_and_knows_its_tests():
    folders = {path.name for path in (ROOT / "labkit").iterdir() if (path / "__init__.py").exists()}
    assert {one.folder for one in BREAKS} - {""} == folders and folders < set(MUTATE["NOTICE"])
    assert len(BREAKS) == len({(one.file, one.old) for one in BREAKS}) >= 40


def test_the_report_names_those_who_survive():
    one, other = BREAKS[:2]
    said = MUTATE["report"]({one: "tests/a.py::test_b[c]", other: ""})
    assert "1 of 2 breaks turn a test or a notebook red (50.0%)" in said
    assert f"- `{other.file}`: {other.words}" in said and "| a.py: test_b |" in said
