"""What schemas cost: made of a signature, linted, arguments parsed. `python tests/bench/bench_schema.py`

Ratios within one run matter, microseconds depend on the machine.
"""

import contextlib
import json
from collections.abc import Callable
from time import process_time
from typing import Literal

from pydantic import ValidationError

from labkit.files import dataset, read_jsonl
from labkit.protocol.errors import BadSchema, InvalidArguments
from labkit.protocol.schema import arguments_model, lint, parse_arguments, plain_schema, repair, strict_schema


def search_product(
    keyword: str, limit: int = 10, sort: Literal["price", "sales"] | None = None, page: int = 1
):
    """Search products.

    Args:
        keyword: What to look for.
        limit: How many at most.
        sort: Order of the result.
        page: Which page.
    """


def microseconds(work: Callable[[], object], seconds: float = 0.3) -> float:
    """CPU time of one call, the best of three."""
    best = float("inf")
    for _ in range(3):
        count, start = 0, process_time()
        while process_time() - start < seconds / 3:
            work()
            count += 1
        best = min(best, (process_time() - start) / count * 1e6)
    return best


def strict(fields: dict) -> dict:
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}


def wide(count: int) -> dict:
    return strict({f"field_{n}": {"type": "string", "description": "x"} for n in range(count)})


def deep(count: int) -> dict:
    schema: dict = {"type": "string"}
    for _ in range(count):
        schema = strict({"x": schema})
    return schema


def choices(count: int) -> dict:
    return strict({"x": {"type": "string", "enum": [f"value_{n}" for n in range(count)]}})


def per_item(title: str, made: Callable[[int], dict], counts: tuple[int, ...]) -> None:
    first = None
    for count in counts:
        schema = made(count)
        each = microseconds(lambda made=schema: lint(made)) / count
        first = first or each
        print(f"  {count:6} {title:24}{each:10.2f} us {each / first:5.2f}")


def report(rows: dict[str, Callable[[], object]]) -> None:
    """Each row against the first."""
    base = None
    for name, work in rows.items():
        took = microseconds(work)
        base = base or took
        print(f"  {name:32}{took:10.2f} us {took / base:6.2f}")


def refused(work: Callable[[], object], kind: type[Exception]) -> None:
    with contextlib.suppress(kind):
        work()


def main() -> None:
    model = arguments_model(search_product)
    print("a schema made from a signature of four arguments")
    report(
        {
            "Pydantic: model_json_schema": model.model_json_schema,
            "the Pydantic model": lambda: arguments_model(search_product),
            "its plain schema": lambda: plain_schema(model),
            "its strict schema": lambda: strict_schema(model),
        }
    )
    print("linted, for each property or value: linear where the last column does not grow")
    per_item("properties side by side", wide, (10, 100, 1_000, 5_000))
    per_item("properties in each other", deep, (10, 20, 40, 80))
    per_item("values of an enum", choices, (1_000, 10_000, 40_000))
    print("the 117 GitHub tools, all of them")
    tools = [
        row["function"]["parameters"]
        for row in read_jsonl(dataset("tool_catalogs") / "github_mcp_tools.jsonl")
    ]
    texts = [json.dumps(tool) for tool in tools]
    report(
        {
            "json.loads": lambda: [json.loads(text) for text in texts],
            "linted": lambda: [lint(tool) for tool in tools],
            "repaired": lambda: [refused(lambda tool=tool: repair(tool), BadSchema) for tool in tools],
        }
    )
    print("arguments of four fields")
    right, wrong = '{"keyword":"键盘","limit":20,"sort":null,"page":2}', '{"keyword":"键盘","limit":"20"}'
    report(
        {
            "Pydantic, right": lambda: model.model_validate_json(right, strict=True),
            "parse_arguments, right": lambda: parse_arguments(right, model),
            "Pydantic, wrong": lambda: refused(
                lambda: model.model_validate_json(wrong, strict=True), ValidationError
            ),
            "parse_arguments, wrong": lambda: refused(
                lambda: parse_arguments(wrong, model), InvalidArguments
            ),
        }
    )


if __name__ == "__main__":
    main()
