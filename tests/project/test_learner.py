"""The loop of a learner: copies, updates beside them, one blank put back, answers that open late, a watch."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import nbformat
import pytest

from labkit.classroom import copies
from labkit.classroom.check import answer, check, progress
from labkit.classroom.workbook import run_checks, watch
from labkit.protocol.errors import BadFile

NAME = "03_x.ipynb"


def lesson(
    folder, text="read this", exercise="answer = ...  # your turn", check_line="assert answer == 1, '不对'"
):
    """A small chapter 3 with one exercise, saved as a notebook."""
    block = f'from labkit.classroom.check import check\nwith check("3.1", answer):\n    {check_line}'
    code = nbformat.v4.new_code_cell
    cells = [
        nbformat.v4.new_markdown_cell(text, id="text"),
        code(exercise, id="exercise", metadata={"labkit": "exercise 3.1"}),
        code("mine = 5", id="mine"),
        code(block, id="check", metadata={"labkit": "check 3.1"}),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / NAME)


@pytest.fixture
def desk(monkeypatch, tmp_path):
    """A learner's folder, with a space and Chinese in its path, and a shipped lesson of one exercise."""
    monkeypatch.delenv("LABKIT_PROGRESS", raising=False)
    monkeypatch.delenv("LABKIT_CHECK", raising=False)
    monkeypatch.setattr(copies, "SHIPPED", tmp_path / "notebooks")
    lesson(tmp_path / "notebooks")
    return copies.hand_out(tmp_path / "我的 work")


def sources(path):
    return ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]


def test_reset_puts_one_blank_back_and_leaves_the_rest(desk):
    lesson(desk, exercise="answer = 2", text="my notes")
    copies.reset("3.1", desk)
    assert sources(desk / NAME)[:3] == ["my notes", "answer = ...  # your turn", "mine = 5"]


def test_an_answer_that_was_reset_is_not_lost(desk):
    lesson(desk, exercise="answer = 2  # 想了很久")
    copies.reset("3.1", desk)
    copies.reset("3.1", desk)
    row = json.loads((desk / ".labkit" / "progress.json").read_text(encoding="utf-8"))["3.1"]
    assert row["set_aside"] == "answer = 2  # 想了很久"


def test_a_notebook_after_a_reset_is_still_one(desk):
    lesson(desk, exercise="answer = 2")
    copies.reset("3.1", desk)
    nbformat.validate(nbformat.read(desk / NAME, as_version=4))
    assert [str(said) for said in run_checks(desk, "03", LABKIT_PROGRESS="off")] == ["3.1 open"]


@pytest.mark.parametrize("task", ["3.9", "33", "", "exercise", "3.1.1", "[a-z]", "../3.1", "三点一"])
def test_no_rubbish_resets_anything(task, desk):
    before = (desk / NAME).read_bytes()
    with pytest.raises(BadFile, match=r"Tasks are named like 3\.1"):
        copies.reset(task, desk)
    assert (desk / NAME).read_bytes() == before


DAMAGED = ["", "{", "[]", '{"cells": 1}', '{"cells": [1]}', '{"cells": [{"source": "x"}]}', "\x00\x01"]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_notebook_is_named_and_left_alone(text, desk):
    (desk / NAME).write_text(text, encoding="utf-8")
    with pytest.raises(BadFile, match=r"03_x\.ipynb is not a notebook .*labkit update"):
        copies.reset("3.1", desk)
    assert (desk / NAME).read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": [1]}'])
def test_the_checks_of_a_damaged_notebook_are_not_run(text, desk):
    (desk / NAME).write_text(text, encoding="utf-8")
    with pytest.raises(BadFile, match="is not a notebook"):
        run_checks(desk, "03")


def test_update_has_nothing_to_do_when_nothing_changed(desk):
    lesson(desk, exercise="answer = 1")
    assert copies.update(desk) == []


def test_a_corrected_lesson_replaces_a_copy_that_nobody_touched(desk, tmp_path):
    lesson(tmp_path / "notebooks", text="corrected")
    assert copies.update(desk) == [f"{NAME} was corrected; you had not changed it"]
    assert sources(desk / NAME)[0] == "corrected"


def test_a_corrected_lesson_lies_beside_work_and_never_over_it(desk, tmp_path):
    lesson(desk, exercise="answer = 1")
    lesson(tmp_path / "notebooks", text="corrected")
    said = copies.update(desk)
    assert said == [f"03_x.new.ipynb is new: the corrected lesson; your {NAME} stays as it is"]
    assert sources(desk / NAME)[:2] == ["read this", "answer = 1"]
    assert sources(desk / "03_x.new.ipynb")[0] == "corrected"
    assert copies.update(desk) == [], "a second time says nothing"


