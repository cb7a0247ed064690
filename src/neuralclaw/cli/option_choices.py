"""Words that several commands take."""

APPROVALS = ("ask", "none", "park", "auto")
TRUST = ("low", "medium", "high")
