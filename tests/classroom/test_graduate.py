"""Graduation: the reference solution passes; each way to break it fails its criterion and no other.

covers: L17 AC1 AC2 AC3 AC4 AC5 AC6 AC7
"""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from labkit.classroom.criteria import STORIES, gated, results, strict_by_hand
from labkit.classroom.graduate import CRITERIA, Work, failing, graduate, read
from labkit.cli import app
from labkit.execution.executor import Executor
from labkit.execution.guard import see
from labkit.execution.permission import Allow
from labkit.files import ROOT, write_text
from labkit.measure.gate import Rule
from labkit.protocol.errors import BadFile
from labkit.protocol.tools import CallContext, Toolbox
from labkit.shop.views import VIEWS

SOLUTION = ROOT / "solutions" / "12_capstone.ipynb"
OPEN_EYES = see(VIEWS)


@pytest.fixture(scope="module")
def good():
    return read(SOLUTION)


def missed(work):
    """The numbers of the criteria that a work misses."""
    return [finding.title[0] for finding in graduate(work) if finding.missing]


def test_the_reference_solution_graduates(good):
    assert [str(finding) for finding in graduate(good) if finding.missing] == []


def control_in_prose(agent, shop):
    return replace(
        agent, candidates=None, system=agent.system + "只在客户要求时退款。Only refund when asked."
    )


def lost_answers(agent, shop):
    """Of the results of one turn only the last is sent on."""

    def last_only(chain):
        after = (*(message.role for message in chain[1:]), "")
        return [
            m for m, following in zip(chain, after, strict=True) if (m.role, following) != ("tool", "tool")
        ]

    return replace(agent, context=last_only)


def naive_retry(agent, shop):
    """S2 §4.3: what fails is done again, and no operation has a name."""

    def stubborn(tool):
        def again(**given):
            for _ in range(3):
                try:
                    return tool.run(**given | ({"context": CallContext()} if tool.effect == "write" else {}))
                except ConnectionError:
                    continue
            raise ConnectionError

        def once(*, context, **given):
            return again(**given)

        return replace(tool, run=once if tool.effect == "write" else again)

    box = Toolbox(map(stubborn, agent.toolbox))
    return replace(agent, toolbox=box, executor=hands(agent, shop, box))


def hands(agent, shop, box, **other):
    own = agent.executor
    parts = {"ledger": own.ledger, "ask": own.ask, "retry": own.retry, "observe": own.observe}
    return Executor(box, **parts | other)


def guesses(agent, shop):
    """Errors that no model can correct are handed to the model."""
    return replace(agent, on_refusal="continue")


def corrects_for_ever(agent, shop):
    return replace(agent, max_corrections=5)


def nobody_asked(agent, shop):
    return replace(agent, executor=hands(agent, shop, agent.toolbox, ask=None))


def no_view(agent, shop):
    return replace(agent, executor=hands(agent, shop, agent.toolbox, observe=[OPEN_EYES]))


def no_policy(agent, shop):
    return replace(agent, policy=lambda request: Allow())


def no_prompt(agent, shop):
    return replace(agent, system="")


def tools_first(agent, shop):
    return replace(agent, system="必须优先调用工具。Always call a tool first.")


@pytest.mark.parametrize(
    ("broken", "criterion"),
    [
        (control_in_prose, "1"),
        (lost_answers, "3"),
        (naive_retry, "4"),
        (guesses, "4"),
        (corrects_for_ever, "4"),
        (nobody_asked, "4"),
        (no_view, "5"),
        (no_policy, "6"),
        (no_prompt, "6"),
    ],
)
def test_a_broken_agent_misses_its_criterion_and_no_other(good, broken, criterion):
    work = replace(good, build=lambda shop, *rest: broken(good.build(shop, *rest), shop))
    assert missed(work) == [criterion]


def test_a_prompt_that_does_harm_is_found_by_the_golden_set(good):
    work = replace(good, build=lambda shop, *rest: tools_first(good.build(shop, *rest), shop))
    assert "6" in missed(work)


@pytest.mark.parametrize(
    "schemas",
    [
        {},
        {"get_refund": {"type": "object", "properties": {"order_id": {"type": "string"}}}},
        {"get_money": {"type": "object", "properties": {}, "required": [], "additionalProperties": False}},
    ],
)
def test_schemas_that_are_missing_or_loose_or_nobodys_do_not_count(good, schemas):
    assert strict_by_hand(replace(good, schemas=schemas))[1]


