"""`labkit eval` and `labkit trace`: the eval harness at a terminal and in CI."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal
from zlib import crc32

import typer

from labkit.connect import OFFLINE
from labkit.files import read_appended, write_text
from labkit.measure import report, trace
from labkit.measure.cases import golden, load_cases
from labkit.measure.gate import decide, load_rules, repeats_for
from labkit.measure.metrics import METRICS, Row, scores
from labkit.measure.runner import Desk, aevaluate, desk_unit, spacing
from labkit.measure.stats import paired
from labkit.protocol.errors import BadFile, BadSetup

REQUESTS, TOKENS = 2, 3000  # of a sample, on average, over the golden set
Results = Annotated[Path, typer.Argument(help="a file that `labkit eval run` wrote")]
Traces = Annotated[Path, typer.Argument(help="a file of traces, or of eval results")]
evals = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)
traces = typer.Typer(no_args_is_help=True, rich_markup_mode=None, add_completion=False)


@evals.command("run")
def run_eval(
    out: Annotated[Path, typer.Argument(help="results, one line a sample; goes on where it stopped")],
    client: Annotated[
        str, typer.Option(help="sim, local, openai, deepseek, qwen, kimi, or a base URL")
    ] = "sim",
    model: Annotated[str, typer.Option(help="the vendor's usual one when left out")] = "",
    prompt: Annotated[Path | None, typer.Option(help="a text file with the rules")] = None,
    cases: Annotated[Path | None, typer.Option(help="JSON lines; the golden set when left out")] = None,
    repeats: int = 1,
    every: Annotated[int, typer.Option(help="take every n-th case only")] = 1,
    engine: Literal["asyncio", "ray"] = "asyncio",
    concurrency: int = 8,
    requests_per_minute: float = 500,
    tokens_per_minute: float = 200_000,
    yes: Annotated[bool, typer.Option(help="spend without asking")] = False,
):
    """Run the cases against a model and a prompt; rows go to OUT as they come."""
    chosen = (load_cases(cases) if cases else golden())[::every]
    rules, offline = prompt.read_text(encoding="utf-8") if prompt else "", client in OFFLINE
    size = len(chosen) * repeats
    if not (offline or yes):
        words = f"{size} samples: about {size * REQUESTS} requests and {size * TOKENS} tokens. Go on?"
        typer.confirm(words, abort=True)
    version = f"{prompt.stem if prompt else 'none'}-{crc32(rules.encode()):08x}"
    if others := {row.get("version") for row in read_appended(out)} - {version}:
        raise BadSetup(f"{out} holds rows of {others.pop()}, not of {version}", hint="Take another file.")
    unit = desk_unit(
        Desk(client, model, rules, asynchronous=not offline and engine != "ray"), version=version
    )
    if engine == "ray":
        _on_ray(chosen, repeats, unit, out, concurrency)
    else:
        gap = 0 if offline else spacing(REQUESTS, TOKENS, requests_per_minute, tokens_per_minute)
        asyncio.run(aevaluate(chosen, repeats, unit, out, concurrency=concurrency, gap=gap, quiet=False))
    _finish(_rows(out))


def _on_ray(chosen, repeats, unit, out, workers) -> None:
    try:
        from labkit.measure.cluster import evaluate_on_ray
    except ImportError:
        raise BadSetup("Ray is not installed", hint='uv pip install "labkit[ray]"') from None
    evaluate_on_ray(chosen, repeats, unit, out, workers=workers, quiet=False)


def _finish(rows: list[Row]) -> None:
    print(report.text(rows))
    raise typer.Exit(1 if any(row.get("grader_error") for row in rows) else 0)


@evals.command()
def compare(before: Results, after: Results):
    """Compare two versions case by case: the difference, its interval, and the cases that decide."""
    old, new = _rows(before), _rows(after)
    for name, metric in METRICS.items():
        a, b = scores(old, name), scores(new, name)
        if name != "task_success":  # what is not countable in one version has no pair
            a, b = ({case: one[case] for case in a.keys() & b.keys()} for one in (a, b))
        result = paired(a, b, seed=0)
        p = min(result.p_worse, result.p_better)
        names = ", ".join(case for case, _ in result.deciding[:5])
        print(f"{name:15} {result.difference}, p {p:.3f} ({metric.better} is better)  {names}")


@evals.command()
def gate(
    baseline: Results,
    candidate: Results,
    rules: Annotated[Path | None, typer.Option(help="TOML; that of S1 §5.4 when left out")] = None,
    drop: Annotated[float, typer.Option(help="the drop in a rate that must not slip through")] = 0.10,
):
    """Pass (exit status 0) or block (1) a candidate, and say which cases decide."""
    before, after, loaded = _rows(baseline), _rows(candidate), load_rules(rules)
    verdict, asked = decide(loaded, before, after), repeats_for(loaded, before, drop)
    print(verdict)
    print(f"to see a drop of {drop:.0%} 95 times of 100, repeat each case {asked or 'more than 200'} times")
    raise typer.Exit(0 if verdict.passed else 1)


@evals.command("report")
def report_eval(
    results: Results, html: Annotated[Path | None, typer.Option(help="write a page here")] = None
):
    """Print the metrics of a file with their intervals; or write them as one HTML page."""
    rows = _rows(results)
    if html:
        write_text(html, report.page(rows, results.stem))
    _finish(rows)


@traces.command()
def summary(file: Traces):
    """How many runs, how they ended, what they cost."""
    db = trace.database(_records(file))
    words = "count(*), sum(input_tokens), sum(output_tokens), sum(cached_tokens), sum(usd)"
    count, into, out, cached, usd = db.execute(f"SELECT {words} FROM runs").fetchone()
    print(f"{count} runs, {into} tokens in ({cached} cached), {out} out, {usd or 0:.4f} USD")
    for outcome, number in db.execute("SELECT outcome, count(*) FROM runs GROUP BY 1 ORDER BY 2 DESC"):
        print(f"{outcome:25} {number}")


@traces.command()
def mixed(file: Traces):
    """Which tools are mixed up, the commonest first."""
    found = trace.mixed_up(trace.database(_records(file)))
    print("\n".join(f"{want} -> {got}, {n} runs" for want, got, n in found) or "none, or no labels")


@traces.command()
def worst(
    file: Traces,
    by: Annotated[str, typer.Option(help="seconds, usd, retry_count …")] = "seconds",
    most: int = 5,
):
    """The slowest or dearest runs, by any number of a run."""
    found = trace.worst(trace.database(_records(file)), by, most)
    print("\n".join(f"{name} {value}" for name, value in found))


def _rows(path: Path) -> list[Row]:
    rows = list(read_appended(path))
    if not rows or any("case" not in row for row in rows):
        raise BadFile(f"{path} holds no results of an eval", hint="Write them with `labkit eval run`.")
    return rows


def _records(path: Path) -> Iterator[trace.RunRecord]:
    if not path.exists():
        raise BadFile(f"there is no file {path}", hint="Write one with trace.append or `labkit eval run`.")
    for number, row in enumerate(read_appended(path), 1):
        try:
            yield trace.from_json(row.get("trace", row) | {"expected": row.get("expected", "")})
        except ValueError:
            raise BadFile(f"{path}: row {number} is not the trace of a run") from None
