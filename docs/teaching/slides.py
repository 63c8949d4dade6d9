"""Slides of a chapter, one HTML file that needs nothing else: `uv run docs/teaching/slides.py 03`.

From the built solution: each section's claim, its question, its picture or last output, the assertion that
proves it; each task on a slide of its own. Arrow keys turn pages; the browser's print makes a PDF.
"""

import argparse
import ast
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mistune

from labkit.files import ROOT, write_text

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>
html {{ scroll-snap-type: y mandatory; font: 3.3vmin/1.45 "Noto Sans SC", "Microsoft YaHei", sans-serif; }}
body {{ margin: 0; color: #222 }} @page {{ size: 297mm 167mm; margin: 0 }}
section {{ box-sizing: border-box; min-height: 100vh; padding: 6vmin 9vmin; scroll-snap-align: start;
  display: flex; flex-direction: column; justify-content: center; break-after: page }}
h1 {{ font-size: 2.2em }} h2 {{ font-size: 1.7em; margin: 0 0 .5em }} section.task {{ background: #fff6e5 }}
pre {{ background: #f4f4f4; padding: .6em; margin: .4em 0; white-space: pre-wrap; font-size: .72em }}
img {{ max-height: 55vh; max-width: 100%; align-self: center }} pre.claim {{ border-left: .4em solid #2a7 }}
pre.mermaid, pre.mermaid svg {{ background: none; font-size: 1em; max-height: 80vh; text-align: center }}
small {{ color: #777 }} code {{ background: #f4f4f4 }}
</style>{slides}<script>addEventListener("keydown", event => {{
  const step = {{ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}}[event.key]
  if (!step) return
  event.preventDefault(); scrollBy({{top: step * innerHeight, behavior: "smooth"}})
}})</script>{mermaid}</html>
"""
ASIDE = re.compile(r"<!--.*?-->|<details>.*?</details>", re.DOTALL)
PICTURE = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)
HEADING = re.compile(r"^(?=##? )", re.MULTILINE)
UNDRAWN = re.compile(r'<section><pre class="mermaid">.*?</section>', re.DOTALL)
SENTENCE = re.compile(r"(?<=[.?!。？！])\s+")
MOST_LINES = 12
Cell = dict[str, Any]


def source(cell: Cell) -> str:
    return ASIDE.sub("", "".join(cell["source"]))


def slides(cells: list[Cell]) -> Iterator[str]:
    """The slides of a built notebook, as HTML sections."""
    sections: list[tuple[str, list[Cell]]] = []
    for cell in cells:
        prose = cell["cell_type"] == "markdown"
        for part in HEADING.split(source(cell)) if prose else [""]:
            if prose and part.startswith("#"):
                sections.append((part, []))
            elif sections:
                sections[-1][1].append({**cell, "source": [part]} if prose else cell)
    for number, (opening, rest) in enumerate(sections):
        yield first(opening) if number == 0 else "".join(section(opening, rest))


def first(opening: str) -> str:
    """The title and what will be learned, then the picture of the whole."""
    drawn = [
        f'<section><pre class="mermaid">{html.escape(one)}</pre></section>'
        for one in PICTURE.findall(opening)
    ]
    return "\n".join([f"<section>{mistune.html(PICTURE.sub('', opening))}</section>", *drawn, ""])


def section(opening: str, cells: list[Cell]) -> Iterator[str]:
    """One slide for the claim, one for each task below it; a section without code is shown whole."""
    heading, _, prose = opening.partition("\n")
    pictures, prints, proofs = (
        [look(cell) for cell in cells if look(cell)] for look in (picture, said, proof)
    )
    told = question(prose) if any(cell["cell_type"] == "code" for cell in cells) else prose
    yield f"<section>{mistune.html(heading)}{mistune.html(told)}"
    yield "".join((pictures or prints[-1:])[:1] + proofs[-1:]) + "</section>\n"
    for cell in cells:
        if cell["metadata"].get("labkit", "").startswith("task"):
            yield f'<section class="task">{mistune.html(source(cell))}</section>\n'


def question(prose: str) -> str:
    """What the section asks its reader, or else the first thing that it says."""
    sentences = SENTENCE.split(" ".join(prose.split("```")[0].split()))
    return next((one for one in sentences if one.endswith(("?", "？"))), sentences[0])


def picture(cell: Cell) -> str:
    found = [output.get("data", {}).get("image/png") for output in cell.get("outputs", ())]
    return next((f'<img alt="" src="data:image/png;base64,{png.strip()}">' for png in found if png), "")


def said(cell: Cell) -> str:
    if cell["metadata"].get("labkit"):
        return ""
    lines = "".join("".join(output.get("text", "")) for output in cell.get("outputs", ())).splitlines()
    cut = lines[:MOST_LINES] + ["…"] * (len(lines) > MOST_LINES)
    return f"<pre>{html.escape(chr(10).join(line[:150] for line in cut))}</pre>" if lines else ""


def proof(cell: Cell) -> str:
    """The assertions at the top level of a cell that is no exercise."""
    if cell["cell_type"] != "code" or cell["metadata"].get("labkit"):
        return ""
    claims = [ast.unparse(node.test) for node in ast.parse(source(cell)).body if isinstance(node, ast.Assert)]
    return f'<pre class="claim">{html.escape(chr(10).join(claims))}</pre>' if claims else ""


def page(notebook: Path, mermaid: str = "") -> str:
    """The whole file; without mermaid's script its first picture is left to the notebook."""
    body = "".join(slides(json.loads(notebook.read_text(encoding="utf-8"))["cells"]))
    body = body if mermaid else UNDRAWN.sub("", body)
    return PAGE.format(
        title=notebook.stem, slides=body, mermaid=f"<script>{mermaid}</script>" * bool(mermaid)
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("numbers", nargs="+", help="chapters, such as 03")
    parser.add_argument("--to", type=Path, default=Path(".labkit") / "slides", help="folder for the files")
    parser.add_argument("--mermaid", type=Path, help="mermaid.min.js, to draw each chapter's first picture")
    asked = parser.parse_args()
    for number in asked.numbers:
        for notebook in sorted((ROOT / "solutions").glob(f"{number}_*.ipynb")):
            script = asked.mermaid.read_text(encoding="utf-8") if asked.mermaid else ""
            target = asked.to / f"{notebook.stem}.html"
            write_text(target, page(notebook, script))
            print(f"wrote {target.as_posix()}")


if __name__ == "__main__":
    main()
