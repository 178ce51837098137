"""XML as a tree of plain elements, read by expat without document types, so no entity is ever expanded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from ..errors import FileError

_MOST, _DEEPEST = 200_000, 100  # most elements of a file, and most levels


@dataclass
class Tag:
    """An XML element and the line where it begins."""

    tag: str
    values: dict[str, str]
    line: int
    inside: list[Tag] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its own text, without that of elements inside."""
        return "".join(self.texts)

    def all(self, tag: str) -> Iterator[Tag]:
        """The elements of a kind directly inside."""
        return (t for t in self.inside if t.tag == tag)

    def one(self, tag: str) -> Tag | None:
        """The first element of a kind directly inside; None if there is none."""
        return next(self.all(tag), None)


def tag_error(path: Path, tag: Tag, found: str, expected: str) -> FileError:
    """The error for an element: what was found in it, and what was expected."""
    return FileError(f"{path}: line {tag.line}: <{tag.tag}> {found}; expected {expected}")


def xml_tree(path: Path, content: bytes, kind: str, what: str) -> Tag:
    """The outermost element of an XML text; FileError if it is not XML, too large, or has a document type.

    ``kind`` names the expected files, ``what`` their contents.
    """
    top = Tag("", {}, 0)
    open_, count = [top], 0
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(tag: str, values: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > _MOST or len(open_) > _DEEPEST:
            raise FileError(f"{path}: it has more than {_MOST} elements, or {_DEEPEST} levels of them; expected {what}")
        new = Tag(tag, values, parser.CurrentLineNumber)
        open_[-1].inside.append(new)
        open_.append(new)

    def refuse(*_: object) -> None:
        raise FileError(
            f"{path}: line {parser.CurrentLineNumber} has a document type or an entity, which can grow without limit or reach "
            "other files; expected plain elements; remove it"
        )

    parser.StartElementHandler, parser.EndElementHandler = start, lambda tag: open_.pop()
    parser.CharacterDataHandler = lambda text: open_[-1].texts.append(text)
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = refuse
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise FileError(f"{path}: it is no XML text ({error}); expected a {kind} file") from None
    return top.inside[0]
