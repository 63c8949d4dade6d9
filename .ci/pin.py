"""Pin every package to the newest version that fits: `uv run .ci/pin.py` rewrites the list in pyproject.toml."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"constraint-dependencies = \[.*?\n?\]", re.DOTALL)
LOCK = ["uv", "lock", "--quiet", "--upgrade"]
EXPORT = ["uv", "export", "--quiet", "--frozen", "--no-hashes", "--no-annotate", "--no-header", "--no-emit-project"]


def main() -> None:
    project = ROOT / "pyproject.toml"
    free = BLOCK.sub("constraint-dependencies = []", project.read_text(encoding="utf-8"))
    project.write_text(free, encoding="utf-8", newline="\n")
    subprocess.run(LOCK, cwd=ROOT, check=True)
    found = subprocess.run([*EXPORT, "--all-extras", "--all-groups"], cwd=ROOT, check=True, capture_output=True)
    pins = [line.strip() for line in found.stdout.decode().splitlines() if "==" in line]
    block = "constraint-dependencies = [\n" + "".join(f'    "{pin}",\n' for pin in pins) + "]"
    project.write_text(BLOCK.sub(lambda _: block, free), encoding="utf-8", newline="\n")
    print(f"pinned {len(pins)} packages")


if __name__ == "__main__":
    main()
