"""Makes the page that a package index shows from README.md: an index has no files beside it, so relative pictures and links cannot stand there.

They become absolute links to this version in the repository: the one that `[project.urls]` names, else the one that this checkout was cloned from over
https or from a public forge by ssh. Where neither is known, pictures are left out and links keep their text.
"""

import re
import tomllib
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"^!\[([^\]]*)\]\((?!https?:)([^)\s]+)\)\n+", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)([^)\s]+)\)")
COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE)


def index_page(readme: str, repository: str, version: str) -> str:
    """The README as an index shows it. `repository` "": none is known."""
    text = COMMENT.sub("", readme)
    if repository:
        text = PICTURE.sub(rf"![\1]({repository}/raw/v{version}/\2)\n\n", text)
        return LINK.sub(rf"[\1]({repository}/blob/v{version}/\2)", text)
    return LINK.sub(r"\1", PICTURE.sub("", text))


def origin(git_config: str) -> str:
    """The https address of the remote `origin` in the text of a `.git/config`; "" where it has none, or one that holds a name or a key."""
    section = re.search(r'^\[remote "origin"\](.*?)(?=^\[|\Z)', git_config, re.MULTILINE | re.DOTALL)
    url = re.search(r"^\s*url\s*=\s*(\S+)", section[1], re.MULTILINE) if section else None
    if url is None:
        return ""
    address = re.sub(r"^(?:ssh://)?git@([\w.-]+)[:/]", r"https://\1/", url[1]).removesuffix(".git")
    return address.rstrip("/") if re.fullmatch(r"https://[\w.-]+/[\w./~-]+", address) else ""


class IndexPage(MetadataHookInterface):
    """Called by hatchling while it builds."""

    def update(self, metadata: dict[str, object]) -> None:
        root = Path(self.root)
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        readme = (root / "README.md").read_text(encoding="utf-8")
        config = root / ".git" / "config"
        cloned = origin(config.read_text(encoding="utf-8", errors="replace")) if config.is_file() else ""
        text = index_page(readme, project.get("urls", {}).get("Repository", "").rstrip("/") or cloned, project["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
