"""How every figure of the course looks: one style, and a font that has Chinese characters.

A figure function takes values and returns a `Picture`; a test asserts on its data, not on its pixels.
"""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imsave

FONT = Path(__file__).parent / "fonts" / "NotoSansSC-subset.ttf"
INK, QUIET, GOOD, BAD, OTHER = "#1f2933", "#9aa5b1", "#2f7d4f", "#b3402f", "#3a6ea5"
STYLE = {
    "font.family": ["DejaVu Sans", "Noto Sans SC"],
    "axes.unicode_minus": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.prop_cycle": matplotlib.cycler(color=[OTHER, BAD, GOOD, "#8a6d1d", "#6b4c9a", INK]),
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.dpi": 100,
    "svg.hashsalt": "labkit",
}


class Picture(Figure):
    """A figure that a notebook shows by itself, so that no lesson waits for pyplot."""

    def _repr_png_(self) -> bytes:
        drawn, png = FigureCanvasAgg(self), BytesIO()
        drawn.draw()  # savefig would draw it twice, to find the place of every part first
        imsave(png, drawn.buffer_rgba(), format="png", metadata={"Software": None})
        return png.getvalue()


def canvas(width: float = 6.0, height: float = 3.2, title: str = "") -> tuple[Picture, Axes]:
    """A figure in the style of the course, set for the whole process, and its axes; sizes are in inches.

    >>> figure, axes = canvas(title="退款 and refunds")
    >>> axes.get_title(loc="left")
    '退款 and refunds'
    """
    if str(FONT) not in (font.fname for font in font_manager.fontManager.ttflist):
        font_manager.fontManager.addfont(FONT)
    matplotlib.rcParams.update(STYLE)
    figure = Picture(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, loc="left", color=INK)
    return figure, axes


def whiskers(rates: Iterable[Any]) -> list[list[float]]:
    """The distances from each estimate to its bounds, as matplotlib's error bars want them.

    >>> from labkit.measure.stats import wilson
    >>> [round(below[0], 2) for below in whiskers([wilson(10, 10)])]
    [0.28, 0.0]
    """
    rates = list(rates)
    return [[max(r.value - r.low, 0) for r in rates], [max(r.high - r.value, 0) for r in rates]]
