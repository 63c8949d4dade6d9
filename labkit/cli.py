"""The commands of the course; what only one of them needs is imported in it, so that each starts at once."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

import typer

from labkit.classroom import check as lesson
from labkit.classroom import copies
from labkit.files import ROOT
from labkit.protocol.errors import BadFile, LabError

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False
)
MINE = Path(os.environ.get("LABKIT_WORK") or ROOT / "my_work").resolve()
JUPYTER = [
    f"--ServerApp.root_dir={MINE.parent}",
    f"--LabApp.default_url=/lab/tree/{quote(os.fsencode(MINE.name))}/00_start_here.ipynb",
    f"--LabApp.app_settings_dir={ROOT / 'labkit' / 'classroom' / 'jupyterlab'}",
    "--KernelManager.transport_encryption=auto",
]
Body = Annotated[typer.FileText | None, typer.Argument(help="a request as JSON", encoding="utf-8")]
Profile = Literal["strict", "lenient"]
PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
Numbers = Annotated[list[str] | None, typer.Argument(help="chapters, such as 03; all of them when left out")]
Task = Annotated[
    str, typer.Argument(help="a task, such as 3.1", callback=lambda task: re.sub(r"^0+(?=\d)", "", task))
]


@app.command(context_settings=PASS_ON)
def lab(context: typer.Context):
    """Open your copies in JupyterLab. Takes its options, such as --no-browser."""
    from jupyterlab.labapp import main as jupyterlab

    hand_out()
    os.environ["PYTHONUTF8"] = "1"
    sys.exit(jupyterlab([*JUPYTER, *context.args]))


@app.command(context_settings=PASS_ON)
def test(context: typer.Context):
    """Run all tests and notebooks, offline. Takes pytest's options."""
    from labkit.classroom.workbook import quiet_environment

    with tempfile.TemporaryDirectory() as folder:
        paths = str(ROOT / "tests" / "offline"), os.environ.get("PYTHONPATH")
        offline = os.pathsep.join(filter(None, paths))
        environment = quiet_environment(PYTHONPATH=offline, IPYTHONDIR=folder, MPLCONFIGDIR=folder)
        if environment.pop("PYTHONDONTWRITEBYTECODE", ""):
            environment["PYTHONPYCACHEPREFIX"] = folder  # compiled once, not by every kernel anew
        subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], env=environment, check=True)
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", *context.args]
        raise typer.Exit(subprocess.run(command, cwd=ROOT, env=environment).returncode)


@app.command()
def serve(
    port: Annotated[int, typer.Option(help="0 takes any free one")] = 8765,
    host: Annotated[str, typer.Option(help="0.0.0.0 opens it to others: your decision")] = "127.0.0.1",
    brain: Annotated[str, typer.Option(help="obedient, sim, local, or the path of a cassette")] = "obedient",
    profile: Annotated[Profile, typer.Option(help="what to do with rules that nobody confirmed")] = "strict",
    vendor: Annotated[str, typer.Option(help="openai, deepseek, qwen or kimi")] = "openai",
):
    """Serve the offline API on a port. Any client can use it, until Ctrl-C."""
    from labkit.service import server
    from labkit.service.api import Service
    from labkit.service.brains import local, recorded, scripted, simulated

    brains = {"obedient": lambda: scripted.obedient, "sim": simulated.simulated}
    brains["local"] = lambda: local.Local(local.load())
    chosen = brains[brain]() if brain in brains else recorded.replay(brain)
    service = Service(chosen, profile=profile, vendor=vendor, clock=time.time, sleep=time.sleep, keep=1000)
    said = f"speaks the OpenAI wire ({brain}, {profile}). Use any key that begins with sk-; Ctrl-C ends it."
    server.serve(service, host=host, port=port, ready=lambda url: print(url, said, flush=True))


@app.command()
def build(
    numbers: Numbers = None, check: Annotated[bool, typer.Option(help="only say what is stale")] = False
):
    """Build the notebooks of a chapter, or find the stale ones."""
    from labkit.classroom import workbook

    found = []
    for source in workbook.sources(numbers or ()):
        if check:
            found += workbook.stale(source)
            continue
        for path in workbook.build(source):
            print(f"built {path.parent.name}/{path.name}")
    if check:
        print("\n".join(found) or "nothing is stale")
    raise typer.Exit(1 if found else 0)


@app.command()
def check(number: Annotated[str, typer.Argument(help="a chapter, such as 03")]):
    """Run your copy of a notebook: what each check says. The file is not changed."""
    from labkit.classroom import workbook

    said = workbook.run_checks(hand_out(), number.zfill(2))
    print("\n".join(map(str, said)))
    raise typer.Exit(0 if all(one.state == "passed" for one in said) else 1)


