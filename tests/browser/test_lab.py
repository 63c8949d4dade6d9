"""A learner's browser: JupyterLab opens, notebooks run to their end, a slider moves a figure, nothing leaves.

One notebook always, five with LABKIT_LONG=1. Screenshots lie in tests/browser/shots, which git ignores.
"""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.files import ROOT
from tests.browser.chromium import FOUND, Chromium

SHOTS = Path(__file__).parent / "shots"
EVERY = ["00", "03", "06", "08", "11"]
CHOSEN = EVERY if os.environ.get("LABKIT_LONG") else ["06"]
NUMBERS = [number for number in CHOSEN if list((ROOT / "notebooks").glob(f"{number}_*.ipynb"))]

pytestmark = pytest.mark.skipif(
    not FOUND, reason="no Chromium here: install it, or name it in LABKIT_CHROMIUM"
)

APP, PANEL = "window.jupyterapp", "window.panel"
CODE = f"[...{PANEL}.content.model.cells].filter(cell => cell.type === 'code')"
DONE = f"{CODE}.every(cell => cell.executionCount)"
FAILED = f"""{CODE}.filter(cell => !(cell.getMetadata('tags') || []).includes('raises-exception'))
    .flatMap(cell => cell.outputs.toJSON())
    .filter(out => out.output_type === 'error' || out.name === 'stderr')
    .map(out => JSON.stringify(out))"""
OPEN = """{app}.commands.execute('docmanager:open', {{path: '我的 work/{name}'}})
    .then(panel => {{ window.panel = panel; {app}.shell.activateById(panel.id); return true; }})"""
CLOSE = f"""(async () => {{ await {PANEL}.context.save(); await {PANEL}.sessionContext.shutdown();
    {PANEL}.dispose(); return true; }})()"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab over a fresh copy of the notebooks, in a path with a space and Chinese characters."""
    folder = tmp_path_factory.mktemp("lab")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home = {
        name: str(folder / "home")
        for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")
    }
    environment = {**os.environ, **home, "LABKIT_WORK": str(folder / "我的 work")}
    environment.pop("LABKIT_PROGRESS", None)
    command = [sys.executable, "-m", "labkit.cli", "lab", "--no-browser", f"--port={port}", "--allow-root"]
    options = [
        "--ServerApp.port_retries=0",
        "--IdentityProvider.token=test",
        "--LabApp.expose_app_in_browser=True",
    ]
    with open(folder / "log.txt", "wb") as log:
        server = subprocess.Popen([*command, *options], env=environment, stdout=log, stderr=log)
        try:
            yield f"http://127.0.0.1:{port}", folder
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def up(url):
    with socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1]))):
        return True


@pytest.fixture(scope="module")
def browser(lab, tmp_path_factory):
    """A browser with the lab open; when all is done, no request of its may have gone elsewhere."""
    url, _ = lab
    chromium = Chromium(tmp_path_factory.mktemp("chromium"))
    try:
        chromium.wait(lambda: up(url), 60)
        chromium.send("Page.navigate", url=f"{url}/lab?token=test&reset")
        chromium.wait(
            f"{APP} && {APP}.restored.then(() => {APP}.commands.hasCommand('notebook:run-all-cells'))", 90
        )
        yield chromium
    finally:
        chromium.close()
    assert chromium.strangers() == []


def opened(browser, number):
    name = next((ROOT / "notebooks").glob(f"{number}_*.ipynb")).name
    browser.js(OPEN.format(app=APP, name=name))
    browser.wait(f"{PANEL}.context.isReady && {PANEL}.sessionContext.isReady", 60)
    browser.wait(f"{PANEL}.sessionContext.session?.kernel?.status === 'idle'", 60)
    return name


def run_all(browser):
    browser.js(f"{APP}.commands.execute('notebook:clear-all-cell-outputs').then(() => true)")
    assert not browser.js(DONE)
    browser.js(f"void {APP}.commands.execute('notebook:run-all-cells')")
    browser.wait(DONE, 180)


KNOB = "document.querySelector('.jp-Notebook .slider .noUi-handle, .jp-Notebook .widget-dropdown select')"
SHOWN = "[...document.querySelectorAll('.jp-Notebook .widget-html-content')].map(one => one.innerHTML).join()"
CHOOSE = f"{KNOB}.selectedIndex = 1; {KNOB}.dispatchEvent(new Event('change', {{bubbles: true}}))"


@pytest.mark.parametrize("number", NUMBERS)
def test_a_notebook_runs_to_its_end_in_a_browser(number, browser, lab):
    name = opened(browser, number)
    run_all(browser)
    assert browser.js(FAILED) == []
    browser.picture(SHOTS / f"{number}_top.png")
    said = str(browser.js(f"{CODE}.map(cell => JSON.stringify(cell.outputs.toJSON()))"))
    assert "not yet" not in said and len(re.findall(r"\b\d+\.\d open", said)) >= 2
    if number != "00":
        turn_a_knob(browser, number)
    browser.js(CLOSE)
    assert (lab[1] / "我的 work" / name).stat().st_size > 1000


def turn_a_knob(browser, number):
    """Move the first knob as a hand would, and see that what stands under it is drawn anew."""
    browser.wait(f"{KNOB} && {SHOWN}", 20)
    browser.js(f"{KNOB}.scrollIntoView({{block: 'center'}}); {KNOB}.focus(); window.before = {SHOWN}")
    browser.picture(SHOTS / f"{number}_knob_before.png")
    if browser.js(f"{KNOB}.tagName === 'SELECT'"):
        browser.js(CHOOSE)
    else:
        browser.key(
            "ArrowLeft" if browser.js(f"{KNOB}.ariaValueNow === {KNOB}.ariaValueMax") else "ArrowRight"
        )
    browser.wait(f"{SHOWN} !== window.before", 20)
    browser.wait(f"{PANEL}.sessionContext.session.kernel.status === 'idle'", 20)
    browser.picture(SHOTS / f"{number}_knob_after.png")
