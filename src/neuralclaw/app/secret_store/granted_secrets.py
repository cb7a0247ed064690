"""The values of the stored secrets for the calls that were granted them."""

from collections.abc import Mapping

from ...errors import PermissionDeniedError, ToolError
from ...types.grants import Grant
from ...types.secret_references import secret_reference


class GrantedSecrets:
    """`ports.Secrets` over what was stored when the program began: what is given here is also taken out of every text."""

    def __init__(self, stored: Mapping[str, str]) -> None:
        self._stored = stored

    def resolve(self, reference: str, grant: Grant) -> str:
        """See `ports.Secrets`."""
        found = secret_reference(reference)
        if found is None or found.name not in self._stored:
            raise ToolError("this is no reference to a stored secret")
        if found.name not in grant.check().secrets:
            raise PermissionDeniedError(f"the permission for {grant.tool or 'this connection'} does not give the secret {found.name}")
        return found.before + self._stored[found.name]
