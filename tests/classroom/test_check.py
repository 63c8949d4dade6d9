"""A check says one line, never stops a notebook, and keeps what the learner did in a file of his own."""

import json

import pytest

from labkit.classroom.check import check, hint, progress
from labkit.protocol.errors import BadFile


def notebook(path, *cells):
    made = [{"cell_type": "code", "metadata": {"labkit": role}, "source": text} for role, text in cells]
    path.write_text(json.dumps({"cells": made}, ensure_ascii=False), encoding="utf-8")


HINTS = "".join(f"<details><summary>Hint {n}</summary>\n\n第 {n} 步\n\n</details>\n" for n in (1, 2, 3))


@pytest.fixture(autouse=True)
def desk(monkeypatch, tmp_path):
    """A learner's folder with one notebook of two exercises, just as it was shipped."""
    monkeypatch.setattr("labkit.classroom.check.SHIPPED", tmp_path)
    monkeypatch.delenv("LABKIT_PROGRESS", raising=False)
    monkeypatch.delenv("LABKIT_CHECK", raising=False)
    monkeypatch.chdir(tmp_path)
    notebook(tmp_path / "03_x.ipynb", ("task 3.1", HINTS), ("exercise 3.1", "..."), ("exercise 3.2", "..."))
    return tmp_path


def blank(x): ...


async def blank_with_words(x):
    """What it should do."""
    ...


def identity(x):
    return x


def refuse(holds, message):
    """An assertion as a notebook has it, without what pytest adds to the message."""
    if not holds:
        raise AssertionError(message)


class Shell:
    def run(self): ...


def test_a_right_answer_passes(capsys):
    with check("3.1", identity):
        assert identity(2) == 2
    assert capsys.readouterr().out == "3.1 passed\n"


@pytest.mark.parametrize(
    "answer", [..., blank, blank_with_words, Shell, [1, ...], {"a": {"b": ...}}, (blank,)]
)
def test_an_untouched_answer_is_open_whatever_the_block_does(answer, capsys):
    with check("3.1", answer):
        answer.nothing_of_the_kind()
    assert capsys.readouterr().out == "3.1 open\n"


@pytest.mark.parametrize("answer", [identity, None, 0, [], "", dict, len])
def test_anything_that_was_written_is_an_answer(answer, capsys):
    with check("3.1", answer):
        pass
    assert capsys.readouterr().out == "3.1 passed\n"


def test_a_wrong_answer_gets_the_message_of_the_assertion(capsys):
    with check("3.1", identity):
        refuse(identity(1) == 2, "adds nothing: 请再想想")
    assert capsys.readouterr().out == "3.1 not yet: adds nothing: 请再想想\n"


def test_an_error_inside_a_check_is_named_and_does_not_stop_the_notebook(capsys):
    with check("3.1", identity):
        identity(1)["city"]
    assert "3.1 not yet: TypeError:" in capsys.readouterr().out


def test_an_interrupt_still_stops():
    with pytest.raises(KeyboardInterrupt), check("3.1", identity):
        raise KeyboardInterrupt


@pytest.mark.parametrize(("answer", "wanted"), [(..., "3.1 open"), (identity, "3.1 not yet: no")])
def test_strict_raises_for_all_that_has_not_passed(answer, wanted, monkeypatch):
    monkeypatch.setenv("LABKIT_CHECK", "strict")
    with pytest.raises(AssertionError, match=wanted), check("3.1", answer):
        refuse(False, "no")


def test_hints_come_one_at_a_time_and_begin_again(capsys):
    for _ in range(4):
        hint("3.1")
    said = capsys.readouterr().out.splitlines()
    assert said == [f"3.1 hint {n} of 3: 第 {n} 步" for n in (1, 2, 3, 1)]


def test_an_unknown_task_is_told_how_tasks_are_named():
    with pytest.raises(BadFile, match=r"named like 3\.1"):
        hint("33")


def test_progress_shows_what_is_still_open(capsys):
    with check("3.1", identity):
        pass
    progress()
    assert capsys.readouterr().out.splitlines()[1].split() == ["03_x", "#.", "1", "of", "2", "open:", "3.2"]


def test_the_file_counts_tries_and_keeps_what_the_learner_added(desk):
    (desk / ".labkit").mkdir()
    (desk / ".labkit" / "progress.json").write_text('{"3.1": {"note": "看文档"}}', encoding="utf-8")
    for _ in range(2):
        with check("3.1", identity):
            refuse(identity(1) == 2, "no")
    row = json.loads((desk / ".labkit" / "progress.json").read_text(encoding="utf-8"))["3.1"]
    assert row == {"note": "看文档", "state": "not yet", "message": "no", "tries": 2}


@pytest.mark.parametrize("rubbish", ["", "not json", "[1, 2]", "{"])
def test_a_broken_file_is_started_anew(rubbish, desk, capsys):
    (desk / ".labkit").mkdir()
    (desk / ".labkit" / "progress.json").write_text(rubbish, encoding="utf-8")
    with check("3.1", identity):
        pass
    progress("03")
    assert "1 of 2" in capsys.readouterr().out
    assert (desk / ".labkit" / "progress.broken.json").read_text(encoding="utf-8") == rubbish


def test_a_folder_that_cannot_be_written_is_told_and_stops_nothing(desk, capsys):
    (desk / ".labkit").write_text("a file where the folder should be", encoding="utf-8")
    with check("3.1", identity):
        pass
    said = capsys.readouterr().out
    assert said.startswith("3.1 passed\n(progress is not kept: ")


def test_off_leaves_no_trace_on_disk(desk, monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", "off")
    with check("3.1", identity):
        pass
    assert not (desk / ".labkit").exists()


def test_every_line_can_be_printed_on_a_chinese_windows_console(capsys):
    with check("3.1", identity):
        refuse(identity(1) == 2, "订单")
    hint("3.1")
    progress()
    assert capsys.readouterr().out.encode("cp936")
