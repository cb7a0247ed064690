"""Every error NeuralClaw raises on purpose; the class name is the `kind` of an `error` event.

NeuralClawError
├── LLMError                     a model call failed; `retryable` and `retry_after` say what to do
│   ├── LLMRateLimitError        429
│   ├── LLMContextLengthError    the request is longer than the model's window
│   ├── LLMTimeoutError          no answer, or none in time
│   ├── LLMAuthError             the service refuses the key
│   ├── LLMModelError            the service does not know the model
│   └── LLMUnavailableError      5xx, connection refused or dropped, stream cut or malformed
├── ToolError                    goes back to the model as `ERROR: …`; the turn continues
│   ├── ToolValidationError      arguments do not fit the tool's schema
│   ├── ToolTimeoutError
│   ├── ToolNotFoundError
│   └── ToolExecutionError
├── SecurityError
│   ├── PermissionDeniedError    forbidden by policy, or outside a grant
│   └── ConfirmationDeniedError  a person said no, or nobody could be asked
├── MemoryStoreError             (also exported as `MemoryError`)
├── MCPError
│   └── MCPConnectionError
├── AgentError
│   ├── TurnSetAside             three starts in a row left no new entry
│   ├── SessionBusy              the session's turn runs in another process
│   ├── SessionNotFound          no session of that id or prefix
│   ├── WorkspaceError           the workspace is no directory
│   ├── UnknownQuestion
│   ├── AlreadyAnswered
│   └── GrantSpent               the grant was used up, taken back or ran out before this use of it
├── UsageError                   exit 2: an argument or option that cannot be used; nothing was recorded
├── ConfigError                  exit 78
├── BudgetError
│   └── CapReached               the reservation of a model call does not fit under a cap
└── StoreError                   exit 1 (`newer` versions and unusable homes: 78)
    └── LeaseLost                another process holds the session now
"""


class NeuralClawError(Exception):
    """An error with one clear sentence for a person and, where there is one, the next step.

    `str(error)` is the sentence: what happened and what was kept. `hint` is what to do next, or "".
    """

    sign = "❌"

    def __init__(self, text: str, *, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint

    @property
    def kind(self) -> str:
        """The name under which events and `--json` show this error."""
        return type(self).__name__


class LLMError(NeuralClawError):
    """A model call failed. `retry_after`: seconds after which the service wants to be asked again, or None."""

    sign = "🤖"
    retryable = False

    def __init__(self, text: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(text, hint=hint)
        self.retry_after = retry_after


class LLMRateLimitError(LLMError):
    retryable = True


class LLMContextLengthError(LLMError):
    pass


class LLMTimeoutError(LLMError):
    retryable = True


class LLMAuthError(LLMError):
    pass


class LLMModelError(LLMError):
    pass


class LLMUnavailableError(LLMError):
    retryable = True


class ToolError(NeuralClawError):
    """A tool failed. `metadata` is kept beside the text, so that a program can read it."""

    def __init__(self, text: str, *, hint: str = "", metadata: dict[str, object] | None = None) -> None:
        super().__init__(text, hint=hint)
        self.metadata = metadata or {}


class ToolValidationError(ToolError):
    pass


class ToolTimeoutError(ToolError):
    sign = "⏰"


class ToolNotFoundError(ToolError):
    pass


class ToolExecutionError(ToolError):
    pass


class SecurityError(NeuralClawError):
    sign = "🚫"


class PermissionDeniedError(SecurityError):
    pass


class ConfirmationDeniedError(SecurityError):
    pass


class MemoryStoreError(NeuralClawError):
    pass


class MCPError(NeuralClawError):
    sign = "🔌"


class MCPConnectionError(MCPError):
    pass


class AgentError(NeuralClawError):
    pass


class TurnSetAside(AgentError):
    pass


class SessionBusy(AgentError):
    pass


class SessionNotFound(AgentError):
    pass


class WorkspaceError(AgentError):
    pass


class UnknownQuestion(AgentError):
    pass


class AlreadyAnswered(AgentError):
    pass


class GrantSpent(AgentError):
    pass


class UsageError(NeuralClawError):
    pass


class ConfigError(NeuralClawError):
    pass


class BudgetError(NeuralClawError):
    """A model call that might cost more than a cap leaves. It was not made."""


class CapReached(BudgetError):
    """The reservation of a call does not fit under a cap: `cap` is the setting, `limit` its value, `spent` what is settled and reserved, in its unit."""

    def __init__(self, cap: str, limit: float, spent: float) -> None:
        super().__init__(f"{cap} is {limit:g}, and {spent:.6g} is spent or reserved")
        self.cap, self.limit, self.spent = cap, limit, spent


class StoreError(NeuralClawError):
    """The record could not be written or read.

    `newer` is true when a newer version of the program wrote it, `unusable` when the home is no place for a record at all.
    """

    def __init__(self, text: str, *, hint: str = "", newer: bool = False, unusable: bool = False) -> None:
        super().__init__(text, hint=hint)
        self.newer = newer
        self.unusable = unusable


class LeaseLost(StoreError):
    pass


def no_result() -> AgentError:
    """The error of a turn whose events end without a `turn.finished`."""
    return AgentError("the turn ended without a result; what was recorded is kept", hint="neuralclaw sessions list --unfinished")


MemoryError = MemoryStoreError
"""The same class under its second public name; its `kind` is `MemoryStoreError`."""