@app.command()
def hint(task: Task):
    """Print the next hint of a task."""
    lesson.hint(task, hand_out())


@app.command()
def answer(task: Task):
    """Print our answer to a task. It opens when yours has passed, or after three tries."""
    lesson.answer(task, hand_out())


@app.command()
def reset(task: Task):
    """Put the blank back for one task. Everything else stays as it is."""
    print(copies.reset(task, MINE))


@app.command()
def update():
    """Bring new and corrected notebooks. What you have changed stays, and the new one lies beside it."""
    print("\n".join(copies.update(hand_out())) or "your copies are up to date")


@app.command()
def watch():
    """Run the checks of a notebook whenever you save it. Prints what changed, until Ctrl-C."""
    from labkit.classroom import workbook

    workbook.watch(hand_out())


@app.command()
def progress(number: Annotated[str, typer.Argument(help="a chapter, such as 03")] = ""):
    """Print what has passed and what is still open."""
    lesson.progress(number and number.zfill(2), hand_out())


@app.command("graduate")
def examine_agent(
    file: Annotated[Path | None, typer.Argument(help="your agent; your notebook 12 when left out")] = None,
    full: Annotated[bool, typer.Option(help="all golden cases and all attacks: about half a minute")] = False,
):
    """Judge your own agent by the seven criteria. Golden set, attacks, fault schedules."""
    from labkit.classroom.graduate import graduate, read

    found = []
    for finding in graduate(read(file or hand_out() / "12_capstone.ipynb", full=full)):
        print(finding, flush=True)
        found.append(finding)
    still = sum(bool(finding.missing) for finding in found)
    print(f"{still} of {len(found)} criteria are still missing" if still else "graduated")
    raise typer.Exit(1 if still else 0)


@app.command()
def doctor(
    request: Body = None,
    tool: Annotated[str | None, typer.Option(help="the tool that you expected to be called")] = None,
):
    """Say what is wrong with this machine. Given a request: why the model ignored its tool."""
    from labkit.classroom.doctor import diagnose
    from labkit.classroom.machine import examine

    if request is None:
        signs = list(examine(dict(os.environ)))
        print("\n".join(map(str, signs)))
        raise typer.Exit(1 if any(sign.remedy for sign in signs) else 0)
    try:
        found = diagnose(json.load(request), tool)
    except ValueError as error:
        raise BadFile(f"{request.name} is no JSON ({error})", hint="Save one request's body in it.") from None
    print("\n".join(f"{one.layer}: {one.evidence}. {one.remedy}" for one in found) or "no layer at fault")
    raise typer.Exit(1 if found else 0)


@app.command()
def hub(
    admin: Annotated[str, typer.Option(help="the name under which the instructor signs up")],
    host: Annotated[str, typer.Option(help="0.0.0.0 opens it to the room: your decision")] = "127.0.0.1",
    port: Annotated[int, typer.Option()] = 8000,
):
    """Open a room on this machine, with passwords. docs/workshop has more."""
    from labkit.classroom import hub as room

    raise typer.Exit(room.serve(admin, host, port, ROOT / ".labkit" / "hub"))


@app.command("wire-check")
def wire_check(
    base_url: Annotated[str | None, typer.Option(help="a server; our own service when left out")] = None,
    vendor: Annotated[str, typer.Option(help="whose rules to expect")] = "openai",
    yes: Annotated[bool, typer.Option(help="send to a server without asking first")] = False,
):
    """Compare a server with the API, rule by rule. Its key is taken from LABKIT_API_KEY."""
    from labkit import wire_check as wire

    def announce(estimate: str) -> None:
        if base_url is None or yes:
            print(estimate)
        else:
            typer.confirm(f"{estimate}. Send them to {base_url}?", abort=True)

    report = wire.run(base_url, os.environ.get("LABKIT_API_KEY"), vendor=vendor, announce=announce)
    print(report.text())
    raise typer.Exit(0 if report.ok else 1)


@app.command("eval", context_settings=PASS_ON, add_help_option=False)
def evaluate(context: typer.Context):
    """Measure a prompt and a model: run, compare, gate, report."""
    from labkit.measure.commands import evals

    evals(context.args, prog_name="labkit eval")


@app.command(context_settings=PASS_ON, add_help_option=False)
def trace(context: typer.Context):
    """Ask a file of traces: summary, mixed, worst."""
    from labkit.measure.commands import traces

    traces(context.args, prog_name="labkit trace")


def hand_out() -> Path:
    """The learner's own folder, with the notebooks that it lacks."""
    return copies.hand_out(MINE)


def main() -> None:
    """Run a command; what a learner can mend is one line, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except (LabError, OSError) as error:
        print(f"labkit: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
