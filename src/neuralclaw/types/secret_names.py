"""Names of files and directories in which programs keep keys and passwords."""

SECRET_NAMES = frozenset(
    {".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", ".netrc", ".pgpass", ".git-credentials", ".vault-token", "keyrings", "gcloud", ".mozilla"}
)
