"""Figures show Chinese without a warning, and a notebook shows a figure by itself."""

from labkit.classroom.plots import FONT, canvas


def test_chinese_is_drawn_without_a_warning_and_the_same_each_time():
    def draw():
        figure, axes = canvas(title="退款 −5 ≤ x")
        axes.plot([1, 2], [3, -4], label="查询订单")
        axes.legend()
        return figure._repr_png_()

    assert draw()[:4] == b"\x89PNG"
    assert draw() == draw()


def test_the_font_comes_with_its_licence():
    assert "SIL OPEN FONT LICENSE" in (FONT.parent / "OFL.txt").read_text(encoding="utf-8")
