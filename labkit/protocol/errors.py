"""What can go wrong, sorted by who must act.

    LabError
    ├── ModelError            the model: it is told in a tool result and may decide again
    │   ├── UnknownTool           the name is not on offer
    │   ├── InvalidArguments      not JSON, or not what the schema asks for
    │   ├── TruncatedArguments    the output limit cut the arguments off
    │   └── TooManyCalls          over the cap of one turn; none of them ran
    ├── CallerError           the programmer: code, configuration or data must change
    │   ├── BadTool               a tool that breaks its contract when it is made
    │   ├── ToolFailed            a tool that broke when it ran, or returned what cannot be told
    │   ├── BadSchema             a schema that cannot be strict
    │   ├── BadChain              a history the API would refuse
    │   ├── BadFile               a file that is not what it should be
    │   ├── BadSetup              a key, an extra or a setting is missing
    │   └── ScriptEnded           a script or a recording has no answer for this request
    ├── ProviderError         a service behind us
    │   ├── Transient             nothing happened; may be tried again
    │   ├── CircuitOpen           not tried: it has failed too often just now
    │   └── OutcomeUnknown        it may have happened: reconcile, never repeat
    └── PersonError           a person
        ├── BusinessRule          not found, conflict, against policy
        ├── PermissionDenied      this identity may not do this
        ├── ApprovalNeeded        someone must say yes to exactly this
        └── OverBudget            the run may not spend more

Only `who` decides what the runtime does (S1 §4.2).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

Who = Literal["model", "caller", "provider", "person"]


class LabError(Exception):
    """What happened, where, and what to do next.

    >>> str(BusinessRule("order 10001 is already refunded", hint="Tell the customer the refund date."))
    'order 10001 is already refunded. Tell the customer the refund date.'
    """

    who: ClassVar[Who]
    kind: ClassVar[str]

    def __init__(self, message: str, *, hint: str = "", **details: Any):
        super().__init__(message)
        self.message, self.hint, self.details = message, hint, details

    def __str__(self) -> str:
        return f"{self.message.rstrip('.')}. {self.hint}" if self.hint else self.message


class ModelError(LabError):
    who, kind = "model", "model_error"


class UnknownTool(ModelError):
    kind = "unknown_tool"


class InvalidArguments(ModelError):
    kind = "validation_error"


class TruncatedArguments(ModelError):
    kind = "truncated_arguments"


class TooManyCalls(ModelError):
    kind = "too_many_calls"


class CallerError(LabError):
    who, kind = "caller", "caller_error"


class BadTool(CallerError):
    kind = "bad_tool"


class ToolFailed(CallerError):
    kind = "tool_execution_error"


class BadSchema(CallerError):
    kind = "bad_schema"


class BadChain(CallerError):
    kind = "bad_chain"


class BadFile(CallerError):
    kind = "bad_file"


class BadSetup(CallerError):
    kind = "bad_setup"


class ScriptEnded(CallerError):
    kind = "script_ended"


class ProviderError(LabError):
    who, kind = "provider", "provider_error"


class Transient(ProviderError):
    """A fault that left nothing behind; `retry_after` is in seconds, when the service named it."""

    kind = "transient_error"

    def __init__(self, message: str, *, retry_after: float | None = None, hint: str = "", **details: Any):
        super().__init__(message, hint=hint, **details)
        self.retry_after = retry_after


class CircuitOpen(ProviderError):
    kind = "circuit_open"


class OutcomeUnknown(ProviderError):
    """A write whose reply was lost; `operation_id` names what to ask about."""

    kind = "unknown_outcome"

    def __init__(self, message: str, *, operation_id: str = "", hint: str = "", **details: Any):
        super().__init__(message, hint=hint, **details)
        self.operation_id = operation_id


class PersonError(LabError):
    who, kind = "person", "person_error"


class BusinessRule(PersonError):
    kind = "business_rule"


class PermissionDenied(PersonError):
    kind = "permission_denied"


class ApprovalNeeded(PersonError):
    kind = "approval_needed"


class OverBudget(PersonError):
    kind = "over_budget"


@dataclass(frozen=True, slots=True)
class WireError:
    """An error as the API puts it on the wire (OpenAPI `ErrorResponse`).

    >>> WireError("Invalid 'tools': empty array.", param="tools", code="empty_array").body()["error"]["param"]
    'tools'
    """

    message: str
    param: str | None = None
    code: str | None = None
    status: int = 400
    type: str = "invalid_request_error"

    def body(self) -> dict[str, Any]:
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}
