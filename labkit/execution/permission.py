"""Who may do what: policies judge a call by identity, tenant, tool and arguments; a person approves it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from labkit.execution.outcome import Observation, digest
from labkit.protocol.errors import ApprovalNeeded, PermissionDenied
from labkit.protocol.messages import Message
from labkit.protocol.tools import Identity, Tool


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """One call before it is carried out, with what was said and seen until now."""

    identity: Identity | None
    tool: Tool
    arguments: BaseModel
    operation_id: str
    chain: tuple[Message, ...] = ()
    observations: tuple[Observation, ...] = ()


@dataclass(frozen=True, slots=True)
class Allow:
    pass


@dataclass(frozen=True, slots=True)
class AskPerson:
    reason: str


@dataclass(frozen=True, slots=True)
class Deny:
    reason: str


Verdict = Allow | AskPerson | Deny
Policy = Callable[[PermissionRequest], Verdict]
_STRICTNESS = (Allow, AskPerson, Deny)


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's yes to one tool with exactly these arguments; other arguments need another yes."""

    tool_name: str
    arguments_digest: str
    by: str
    at: str


def approve(request: PermissionRequest, *, by: str, at: str) -> Approval:
    return Approval(request.tool.name, digest(request.arguments), by, at)


def compose(*policies: Policy) -> Policy:
    """One policy whose verdict is the strictest of all; one that breaks denies, and so does none at all."""

    def strictest(request: PermissionRequest) -> Verdict:
        verdicts = [_judge(policy, request) for policy in policies] or [Deny("no policy allows anything")]
        return max(verdicts, key=lambda verdict: _STRICTNESS.index(type(verdict)))

    return strictest


def _judge(policy: Policy, request: PermissionRequest) -> Verdict:
    try:
        verdict = policy(request)
    except Exception as error:
        return Deny(f"the policy broke ({type(error).__name__})")
    return verdict if isinstance(verdict, Verdict) else Deny("the policy gave no verdict")


def ask_before_writes(request: PermissionRequest) -> Verdict:
    """Reads pass; every write waits for a person."""
    return Allow() if request.tool.effect == "read" else AskPerson(f"{request.tool.name} changes something")


def need(permissions: Mapping[str, str]) -> Policy:
    """A policy from tool name to the permission it takes; a tool that is not named is denied."""

    def needed(request: PermissionRequest) -> Verdict:
        permission = permissions.get(request.tool.name)
        held: Iterable[str] = request.identity.permissions if request.identity else ()
        return (
            Allow() if permission in held else Deny(f"{request.tool.name} takes the permission {permission}")
        )

    return needed


def same_tenant(owner: Callable[[PermissionRequest], str | None]) -> Policy:
    """Only the tenant to whom the thing belongs may touch it; `owner` gives None for what is nobody's."""

    def belongs(request: PermissionRequest) -> Verdict:
        tenant = owner(request)
        mine = tenant is None or (request.identity is not None and request.identity.tenant == tenant)
        return Allow() if mine else Deny("this belongs to another tenant")

    return belongs


def authorise(request: PermissionRequest, policy: Policy, approvals: Sequence[Approval] = ()) -> None:
    """Return when the call may be made; raise `PermissionDenied`, or `ApprovalNeeded` if a yes is missing.

    `ApprovalNeeded.details` holds tool name and digest: what an `Approval` must name (S1 §3.3).
    """
    match _judge(policy, request):
        case Deny(reason):
            raise PermissionDenied(f"{request.tool.name} is not allowed: {reason}", reason=reason)
        case AskPerson(reason):
            bound = (request.tool.name, digest(request.arguments))
            if bound not in {(yes.tool_name, yes.arguments_digest) for yes in approvals}:
                details = {"tool_name": bound[0], "arguments_digest": bound[1], "reason": reason}
                raise ApprovalNeeded(f"{request.tool.name} waits for a person: {reason}", **details)
