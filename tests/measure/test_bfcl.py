"""Our matching against the checker of the BFCL package, on predictions made from its own labels."""

import importlib.util
import json
from collections import Counter

import pytest

from labkit.files import dataset, read_jsonl
from labkit.measure.match import match_calls, tidy
from tests.measure.public import (
    VERDICTS,
    bfcl_rows,
    bfcl_text,
    excluded,
    made,
    predictions,
    wanted,
    write_verdicts,
)

EXPLAINED = {
    "integer as float": "JSON has one type of number: 5.0 is 5 (BFCL compares Python types)",
    "list of numbers in the other type": "the same inside a list: gorilla#1049, bug case E01",
    "other order": "BFCL matches greedily; where a label accepts two calls, a valid order can fail (E05)",
    "optional left out": "the schema requires it, the label does not: our schema gate says so",
}


def _disagreements(text):
    verdicts = json.loads(VERDICTS.read_text(encoding="utf-8"))["verdicts"]
    for row in bfcl_rows():
        for kind, calls in predictions(row):
            ours = match_calls(made(calls), wanted(row), text=text).exact
            if ours is not verdicts[row["id"]][kind]:
                yield row["id"], kind, ours


def test_there_are_verdicts_for_every_made_prediction():
    verdicts = json.loads(VERDICTS.read_text(encoding="utf-8"))["verdicts"]
    asked = {row["id"]: {kind for kind, _ in predictions(row)} for row in bfcl_rows()}
    assert {name: set(kinds) for name, kinds in verdicts.items()} == asked
    assert sum(map(len, asked.values())) > 1200
    assert {type(one) for kinds in verdicts.values() for one in kinds.values()} == {bool}


def test_with_bfcls_rule_for_texts_every_disagreement_is_explained():
    """With BFCL's comparison of texts (no case, no punctuation) 45 of 1,233 verdicts differ, in four ways."""
    found = Counter(kind for _, kind, ours in _disagreements(bfcl_text) if ours)
    assert set(found) == set(EXPLAINED)
    assert found.total() == 45 and found["integer as float"] == 42
    assert not any(ours is False for _, _, ours in _disagreements(bfcl_text))


def test_our_own_rule_for_texts_is_stricter_only_about_case():
    """An order number in the wrong case is another number: we do not fold it."""
    stricter = {kind for _, kind, ours in _disagreements(tidy) if not ours}
    assert stricter == {"upper case"}


def test_the_greedy_match_is_a_label_that_accepts_two_calls():
    found = [name for name, kind, _ in _disagreements(bfcl_text) if kind == "other order"]
    assert found == ["parallel_178"] and "parallel_178" in excluded("bfcl_subset")


@pytest.mark.parametrize("source", ["bfcl_subset", "acebench_subset"])
def test_what_is_excluded_is_there_and_says_why(source):
    ids = {row["id"] for row in read_jsonl(dataset(f"{source}/cases.jsonl"))}
    assert excluded(source) and set(excluded(source)) <= ids
    assert all(len(reason) > 40 for reason in excluded(source).values())


@pytest.mark.skipif(not importlib.util.find_spec("bfcl_eval"), reason="bfcl-eval is not installed")
def test_the_stored_verdicts_are_those_of_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.measure.public.VERDICTS", tmp_path / "verdicts.json")
    write_verdicts()
    assert (tmp_path / "verdicts.json").read_bytes() == VERDICTS.read_bytes()
