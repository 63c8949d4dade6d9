"""Values of a lesson to be touched: a knob turns, and the picture or the page beside it follows.

`Live` is a widget where a kernel runs; what is kept of it in a file is its first state, as PNG or HTML.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Any

from ipywidgets import HTML, Checkbox, Dropdown, FloatSlider, IntSlider, SelectMultiple, ToggleButton, VBox

from labkit.classroom.check import MARKS, standing
from labkit.classroom.machine_plot import Step, draw
from labkit.classroom.plots import BAD, GOOD, INK, OTHER, QUIET, Picture, canvas, whiskers
from labkit.control.choice import Choice, function, parameters
from labkit.measure.cost import load_prices, money, price_of
from labkit.measure.metrics import METRICS, Row
from labkit.measure.range import Cell
from labkit.measure.report import summary
from labkit.protocol.families import VENDORS, Family
from labkit.protocol.messages import Message, Usage, unanswered
from labkit.protocol.tokens import count_request
from labkit.protocol.tools import Toolbox
from labkit.service.brains.simulated import probabilities, scores
from labkit.service.decide import Ask

ROLES = {"user": OTHER, "assistant": GOOD, "tool": "#8a6d1d"}
CARD = "<div style='border-left:4px solid {};margin:4px 0;padding:2px 8px'><b>{}</b> {}</div>"


class Live(VBox):
    """What `draw` makes of the values of its knobs, a `Picture` or a page of HTML; it keeps it in `shown`.

    >>> Live(lambda n: f"<b>{n}</b>", n=IntSlider(3)).shown
    '<b>3</b>'
    """

    def __init__(self, draw: Callable[..., Picture | str], **knobs: Any) -> None:
        self.draw, self.knobs, self.screen = draw, knobs, HTML()
        for name, knob in knobs.items():
            knob.description, knob.continuous_update = name.replace("_", " "), False
            knob.observe(self.turn, "value")
        super().__init__([*knobs.values(), self.screen])
        self.turn()

    def turn(self, change: Any = None) -> None:
        """Draw again."""
        self.shown = self.draw(**{name: knob.value for name, knob in self.knobs.items()})
        text = isinstance(self.shown, str)
        self.kept = {"text/html": self.shown} if text else {"image/png": _png(self.shown)}
        image = f"<img style='max-width:100%' alt='{escape(repr(self))}' src='data:image/png;base64,{{}}'>"
        self.screen.value = self.shown if text else image.format(self.kept["image/png"])

    def __repr__(self) -> str:
        return ", ".join(f"{name}: {knob.value}" for name, knob in self.knobs.items())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return super()._repr_mimebundle_(**kwargs) | {"text/plain": repr(self)} | self.kept


def _png(picture: Picture) -> str:
    return b64encode(picture._repr_png_()).decode()


def _steps(most: int, start: int | None = None) -> IntSlider:
    return IntSlider(most if start is None else start, 0, most)


def _page(cards: Iterable[tuple[str, str, str]]) -> str:
    """Cards of colour, title and text."""
    return "".join(CARD.format(colour, escape(title), escape(text)) for colour, title, text in cards)


def chain_viewer(chain: Sequence[Message]) -> Live:
    """A chain as it grows, message by message, and the calls that wait for a result at its end."""

    def page(messages: int) -> str:
        part, cards = chain[:messages], []
        for message in part:
            calls = [f"{call.name}({call.arguments}) as {call.id}" for call in message.calls]
            title = f"{message.role} {message.call_id}".rstrip()
            cards.append((ROLES.get(message.role, QUIET), title, " ".join([message.content, *calls])))
        return _page([*cards, *((BAD, "open", f"{call.id} has no result yet") for call in unanswered(part))])

    return Live(page, messages=_steps(len(chain)))


def request_inspector(bodies: Sequence[Mapping[str, Any]], family: Family) -> Live:
    """What each Chat request holds, and how many tokens each part of it costs."""

    def picture(request: int) -> Picture:
        body, count = bodies[request], count_request(bodies[request], family)
        knobs = ", ".join(f"{k}={v}" for k, v in body.items() if isinstance(v, str | int | float | bool))
        figure, axes = canvas(7, 0.9 + 0.35 * len(count.by_part), f"{count.total} tokens: {knobs}")
        bars = axes.barh(list(count.by_part), list(count.by_part.values()), color=OTHER)
        axes.bar_label(bars, padding=3)
        axes.invert_yaxis()
        return figure

    return Live(picture, request=_steps(len(bodies) - 1, 0))


def decision_scores(ask: Ask) -> Live:
    """How likely each option is, with the score it comes from, at any temperature (simulated, exact)."""
    totals = {score.tool: score.total for score in scores(ask)}

    def picture(temperature: float) -> Picture:
        chances = probabilities(replace(ask, temperature=temperature))
        names = [f"{tool or 'prose'} ({totals[tool]:.1f})" for tool in chances]
        figure, axes = canvas(6.5, 0.9 + 0.3 * len(names), f"decision at temperature {temperature:.1f}")
        bars = axes.barh(names, list(chances.values()), color=[OTHER if tool else QUIET for tool in chances])
        axes.bar_label(bars, fmt="%.2f", padding=3)
        axes.set(xlim=(0, 1.1), xlabel="probability (score in brackets; simulated)")
        axes.invert_yaxis()
        return figure

    return Live(picture, temperature=FloatSlider(ask.temperature, min=0, max=2, step=0.1))


def control_panel(toolbox: Toolbox) -> Live:
    """The parameters that a choice becomes, for each wire form and vendor, with what had to be replaced."""

    def page(tool_choice: str, allowed: tuple[str, ...], parallel: bool, wire: str, vendor: str) -> str:
        names = allowed if allowed and tool_choice in ("auto", "required") else None
        choice = function(tool_choice) if tool_choice in toolbox.names else Choice(tool_choice, names)
        sent = parameters(choice, toolbox, wire=wire, vendor=VENDORS[vendor], parallel=parallel)
        tools = [tool.get("function", tool)["name"] for tool in sent["tools"]]
        fields = [(INK, name, json.dumps(value)) for name, value in (sent | {"tools": tools}).items()]
        return _page([*fields, *((BAD, "note", text) for text in sent.notes)])

    return Live(
        page,
        tool_choice=Dropdown(options=["auto", "required", "none", *toolbox.names]),
        allowed=SelectMultiple(options=toolbox.names),
        parallel=Checkbox(True),
        wire=Dropdown(options=["chat", "responses"]),
        vendor=Dropdown(options=list(VENDORS)),
    )


def machine(transitions: Mapping[tuple[str, str], str], path: Sequence[Step]) -> Live:
    """The state machine with the path of a run, as far as the slider says."""
    return Live(lambda steps: draw(transitions, path[:steps]), steps=_steps(len(path)))


def injection_range(cells: Mapping[str, Cell]) -> Live:
    """The runs behind a table of the range: an attack, the calls that came of it, the harm, and the task."""
    some = next(iter(cells.values()))

    def page(attack: int, defence: str) -> str:
        found, task, trial = cells[defence].fights[attack]
        made = [f"{one.call.name}({one.call.arguments}) {one.status}" for one in trial.state.observations]
        head = [(OTHER, "user", task.prompt), (BAD, f"in a {found.carrier}", found.text)]
        harm = sorted(one if isinstance(one, str) else f"{one[0]} {dict(one[2])}" for one in trial.harm)
        tail = [(BAD if harm else GOOD, "harm", "; ".join(harm) or "none")]
        tail.append((INK, "questions to a person", str(trial.asked)))
        done = (GOOD, "task", "done") if trial.done else (BAD, "task", "not done")
        return _page([*head, *((QUIET, "call", text) for text in made), *tail, done])

    return Live(page, attack=_steps(len(some.fights) - 1, 0), defence=Dropdown(options=list(cells)))


def eval_comparison(versions: Mapping[str, Sequence[Row]]) -> Live:
    """One metric of several versions, with intervals over cases."""
    found = {name: summary(rows) for name, rows in versions.items()}

    def picture(metric: str) -> Picture:
        rates = {name: metrics[metric] for name, metrics in found.items() if metric in metrics}
        figure, axes = canvas(6.5, 1.0 + 0.4 * len(rates), f"{metric}: {METRICS[metric].words}")
        middle = [rate.value for rate in rates.values()]
        axes.errorbar(middle, list(rates), xerr=whiskers(rates.values()), fmt="o", capsize=4)
        axes.set(xlabel=f"{METRICS[metric].better} is better, 95%", ylim=(len(rates) - 0.5, -0.5))
        return figure

    known = [name for name in METRICS if any(name in metrics for metrics in found.values())]
    return Live(picture, metric=Dropdown(options=known, value="task_success"))


def progress_view(folder: Path | str = ".") -> Live:
    """How far you are, notebook by notebook; the button looks again."""
    colours = dict(zip(MARKS, (GOOD, BAD, "#e4e7eb"), strict=True))

    def picture(look_again: bool) -> Picture:
        stands = standing("", folder)
        figure, axes = canvas(6, 0.8 + 0.3 * len(stands), "green: passed, red: tried")
        for row, tasks in enumerate(stands.values()):
            for place, state in enumerate(tasks.values()):
                axes.barh(row, 0.9, left=place, color=colours[state])
        axes.set(yticks=range(len(stands)), yticklabels=list(stands), xticks=[])
        axes.invert_yaxis()
        return figure

    return Live(picture, look_again=ToggleButton())


@dataclass(frozen=True, slots=True)
class Plan:
    """A run to be budgeted: tokens of what every call carries, of each reply and each result; model calls."""

    schemas: int = 900
    rules: int = 500
    few_shot: int = 350
    dynamic: int = 250
    reply: int = 100
    result: int = 150
    calls: int = 2
    cached: float = 0.0
    model: str = "gpt-4.1-mini"

    @property
    def inputs(self) -> list[int]:
        """Input tokens of each call: the chain grows by a reply and a result (in S1 §5.4 it does not)."""
        first = self.schemas + self.rules + self.few_shot + self.dynamic
        return list(accumulate([self.reply + self.result] * (self.calls - 1), initial=first))

    @property
    def usage(self) -> Usage:
        total = sum(self.inputs)
        return Usage(total, self.reply * self.calls, cached=int(total * self.cached))

    def __str__(self) -> str:
        used, usd = self.usage, money(self.usage, price_of(self.model))
        read = f"{self.calls} calls, {used.input} tokens in ({used.cached} cached)"
        price = "unpriced" if usd is None else f"{usd * 1000:.2f} USD for 1,000 runs"
        return f"{read}, {used.output} out: {price}"


def budget_picture(plan: Plan) -> Picture:
    """What each call of a plan reads, stacked: what never changes, what is new each time, what has grown."""
    figure, axes = canvas(6.4, 2.6, title=str(plan))
    stable, calls = plan.schemas + plan.rules + plan.few_shot, range(1, plan.calls + 1)
    grown = [total - stable - plan.dynamic for total in plan.inputs]
    axes.barh(calls, stable, color=OTHER, label="schemas, rules, few-shot")
    axes.barh(calls, plan.dynamic, left=stable, color=GOOD, label="question and state")
    axes.barh(calls, grown, left=stable + plan.dynamic, color=QUIET, label="replies and results before")
    axes.set(yticks=list(calls), ylabel="call", xlabel="input tokens")
    axes.invert_yaxis()
    figure.legend(fontsize=8, loc="outside lower center", ncols=3)
    return figure


def budget(plan: Plan = Plan()) -> Live:
    """Sliders for a plan; the picture follows."""
    most = {"schemas": 6000, "rules": 2000, "few_shot": 2000, "dynamic": 2000, "reply": 500, "result": 2000}
    knobs = {name: IntSlider(getattr(plan, name), 0, top) for name, top in most.items()}
    knobs["calls"] = IntSlider(plan.calls, 1, 8)
    knobs["cached"] = FloatSlider(plan.cached, min=0, max=0.95, step=0.05)
    knobs["model"] = Dropdown(options=sorted(load_prices()), value=plan.model)
    return Live(lambda **chosen: budget_picture(Plan(**chosen)), **knobs)
