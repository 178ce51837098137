"""A search that works from a file: excerpts come from a script, for browsers let no page of a file read another one."""

from __future__ import annotations

import json
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_UNREAD = ("script", "style", "iframe", "button")


class Texts(HTMLParser):
    """The text of the main part of a page, with its sections and their anchors."""

    def __init__(self, page: str):
        super().__init__()
        self.parts: list[str] = []
        self._depth = self._unread = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if given.get("role") == "main":
            self._depth = 1
        elif self._depth and tag == "article":
            self._depth += 1
        self._unread += tag in _UNREAD
        if self._depth and tag == "section":
            self.parts.append(f'<section id="{escape(given.get("id") or "", quote=True)}">')

    def handle_endtag(self, tag: str) -> None:
        if self._depth and tag == "section":
            self.parts.append("</section>")
        if self._depth and tag == "article":
            self._depth -= 1
        self._unread -= tag in _UNREAD

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if self._depth and not self._unread and text and text != "¶":
            self.parts.append(escape(text, quote=False) + " ")


def write(app: Sphinx, failed: Exception | None) -> None:
    """Write the texts of all pages into one script."""
    if failed or app.builder.name != "html":
        return
    out = Path(app.outdir)
    pages = {}
    for name in sorted(app.env.found_docs):
        parts = Texts((out / f"{name}.html").read_text(encoding="utf-8")).parts
        pages[name] = '<div role="main">' + "".join(parts) + "</div>"
    text = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    (out / "_static" / "search_pages.js").write_text(f"const SEARCH_PAGES = {text};\n", encoding="utf-8")


def scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """The page of the search alone loads them."""
    if page == "search":
        for name in ("search_pages.js", "search.js"):
            app.add_js_file(name, loading_method="defer", priority=100)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", scripts)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
