"""A headless Chromium, driven over its DevTools protocol by one socket: there is no driver to download.

It can reach 127.0.0.1 and nothing else, and writes down every connection, also those that no page asked for.
"""

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import websocket

FOUND = os.environ.get("LABKIT_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
OPTIONS = """
--headless=new --no-sandbox --disable-gpu --no-first-run --no-default-browser-check --mute-audio
--disable-background-networking --disable-component-update --disable-sync --disable-default-apps
--disable-extensions --disable-dev-shm-usage --disable-domain-reliability --no-pings --hide-scrollbars
--disable-features=OptimizationHints,MediaRouter,Translate,NetworkTimeServiceQuerying
--remote-debugging-port=0 --remote-allow-origins=* --window-size=1280,1400"""


class Chromium:
    """One browser with one page; `log` names the file that will hold its requests."""

    def __init__(self, folder: Path) -> None:
        self.log, self.count = folder / "requests.json", 0
        rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
        own = [f"--user-data-dir={folder / 'profile'}", f"--log-net-log={self.log}", rules, "about:blank"]
        self.process = subprocess.Popen(
            [FOUND, *OPTIONS.split(), *own], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        port = self.wait(lambda: (folder / "profile" / "DevToolsActivePort").read_text().split()[0], 60)
        self.socket = websocket.create_connection(f"ws://127.0.0.1:{port}{self._path(folder)}", timeout=60)
        target = next(t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attach = {"targetId": target["targetId"], "flatten": True}
        self.session = self.send("Target.attachToTarget", **attach)["sessionId"]
        self.send("Emulation.setFocusEmulationEnabled", enabled=True)

    def _path(self, folder: Path) -> str:
        return (folder / "profile" / "DevToolsActivePort").read_text().split()[1]

    session = None

    def send(self, method: str, **parameters):
        """One command of the protocol and its result."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while (reply := json.loads(self.socket.recv())).get("id") != self.count:
            pass
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']['message']}")
        return reply["result"]

    def js(self, expression: str):
        """What an expression comes to in the page; promises are waited for."""
        how = {"returnByValue": True, "awaitPromise": True}
        found = self.send("Runtime.evaluate", expression=expression, **how)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", {}).get("description", "error"))
        return found["result"].get("value")

    def wait(self, question, seconds: float):
        """Ask again and again until the answer is true; raises TimeoutError."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if found := self.js(question) if isinstance(question, str) else question():
                    return found
            except (OSError, RuntimeError, IndexError):
                if self.process.poll() is not None:
                    raise
            time.sleep(0.1)
        raise TimeoutError(f"not within {seconds} s: {question}")

    def key(self, name: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=KEYS[name]
            )

    def picture(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        try:
            self.session = None
            self.send("Browser.close")
            self.process.wait(20)
        except (OSError, RuntimeError, subprocess.TimeoutExpired, websocket.WebSocketException):
            self.process.kill()
        finally:
            self.process.wait()
            self.socket.close()

    def strangers(self) -> list[str]:
        """What of the browser's own log lies outside this machine; call it after `close`.

        Every address that it connected to or sent a packet counts, whoever asked; and every URL that a page
        asked for. (Chromium looks for updates of itself by name, and is told that no name exists.)
        """
        log = json.loads(self.log.read_text(encoding="utf-8"))
        kinds = {number: name for name, number in log["constants"]["logEventTypes"].items()}
        events = [(kinds[e["type"]], e["source"]["id"], e.get("params", {})) for e in log["events"]]
        spoke = {source for kind, source, _ in events if kind == "UDP_BYTES_SENT"}
        found = []
        for kind, source, values in events:
            connects = kind == "TCP_CONNECT_ATTEMPT" or (kind == "UDP_CONNECT" and source in spoke)
            if connects and "address" in values:
                found.append(values["address"])
            if kind == "URL_REQUEST_START_JOB" and str(values.get("initiator")).startswith("http"):
                found.append(values["url"].split("//")[1])
        if not found:
            raise RuntimeError("the log of requests is empty")
        return sorted({one for one in found if not one.startswith("127.0.0.1:")})


KEYS = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35}
