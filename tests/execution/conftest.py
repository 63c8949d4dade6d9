"""Small tools whose behaviour each test writes down itself."""

import json

import pytest

from labkit.execution.executor import Executor, prepare
from labkit.protocol.messages import ToolCall
from labkit.protocol.tools import CallContext, Toolbox, make_tool

TEXTS = {"use_when": "a test needs it", "not_when": "any other time"}


@pytest.fixture
def bench():
    return Bench


class Bench:
    """An executor around one tool: `look` reads, `pay` writes under the key `pay:<what>`; both do `work`."""

    def __init__(self, work, *, effect="read", keyed=True, timeout=5.0, view=None, **options):
        def look(what: str, *, context: CallContext):
            """Look something up.

            Args:
                what: its name
            """
            return work(what, context)

        async def alook(what: str, *, context: CallContext):
            """Look something up, asynchronously.

            Args:
                what: its name
            """
            return await work(what, context)

        def pay(what: str, note: str = "", *, context: CallContext):
            """Pay something.

            Args:
                what: its name
                note: free text
            """
            return work(what, context)

        function = {"read": look, "async": alook, "write": pay}[effect]
        key = (lambda arguments: f"pay:{arguments.what}") if effect == "write" and keyed else None
        kind = "write" if effect == "write" else "read"
        tool = make_tool(
            function, effect=kind, timeout=timeout, operation=key, view=view, strict=False, **TEXTS
        )
        self.slept = []
        options = {"sleep": self.slept.append, "random": lambda: 1.0} | options
        self.tools, self.name = Toolbox([tool]), tool.name
        self.executor = Executor(self.tools, **options)

    def prepared(self, what="x", *, id="call_1", **rest):
        arguments = json.dumps({"what": what, **rest})
        return prepare(ToolCall(id, self.name, arguments), self.tools, run_id="run")

    def __call__(self, what="x", **rest):
        return self.executor.execute(self.prepared(what, **rest))

    def told(self, what="x", **rest):
        return json.loads(self(what, **rest).content)
