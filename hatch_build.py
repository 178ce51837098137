"""Metadata that follow from where the repository is published: project URLs, and README links that work elsewhere."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Published(MetadataHookInterface):
    """Takes the repository's address from ``[tool.hatch.metadata.hooks.custom]`` in pyproject.toml; empty means not published."""

    def update(self, metadata: dict) -> None:
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = self.config["repository"].rstrip("/")
        if repository:
            metadata["urls"] = {
                "Repository": repository,
                "Documentation": f"{repository}/tree/main/docs",
                "Changelog": f"{repository}/blob/main/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }
            # a package index has no files beside the README: pictures need their bytes, links the page that shows the file
            readme = re.sub(r"(!\[[^\]]*\]\()(?!https?:)", rf"\1{repository}/raw/main/", readme)
            readme = re.sub(r"((?<!!)\[[^\]]*\]\()(?!https?:|#)", rf"\1{repository}/blob/main/", readme)
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}
