"""The golden set proves itself: reference calls pass every case, an empty run fails every case."""

import json
from collections import Counter

import pytest

from labkit.measure.cases import golden, load_cases
from labkit.measure.runner import desk_unit
from labkit.protocol.errors import BadFile
from tests.measure.desk import reference, scripted_build

TEN_KINDS = {
    "missing_argument", "ambiguity", "refusal", "unauthorised", "injection", "side_effect", "ordered",
    "tool_error", "empty_result", "boundary",
}  # fmt: skip


def test_the_set_has_300_cases_in_both_languages_and_all_ten_kinds():
    """covers: L12 B6.3"""
    languages = Counter(case.language for case in golden())
    assert len(golden()) >= 300
    assert min(languages.values()) >= 140
    assert {case.kind for case in golden()} == TEN_KINDS | {"happy"}
    assert min(Counter((case.kind, case.language) for case in golden()).values()) >= 8


@pytest.fixture(scope="module")
def reference_rows():
    unit = desk_unit(scripted_build(reference))
    return [unit(case, 0) for case in golden()]


def test_reference_calls_pass_every_case(reference_rows):  # covers: B6.2
    assert [(row["case"], row["grade"]) for row in reference_rows if not row["grade"]["success"]] == []


def test_reference_runs_cover_no_grader_error(reference_rows):
    assert [row["grader_error"] for row in reference_rows if row["grader_error"]] == []


def test_an_empty_run_fails_every_case():
    unit = desk_unit(scripted_build(lambda case: [""]))
    assert [case.id for case in golden() if unit(case, 0)["grade"]["success"]] == []


def test_a_run_that_does_the_opposite_fails():
    """A case that expects a call is not passed by a polite refusal, nor the other way round."""
    unit, sample = desk_unit(scripted_build(lambda case: ["抱歉，办不到。"])), golden()[::6]
    assert {case.kind for case in sample} == TEN_KINDS | {"happy"}
    assert {case.kind for case in sample if unit(case, 0)["grade"]["success"]} == {"refusal"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "unheard_of"}, "kind"),
        ({"action": "deny"}, "do not go together"),
        ({"surprise": 1}, "surprise"),
        ({"input": ""}, "input"),
    ],
)
def test_a_wrong_case_is_named_with_its_field(tmp_path, change, said):
    good = {"id": "a", "kind": "happy", "language": "zh", "input": "hi", "action": "answer"}
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(good) + "\n" + json.dumps(good | {"id": "b"} | change), encoding="utf-8")
    with pytest.raises(BadFile, match=f"case 2.*{said}"):
        load_cases(path)


def test_an_id_stands_only_once(tmp_path):
    row = json.dumps({"id": "a", "kind": "happy", "language": "zh", "input": "hi", "action": "answer"})
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{row}\n{row}\n", encoding="utf-8")
    with pytest.raises(BadFile, match="stands twice"):
        load_cases(path)
