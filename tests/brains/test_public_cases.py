"""BFCL and ACEBench as they are: the simulated model's accuracy is reported, not tuned."""

from collections import Counter

from labkit.files import dataset, read_jsonl
from labkit.service.brains.simulated import simulated
from labkit.service.decide import Decision
from tests.brains.public_cases import SETS, accuracy, cases, genuine, judge, table
from tests.measure.public import excluded


def test_every_row_is_read_but_those_whose_label_is_wrong_and_no_category_is_lost():
    for source, all_rows, wrong in zip(SETS, (126, 83), (4, 5), strict=True):
        rows = {row["id"]: row["category"] for row in read_jsonl(dataset(f"{source}/cases.jsonl"))}
        read = {case.id: case.category for case in cases(source)}
        assert rows.keys() - read.keys() == excluded(source).keys() and read.items() <= rows.items()
        assert (len(rows), len(rows) - len(read)) == (all_rows, wrong)
        assert set(read.values()) == set(rows.values())


def test_a_model_that_never_calls_is_right_only_where_nothing_should_be_called():
    right = Counter(
        case.category for source in SETS for case in cases(source) if judge(case, lambda ask: Decision("no"))
    )
    assert set(right) == {
        "irrelevance",
        "live_irrelevance",
        "special_error_param",
        "special_incomplete",
        "special_irrelevant",
    }


def test_a_model_that_calls_what_is_wanted_is_right_in_every_case():
    """The judge accepts the labels themselves, so a miss is the model's."""
    for source in SETS:
        for case in cases(source):
            names = [tool.name for tool in case.tools]
            wanted = [case.right(()), *(case.right((name,)) for name in names)]
            assert any(wanted) or "parallel" in case.category, case.id


def test_the_simulated_model_chooses_better_than_chance_and_worse_than_published_models():
    """A floor of sense and a ceiling of honesty; `python -m tests.brains.public_cases` prints all."""
    rates = accuracy(simulated())
    several = rates["bfcl_subset", "multiple"]
    chance = 1 / 2.5
    assert several.low > chance and rates["bfcl_subset", "all"].high < 0.9


def test_guessing_costs_where_a_parameter_is_missing():
    asks, guesses = (accuracy(simulated(asks_instead_of_guessing=habit)) for habit in (True, False))
    key = ("acebench_subset", "special_incomplete")
    assert guesses[key].value < asks[key].value


def test_the_table_has_a_row_for_each_category_with_its_interval():
    rows = list(table())
    assert len(rows) == 1 + 11 + 11 + 2 and all("[" in row for row in rows[1:])
    print("\n".join(rows))


def test_the_genuine_model_was_measured_on_every_case():
    counted = {key: rate.n for key, rate in accuracy(simulated()).items()}
    assert {key: rate.n for key, rate in genuine().items()} == counted
