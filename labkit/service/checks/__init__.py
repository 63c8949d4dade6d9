"""What the API refuses, in its order and in its words: shape, then model, then meaning (openai-wire §0.2)."""

from labkit.service.checks.chat import check_chat
from labkit.service.checks.context import CheckContext, context_length_error, model_error
from labkit.service.checks.responses import check_responses

__all__ = ["CheckContext", "check_chat", "check_responses", "context_length_error", "model_error"]
