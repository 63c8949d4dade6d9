"""Every row of the two articles has a cell that teaches it and a test that holds it; the page says which."""

import importlib.util
import re

import pytest

from labkit.files import ROOT

SPEC = importlib.util.spec_from_file_location("coverage_rows", ROOT / ".ci" / "coverage.py")
coverage = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(coverage)


def test_there_are_69_rows():
    assert len(coverage.rows()) == 69


@pytest.mark.parametrize("kind", [0, 1], ids=["cell", "test"])
def test_every_row_is_covered(kind):
    found = coverage.table()[kind]
    assert [f"{row} {title}" for row, title in coverage.rows().items() if row not in found] == []


def test_a_tag_names_a_row_that_there_is():
    places = [*coverage.in_cells(), *coverage.in_tests()]
    assert [place for place in places if place[0] not in coverage.rows()] == []


def test_the_page_is_the_one_that_the_tags_make():
    """`uv run .ci/coverage.py` writes it."""
    assert coverage.PAGE.read_text(encoding="utf-8") == coverage.page()


def test_the_page_points_at_cells_that_there_are():
    links = re.findall(r"\]\(\.\./notebooks/(\S+?)\)", coverage.page())
    assert links and all((ROOT / "notebooks" / name).exists() for name in links)


def test_tags_are_read_from_comments_and_from_markdown():
    word = "covers"  # this file covers no row itself
    assert coverage.tags(f"<!-- {word}: L1 B2.3 1.1 -->") == ["L1", "B2.3", "1.1"]
    assert coverage.tags(f"# {word}: 3.x T5.3 B6.3a") == ["3.x", "T5.3", "B6.3a"]
    assert coverage.tags("the bootstrap covers a mean") == []
