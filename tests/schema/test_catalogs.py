"""447 tools that other people wrote: what is wrong with them, and what a program can put right.

`pytest -s tests/schema/test_catalogs.py` prints the table.
"""

from collections import Counter

import pytest

from labkit.files import dataset, read_jsonl
from labkit.protocol.errors import BadSchema
from labkit.protocol.schema import RULES, lint, repair

FOUND = {  # tools; how many break each rule of strict mode; refused without it too; repaired by program
    "github_mcp_tools": (117, {"closed": 117, "required": 75, "permitted": 20, "properties": 1}, 0, 115),
    "injecagent_tools": (330, {"closed": 330, "required": 121, "items": 53, "properties": 32}, 53, 251),
}


def catalog(name):
    rows = read_jsonl(dataset("tool_catalogs") / f"{name}.jsonl")
    return [row["function"]["parameters"] for row in rows]


def repaired(schema):
    try:
        return repair(schema)
    except BadSchema:
        return None


@pytest.mark.parametrize("name", FOUND)
def test_the_table_of_problems_in_a_real_catalog(name):
    schemas = catalog(name)
    broken = Counter(rule for schema in schemas for rule in {problem.rule for problem in lint(schema)})
    loose = sum(bool(lint(schema, strict=False)) for schema in schemas)
    right = sum(repaired(schema) is not None for schema in schemas)
    print(f"\n{name}: {len(schemas)} tools, {loose} refused even without strict, {right} repaired by program")
    for rule, count in broken.most_common():
        print(f"  {count:4} {rule:12} {RULES[rule][0][:70]}")
    assert (len(schemas), dict(broken), loose, right) == FOUND[name]


@pytest.mark.parametrize("name", FOUND)
def test_a_repaired_tool_is_clean_and_each_change_of_meaning_is_told(name):
    for schema in catalog(name):
        if found := repaired(schema):
            assert lint(found[0]) == [] and found[1]


def test_what_cannot_be_repaired_is_a_free_form_object_or_a_list_of_who_knows_what():
    why = Counter()
    for name in FOUND:
        for schema in catalog(name):
            try:
                repair(schema)
            except BadSchema as error:
                why[error.details["problem"].rule] += 1
    assert why == {"items": 53, "closed": 28}
