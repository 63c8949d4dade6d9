"""The state machine as a picture, drawn from its transition table, with the path of a run lit up in it."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from labkit.classroom.plots import BAD, GOOD, INK, QUIET, Picture, canvas

PLACES = {
    "Done": (0.0, 2.0),
    "Waiting": (4.85, 2.0),
    "Deciding": (0.0, 1.0),
    "Validating": (2.0, 1.0),
    "Authorising": (4.0, 1.0),
    "Executing": (6.0, 1.0),
    "Observing": (3.0, 0.0),
    "Reconciling": (7.3, 0.0),
}
FLOOR = -1.0
BENDS = {("Observing", "Deciding"): -0.2, ("Waiting", "Authorising"): 0.35, ("Authorising", "Waiting"): 0.35}
Step = tuple[str, str]


def draw(transitions: Mapping[tuple[str, str], str], path: Sequence[Step] = ()) -> Picture:
    """Every arrow of the table with its events; the steps of `path`, (from, to), are numbered and lit.

    >>> draw({("Deciding", "answered"): "Done"}, [("Deciding", "Done")]).axes[0].texts[-1].get_text()
    '1: answered'
    """
    figure, axes = canvas(10.5, 5.2)
    figure.set_layout_engine("none")
    axes.set(xlim=(-1.35, 8.2), ylim=(-1.25, 2.3), position=(0, 0, 1, 1))
    axes.axis("off")
    visited = {name for step in path for name in step}
    boxes = {name: _box(axes, name, *at, name in visited) for name, at in PLACES.items()}
    _floor(axes, "Stopped" in visited)
    for (start, end), events in arrows(transitions).items():
        numbers = [str(number) for number, step in enumerate(path, 1) if step == (start, end)]
        colour = QUIET if not numbers else BAD if end == "Stopped" else GOOD
        look = {"arrowstyle": "-|>", "color": colour, "lw": 2.2 if numbers else 0.9}
        look |= {"shrinkA": 1, "shrinkB": 1, "patchA": boxes.get(start), "patchB": boxes.get(end)}
        label = ", ".join(numbers) + ": " * bool(numbers) + "\n".join(events)
        _arrow(axes, start, end, look, label)
    return figure


def arrows(transitions: Mapping[tuple[str, str], str]) -> dict[Step, list[str]]:
    """The events that lead from one state to another, by both."""
    found: dict[Step, list[str]] = {}
    for (start, event), end in transitions.items():
        found.setdefault((start, end), []).append(event)
    return found


def _box(axes: Axes, name: str, x: float, y: float, lit: bool):
    style = {"boxstyle": "round,pad=0.45", "fc": "#e8f1ea" if lit else "white", "ec": GOOD if lit else QUIET}
    return axes.text(x, y, name, ha="center", va="center", color=INK, bbox=style, zorder=3).get_bbox_patch()


def _floor(axes: Axes, lit: bool) -> None:
    """`Stopped`, which can be reached from almost everywhere, lies below all the others."""
    look = {"boxstyle": "round,pad=0.05", "fc": "#f8ebe9" if lit else "white", "ec": BAD if lit else QUIET}
    axes.add_patch(FancyBboxPatch((-0.6, FLOOR - 0.12), 8.6, 0.2, **look))
    axes.text(3.7, FLOOR - 0.02, "Stopped", ha="center", va="center", color=INK)


def _arrow(axes: Axes, start: str, end: str, look: dict, label: str) -> None:
    bend = BENDS.get((start, end), 0.0)
    (x, y), (to_x, to_y) = PLACES.get(start, (0, FLOOR)), PLACES.get(end, (0, FLOOR))
    at = (x + to_x) / 2 + bend * (to_y - y) / 2, (y + to_y) / 2 - bend * (to_x - x) / 2
    if start == end:
        (x, y), (to_x, to_y), bend, at = (x - 0.3, y + 0.12), (x - 0.3, y - 0.12), 2.2, (x - 0.95, y)
    elif FLOOR in (y, to_y):
        x = to_x = x + (0.25 if start == "Waiting" else -0.25) if end == "Stopped" else to_x + 0.3
        at = x, -0.62 if len(label) < 20 or "halted" in label else -0.45
        look |= {"shrinkA": 13, "shrinkB": 13 if end == "Stopped" else 4, "patchA": None}
    axes.annotate("", (to_x, to_y), (x, y), arrowprops=look | {"connectionstyle": f"arc3,rad={bend}"})
    colour = "#5f6c7b" if look["color"] == QUIET else look["color"]
    blank = {"fc": "white", "ec": "none", "pad": 0.8}
    axes.text(*at, label, ha="center", va="center", fontsize=7.5, color=colour, bbox=blank, zorder=4)
