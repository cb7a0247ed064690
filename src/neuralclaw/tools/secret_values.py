"""Values of a call in which stored secrets are named, with the secrets put in: at the last moment, for the program or the host alone."""

from collections.abc import Mapping

from ..errors import ToolError
from ..ports import Secrets
from ..types.given_names import header_problem
from ..types.grants import Grant
from ..types.secret_references import secret_reference


class NoSecrets:
    """Where none is stored: the gate refuses every reference, and so does this."""

    def resolve(self, reference: str, grant: Grant) -> str:
        raise ToolError("no secret is stored")


NO_SECRETS: Secrets = NoSecrets()


def with_secrets(secrets: Secrets, grant: Grant, values: Mapping[str, str] | None) -> dict[str, str]:
    """The values by name; those that are references with the secret in their place. Raises what `Secrets.resolve` raises."""
    return {name: value if secret_reference(value) is None else secrets.resolve(value, grant) for name, value in (values or {}).items()}


def header_values(secrets: Secrets, grant: Grant, values: Mapping[str, str] | None) -> dict[str, str]:
    """The same for headers of a request. Raises `ToolError` for a header that decides how the request is read, and for what no header can hold."""
    for name in values or {}:
        if problem := header_problem(name):
            raise ToolError(problem)
    found = {name: value.strip() for name, value in with_secrets(secrets, grant, values).items()}
    for name, value in found.items():
        if not value.isascii() or not value.isprintable():
            raise ToolError(f"the secret for the header {name} has characters that no header can hold")
    return found
