"""Makes the page that a package index shows from README.md: an index has no files beside it, so relative pictures and links cannot stand there.

Where `[project.urls]` names a `Repository`, they become absolute links to this version in it; where it names none, pictures are left out and links keep
their text.
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


class IndexPage(MetadataHookInterface):
    """Called by hatchling while it builds."""

    def update(self, metadata: dict[str, object]) -> None:
        root = Path(self.root)
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        readme = (root / "README.md").read_text(encoding="utf-8")
        text = index_page(readme, project.get("urls", {}).get("Repository", "").rstrip("/"), project["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