def test_work_in_the_notebook_beside_is_kept_too(desk, tmp_path):
    for text in ("corrected", "corrected again"):
        lesson(desk, exercise="answer = 1")
        lesson(tmp_path / "notebooks", text=text)
        copies.update(desk)
        (desk / "03_x.new.ipynb").write_text("my work there", encoding="utf-8")
    assert (desk / "03_x.new.ipynb").read_text(encoding="utf-8") == "my work there"
    assert sources(desk / "03_x.new.new.ipynb")[0] == "corrected again"


def test_a_copy_whose_origin_nobody_noted_counts_as_changed(desk, tmp_path):
    (desk / ".labkit" / "progress.json").unlink()
    lesson(tmp_path / "notebooks", text="corrected")
    copies.update(desk)
    assert sources(desk / NAME)[0] == "read this"


def test_running_a_notebook_and_line_ends_are_no_change(desk, tmp_path):
    text = (desk / NAME).read_text(encoding="utf-8").replace('"outputs": []', '"outputs": [1]')
    (desk / NAME).write_bytes(text.replace("\n", "\r\n").encode())
    lesson(tmp_path / "notebooks", text="corrected")
    assert copies.update(desk) == [f"{NAME} was corrected; you had not changed it"]


def test_the_notebook_beside_is_not_counted_twice(desk, tmp_path, capsys):
    lesson(desk, exercise="answer = 1")
    lesson(tmp_path / "notebooks", text="corrected")
    copies.update(desk)
    progress(folder=desk)
    assert capsys.readouterr().out.splitlines()[-1].startswith("all together                       . 0 of 1 ")


def try_it(task, right):
    with check(task, 1):
        if not right:
            raise AssertionError("no")


@pytest.mark.parametrize(
    ("tries", "opens"), [([], False), ([0], False), ([0, 0], False), ([0] * 3, True), ([1], True)]
)
def test_an_answer_opens_after_a_solution_or_three_tries(tries, opens, desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)
    for right in tries:
        try_it("1.1", right)
    capsys.readouterr()
    answer("1.1")
    said = capsys.readouterr().out
    assert ("1.1 opens when your answer passes" in said) is not opens


def test_the_third_try_says_that_the_answer_is_open(desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)
    for _ in range(3):
        try_it("1.1", False)
    assert capsys.readouterr().out.count("labkit answer 1.1") == 1


@pytest.mark.parametrize(
    "row", ["[]", "7", '{"tries": "many"}', '{"state": ["passed"]}', '{"state": "großartig"}']
)
def test_a_row_that_makes_no_sense_is_a_task_still_open(row, desk, capsys):
    (desk / ".labkit" / "progress.json").write_text(f'{{"3.1": {row}}}', encoding="utf-8")
    answer("3.1", desk)
    assert "so far 0" in capsys.readouterr().out


def test_progress_shows_what_passed_what_was_tried_and_what_is_open(desk, capsys):
    rows = {"3.1": {"state": "not yet"}}
    (desk / ".labkit" / "progress.json").write_text(json.dumps(rows), encoding="utf-8")
    progress(folder=desk)
    first, last = capsys.readouterr().out.splitlines()
    assert first.split() == ["03_x", "~", "0", "of", "1", "open:", "3.1"]
    assert last.isascii() and "~ 0 of 1" in last


@pytest.mark.parametrize(
    ("exercise", "said"),
    [
        ("answer = )", "3.1 not yet: SyntaxError: unmatched ')'"),
        ("answr = 1", "3.1 not yet: NameError: name 'answer' is not defined"),
        ("1 / 0", "3.1 not yet: ZeroDivisionError: division by zero"),
    ],
)
def test_a_check_that_is_not_reached_says_what_stood_in_its_way(exercise, said, desk):
    lesson(desk, exercise=exercise)
    assert [str(one).split(" (")[0] for one in run_checks(desk, "03")] == [said]


def test_a_saved_notebook_is_checked_and_what_changed_is_told(desk):
    saves, said, stop = iter(["answer = 2", "answer = 1", "answer =  1"]), [], threading.Event()

    def tell(line):
        """Each answer of the watch brings the next save, a moment later; the last one ends it."""
        if line.endswith("its checks run") and said:
            return
        said.append(line)
        exercise = next(saves, None)
        after = stop.set if exercise is None else lambda: lesson(desk, exercise=exercise)
        threading.Timer(0.6, after).start()

    late = threading.Timer(120, stop.set)
    late.start()
    watch(desk, tell, stop)
    late.cancel()
    assert said[1:] == ["3.1 not yet: 不对", "3.1 passed", "nothing new"]


@pytest.mark.skipif(sys.platform == "win32", reason="an interrupt is sent to a process group there")
def test_ctrl_c_ends_a_watch_cleanly(tmp_path):
    own = os.environ | {"LABKIT_WORK": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "labkit.cli", "watch"]
    with subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watching:
        late = threading.Timer(60, watching.kill)
        late.start()
        assert watching.stdout.readline().startswith(b"watching ")
        time.sleep(0.5)
        watching.send_signal(signal.SIGINT)
        said = watching.communicate()[1]
        late.cancel()
    assert (watching.returncode, said) == (0, b"")
