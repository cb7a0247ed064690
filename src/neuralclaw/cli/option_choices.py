"""Words that several commands take."""

from typing import get_args

from ..types.options import ApprovalsMode
from ..types.risk import Trust

APPROVALS: tuple[str, ...] = get_args(ApprovalsMode)
TRUST = tuple(map(str, Trust))
