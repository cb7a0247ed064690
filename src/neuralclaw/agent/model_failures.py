"""What becomes of a provider that raises."""

import logging

from ..errors import LLMError
from ..foreign_code import reason_with_place

log = logging.getLogger(__name__)


def provider_error(what: str, cause: BaseException) -> LLMError:
    """The failure of a provider that raised what no provider should raise."""
    log.error("%s failed", what, exc_info=cause)
    return LLMError(f"{what} failed: {reason_with_place(cause)}")
