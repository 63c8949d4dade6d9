"""What is tested: cases as validated JSON lines, and what each expects of a run (S1 §5.1)."""

from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from labkit.files import dataset, read_jsonl
from labkit.measure.match import Wanted
from labkit.protocol.errors import BadFile
from labkit.protocol.tools import Identity

Kind = Literal[
    "happy", "missing_argument", "ambiguity", "refusal", "unauthorised", "injection", "side_effect",
    "ordered", "tool_error", "empty_result", "boundary",
]  # fmt: skip
Action = Literal["call", "clarify", "refuse", "deny", "answer"]


class Case(BaseModel):
    """One golden case: a sentence, who says it, what the world does, and what must come of it.

    `changes` counts the rows of the shop that must differ afterwards, by table; `grounded` are texts that the
    answer must contain because a tool returned them; `answer` is a good final text (the reference).

    >>> Case(id="a", kind="happy", language="zh", input="谢谢", action="answer").identity.tenant
    'xinghe'
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str = Field(min_length=1)
    kind: Kind
    language: Literal["zh", "en"]
    input: str = Field(min_length=1)
    action: Action
    calls: tuple[Wanted, ...] = ()
    ordered: bool = False
    user: str = "C-01"
    tenant: str = "xinghe"
    permissions: frozenset[str] = frozenset({"read", "write"})
    faults: tuple[str, ...] = ()
    changes: dict[str, int] = {}
    grounded: tuple[str, ...] = ()
    answer: str = ""

    @model_validator(mode="after")
    def _says_what_it_expects(self) -> "Case":
        if (self.action in ("call", "deny")) != bool(self.calls):
            raise ValueError(
                f"action {self.action!r} and {len(self.calls)} expected calls do not go together"
            )
        return self

    @property
    def identity(self) -> Identity:
        return Identity(self.user, self.tenant, self.permissions)


def load_cases(path: Path | str) -> tuple[Case, ...]:
    """The cases of a file, in order; raises `BadFile` naming the case, the field and the fault."""
    cases, seen = [], set()
    for number, row in enumerate(read_jsonl(path), 1):
        try:
            case = Case.model_validate(row)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the case"
            raise BadFile(f"{Path(path).name}, case {number}: {where}: {first['msg']}") from None
        if case.id in seen:
            raise BadFile(f"{Path(path).name}, case {number}: the id {case.id} stands twice")
        seen.add(case.id)
        cases.append(case)
    return tuple(cases)


@lru_cache(maxsize=1)
def golden() -> tuple[Case, ...]:
    """The golden set of the shop: Chinese and English, happy paths and all ten kinds of negatives."""
    return load_cases(dataset("golden/cases.jsonl"))
