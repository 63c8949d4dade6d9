"""A chapter becomes two notebooks, the same at every build, and what is stale is found."""

import json

import nbformat
import pytest

from labkit.classroom.workbook import build, cut, notebook, read_chapter, run_checks, stale
from labkit.protocol.errors import BadFile

CHAPTER = """\
# %% [markdown]
# # 9. Try 中文

# %%
import os
from labkit.classroom.check import check, hint
print(sorted(name for name in os.environ if name.startswith(("LABKIT_CL", "OPENAI_"))))

# %% [markdown] task 9.1
# Add one. <details><summary>Hint 1</summary>use +</details>

# %% exercise 9.1
def f(x):
    ### BEGIN SOLUTION
    return x + 1
    ### END SOLUTION

# %% check 9.1
with check("9.1", f):
    assert f(1) == 2, "one is missing"

# %% wrong 9.1 does nothing
def f(x):
    return x

# %%
hint("9.1")

# %% tags=["raises-exception"]
1 / 0
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "我的 course" / "solutions" / "09_try.py"
    path.parent.mkdir(parents=True)
    path.write_text(CHAPTER, encoding="utf-8")
    return path


def test_both_notebooks_are_built_run_and_the_same_a_second_time(source, monkeypatch):
    monkeypatch.setenv("LABKIT_CLIENT", "openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-lessons")
    first = [path.read_bytes() for path in build(source)]
    assert first == [path.read_bytes() for path in build(source)]
    lesson, solution = (json.loads(raw)["cells"] for raw in first)
    assert lesson[1]["outputs"][0]["text"] == ["[]\n"]
    assert "return x + 1" not in str(lesson) and "9.1 open" in str(lesson)
    assert "return x + 1" in str(solution) and "9.1 passed" in str(solution)
    assert "does nothing" not in str(lesson + solution) and "SOLUTION" not in str(lesson + solution)
    assert [cell["execution_count"] for cell in lesson if cell["cell_type"] == "code"] == [1, 2, 3, 4, 5]
    assert stale(source) == []

    source.write_text(CHAPTER.replace("Add one", "Add 1"), encoding="utf-8")
    assert stale(source) == [
        f"{kind}/09_try.ipynb differs from solutions/09_try.py" for kind in ("notebooks", "solutions")
    ]


def test_an_answer_that_fails_its_check_stops_the_build_and_leaves_the_old_notebooks(source):
    source.write_text(CHAPTER.replace("return x + 1", "return x"), encoding="utf-8")
    with pytest.raises(BadFile, match="one is missing"):
        build(source)
    assert not (source.parent / "09_try.ipynb").exists()


def test_what_was_never_built_or_never_run_is_stale(source):
    assert [reason.split(" has")[0] for reason in stale(source)] == [
        "notebooks/09_try.ipynb",
        "solutions/09_try.ipynb",
    ]
    (source.parent.parent / "notebooks").mkdir()
    for folder, answers in (("notebooks", False), ("solutions", True)):
        made = nbformat.writes(notebook(read_chapter(source), answers=answers))
        (source.parent.parent / folder / "09_try.ipynb").write_text(made, encoding="utf-8")
    assert all("was not run" in reason for reason in stale(source))


def test_ids_stay_when_a_cell_is_put_in_between(source):
    def ids():
        return [cell.id for cell in notebook(read_chapter(source), answers=False).cells]

    before = ids()
    source.write_text(
        CHAPTER.replace("# %% [markdown] task", "# %%\nx = 1\n\n# %% [markdown] task"), encoding="utf-8"
    )
    assert [one for one in ids() if one in before] == before
    assert "exercise-9-1" in before


@pytest.mark.parametrize(
    ("inside", "blank"),
    [
        ("    return 1", "    ...  # your turn"),
        ("    # blank: answer = None\n    answer = 1", "    answer = None"),
        ("    # blank: a = ...\n    # blank: b = ...\n    a, b = 1, 2", "    a = ...\n    b = ..."),
    ],
)
def test_a_blank_stands_where_the_answer_stood(inside, blank):
    source = f"def f():\n    ### BEGIN SOLUTION\n{inside}\n    ### END SOLUTION\n\nf()"
    assert cut(source, answers=False) == f"def f():\n{blank}\n\nf()"


def test_an_exercise_without_markers_is_named(source):
    source.write_text(CHAPTER.replace("### END SOLUTION", ""), encoding="utf-8")
    with pytest.raises(BadFile, match=r"09_try.py, exercise 9.1: .*BEGIN SOLUTION"):
        read_chapter(source)


def test_a_learners_copy_is_run_past_its_errors_and_not_changed(source):
    build(source)
    mine = source.parent.parent / "notebooks"
    path = mine / "09_try.ipynb"
    before = path.read_bytes()
    assert [str(said) for said in run_checks(mine, "09")] == ["9.1 open"]
    path.write_text(
        before.decode().replace("...  # your turn", "return x").replace("hint(", "nothing("), encoding="utf-8"
    )
    assert [str(said) for said in run_checks(mine, "09")] == ["9.1 not yet: one is missing"]