def test_without_a_schema_the_second_criterion_is_missed_and_no_other(good):
    assert missed(replace(good, schemas={})) == ["2"]


@pytest.mark.parametrize("metric", ["retry", "tokens", "latency", "cached"])
def test_a_gate_that_does_not_see_one_of_the_four_says_which(good, metric):
    gate = [rule for rule in good.gate if rule.metric != metric]
    assert f"{metric} may get worse unseen" in gated(replace(good, gate=gate))[1]


def test_a_gate_that_blocks_the_agent_itself_misses_the_seventh_criterion_and_no_other(good):
    assert missed(replace(good, gate=[*good.gate, Rule(metric="tokens", at_most=10)])) == ["7"]


def test_a_criterion_that_breaks_is_missing_and_says_why(good):
    found = list(graduate(replace(good, gate=7)))
    assert found[6].seen == "not reached" and "TypeError" in found[6].missing[0]


def test_every_class_of_error_has_a_schedule():
    assert {name.split(":")[0] for name in STORIES} == {
        "correctable", "business", "permission", "transient", "unknown",
    }  # fmt: skip


def test_the_quick_set_has_every_kind_in_both_languages(good):
    rows = results(good.build, False, "reference")
    assert len(rows) == 44 and len({row["kind"] for row in rows}) == 11


def test_failing_cases_are_told_with_the_criterion_they_belong_to(good):
    work = Work(lambda shop, *rest: no_policy(good.build(shop, *rest), shop))
    assert failing(work, 6) and not failing(work, 4)


def written(folder, text):
    write_text(folder / "mine.py", text)
    return folder / "mine.py"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("build = ...", "still open: build, SCHEMAS, GATE"),
        ("def build(shop, client, ledger): ...\nSCHEMAS = {}\nGATE = []", "still open: build"),
        ("1 / 0", "does not run by itself: ZeroDivisionError"),
        ("def build(:", "SyntaxError"),
        ("import sys; sys.exit(0)", "SystemExit"),
    ],
)
def test_a_file_that_is_no_agent_yet_gets_a_clear_error(tmp_path, text, said):
    with pytest.raises(BadFile, match=said):
        read(written(tmp_path, text))


@pytest.mark.parametrize("body", ["return [shop]", "raise KeyError('client')", "print()"])
def test_a_build_that_gives_no_agent_is_named(tmp_path, body):
    path = written(tmp_path, f"def build(shop, client, ledger):\n    {body}\nSCHEMAS, GATE = {{}}, []")
    with pytest.raises(BadFile, match="build does not work"):
        next(graduate(read(path)))


def test_only_the_first_code_cell_and_the_answers_of_a_notebook_are_run(tmp_path):
    def cell(source, role=""):
        return {"cell_type": "code", "source": [source], "metadata": {"labkit": role} if role else {}}

    answers = "SCHEMAS, GATE = {}, []\nbuild = lambda *given: base(*given)"
    found = [cell("base = print"), cell("1 / 0"), cell(answers, "exercise 12.5"), cell("1 / 0", "check 12.5")]
    write_text(tmp_path / "mine.ipynb", json.dumps({"cells": found}))
    assert read(tmp_path / "mine.ipynb").schemas == {}


def test_the_command_names_what_is_missing_and_where_to_read_on(tmp_path, monkeypatch):
    monkeypatch.setattr("labkit.classroom.graduate.CRITERIA", CRITERIA[1:2])
    monkeypatch.chdir(tmp_path)
    good = CliRunner().invoke(app, ["graduate", str(SOLUTION)])
    assert good.exit_code == 0 and good.output.endswith("graduated\n")
    loose = "from labkit.classroom.graduate import read\nfrom pathlib import Path\n"
    loose += f"work = read(Path({str(SOLUTION)!r}))\nbuild, SCHEMAS, GATE = work.build, {{}}, work.gate\n"
    bad = CliRunner().invoke(app, ["graduate", str(written(tmp_path, loose))])
    assert bad.exit_code == 1 and "read notebook 05 again" in bad.output and "1 of 1" in bad.output
