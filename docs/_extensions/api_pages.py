"""Pages of the API, written for every public name before Sphinx reads its sources, so that none can be left out."""

from __future__ import annotations

import inspect
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import mse
import public_names as public
from mse import Dyad, MObject, Momentum, MSystem, Pose, Progress, SearchOptions, SpatialInertia, Twist, Wrench

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = Path(__file__).parent.parent / "api"
JOINT_MODULES = ("joint_base", "joints", "rod", "gear")


def _name(thing: object) -> str:
    """The public path of a class or function, by which users import it."""
    name = thing.__name__  # type: ignore[attr-defined]
    if getattr(mse, name) is not thing:
        raise ValueError(f"mse.{name} is not {thing!r}: enter it in mse/__init__.py")
    return f"mse.{name}"


def _heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


def class_page(cls: type) -> str:
    """One class with the methods that its users call; what authors of elements write stands in the guide for these."""
    hidden = issubclass(cls, MObject) and cls is not MObject
    members = [name for name in public.methods(cls) if not (hidden and public.of_contract(name))]
    lines = [_heading(cls.__name__), f".. autoclass:: {_name(cls)}", ""]
    for name in sorted(members):
        kind = "method" if inspect.isfunction(public.methods(cls)[name]) else "property"
        lines += [f"   .. auto{kind}:: {_name(cls)}.{name}", ""]
    return "\n".join(lines)


def groups() -> dict[str, list[type]]:
    """All public classes but errors, by what they are to a user."""
    out: dict[str, list[type]] = {
        "Systems and poses": [MSystem, Pose],
        "Motors: twists and wrenches": [Twist, Wrench, Momentum, SpatialInertia, Dyad],
        "Elements": [],
        "Joints": [],
        "Shapes of bodies": [],
        "Elements of your own": [MObject],
        "Searches and long calls": [SearchOptions, Progress],
        "Results of calls": [],
    }
    placed = [cls for classes in out.values() for cls in classes]
    for cls in public.CLASSES:
        if cls in placed:
            continue
        if issubclass(cls, MObject):
            joint = cls.__module__.rpartition(".")[2] in JOINT_MODULES
            out["Joints" if joint else "Elements"].append(cls)
        else:
            out["Shapes of bodies" if cls.__module__.endswith(".shapes") else "Results of calls"].append(cls)
    return {group: sorted(classes, key=lambda cls: cls.__name__) for group, classes in out.items()}


def sentence(thing: object) -> str:
    """The first sentence of a docstring, in one line."""
    first = inspect.cleandoc(thing.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    found = re.match(r"(?:``.*?``|`.*?`|.)*?(?<!eq)[.;](?=\s|$)", first)
    return (found[0] if found else first).rstrip(";:.") + "."


def table(things: list[tuple[str, str]]) -> str:
    """Names and what each is, a row each."""
    rows = [f"   * - {link}\n     - {said}" for link, said in things]
    return "\n".join([".. list-table::", "   :widths: 28 72", "   :class: names", "", *rows, ""])


def pages() -> dict[str, str]:
    """File names and texts of all pages."""
    out: dict[str, str] = {}
    index = [_heading("API"), "Every public name of mse. What to call for which task stands in :doc:`/how_to/index`.\n"]
    for group, classes in groups().items():
        index.append(_heading(group, "-"))
        index.append(table([(f":class:`~{_name(cls)}`", sentence(cls)) for cls in classes]))
        index.append(".. toctree::\n   :hidden:\n   :maxdepth: 1\n")
        for cls in classes:
            out[f"{cls.__name__}.rst"] = class_page(cls)
            index.append(f"   {cls.__name__}")
        index.append("")
    functions = sorted(public.FUNCTIONS, key=lambda f: f.__name__)
    errors = sorted(public.ERRORS, key=lambda e: len(inspect.getmro(e)))
    out["functions.rst"] = "\n".join([_heading("Functions"), *(f".. autofunction:: {_name(f)}\n" for f in functions)])
    told = [f".. autoexception:: {_name(e)}\n   :show-inheritance:\n" for e in errors]
    out["errors.rst"] = "\n".join([_heading("Errors and warnings"), *told])
    for group, role, things, page in (
        ("Functions", "func", functions, "functions"),
        ("Errors and warnings", "class", errors, "errors"),
    ):
        index.append(_heading(group, "-"))
        index.append(table([(f":{role}:`~{_name(one)}`", sentence(one)) for one in things]))
        index.append(f".. toctree::\n   :hidden:\n\n   {page}\n")
    out["index.rst"] = "\n".join(index)
    return out


def write(app: Sphinx) -> None:
    """Write the pages that changed, and remove those of names that are gone."""
    FOLDER.mkdir(exist_ok=True)
    texts = pages()
    for path in FOLDER.iterdir():
        if path.name not in texts:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, text in texts.items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def signature(app: Sphinx, what: str, name: str, obj: object, options: object, given: str, returned: str):
    """No parameters beside the name of a class that mse alone makes: its data stand below, as attributes."""
    return ("", None) if what == "class" and obj not in public.MADE else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write)
    app.connect("autodoc-process-signature", signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
