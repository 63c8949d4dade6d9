"""The picture of the state machine shows the table, all of it, and the path of a run."""

from labkit.classroom.machine_plot import arrows, draw
from labkit.classroom.plots import BAD, GOOD
from labkit.runtime import TRANSITIONS


def texts(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_every_state_and_every_event_of_the_table_is_in_the_picture():  # covers: F1
    shown = "\n".join(texts(draw(TRANSITIONS))).split("\n")
    assert {state for state, _ in TRANSITIONS} <= set(shown)
    assert {event for _, event in TRANSITIONS} <= set(shown)


def test_there_is_one_arrow_for_each_pair_of_states():
    figure = draw(TRANSITIONS)
    assert sum(
        text.arrow_patch is not None for text in figure.axes[0].texts if hasattr(text, "arrow_patch")
    ) == len(arrows(TRANSITIONS))


def test_the_steps_of_a_run_are_numbered_and_coloured():
    path = [("Deciding", "Validating"), ("Validating", "Stopped")]
    figure = draw(TRANSITIONS, path)
    labels = {text.get_text(): text.get_color() for text in figure.axes[0].texts}
    assert labels["1: called"] == GOOD
    assert labels["2: cancelled"] == BAD


def test_it_can_be_shown_as_a_picture():
    assert draw(TRANSITIONS)._repr_png_().startswith(b"\x89PNG")
