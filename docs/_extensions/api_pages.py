"""Pages of the API, written for every public name before Sphinx reads its sources, so that none can be left out."""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import public_names as public
from mse.elements.base import MObject

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = Path(__file__).parent.parent / "api"
JOINT_MODULES = ("joint_base", "joints", "rod", "gear")


def _name(cls: type) -> str:
    """By what name a class is reached: from mse where users import it, else from its module."""
    return f"mse.{cls.__name__}" if cls in public.NAMED.values() else f"{cls.__module__}.{cls.__name__}"


def _heading(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n"


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
    out: dict[str, list[type]] = {"Systems": [], "Elements": [], "Joints": [], "Shapes": [], "Results": []}
    for cls in public.CLASSES:
        if cls.__module__.rpartition(".")[2] in JOINT_MODULES:
            out["Joints"].append(cls)
        elif cls.__module__.endswith(".shapes"):
            out["Shapes"].append(cls)
        elif issubclass(cls, MObject):
            out["Elements"].append(cls)
        else:
            out["Systems" if cls in public.MADE and not issubclass(cls, public.Result) else "Results"].append(cls)
    return {group: sorted(classes, key=lambda cls: cls.__name__) for group, classes in out.items()}


def pages() -> dict[str, str]:
    """File names and texts of all pages."""
    out, index = (
        {},
        [_heading("API"), "Every public name of mse. What to call for which task stands in the how-to pages.\n"],
    )
    for group, classes in groups().items():
        index.append(f".. toctree::\n   :maxdepth: 1\n   :caption: {group}\n")
        for cls in classes:
            out[f"{cls.__name__}.rst"] = class_page(cls)
            index.append(f"   {cls.__name__}")
        index.append("")
    functions = [f".. autofunction:: mse.{f.__name__}\n" for f in sorted(public.FUNCTIONS, key=lambda f: f.__name__)]
    out["functions.rst"] = "\n".join([_heading("Functions"), *functions])
    errors = [
        f".. autoexception:: mse.{e.__name__}\n   :show-inheritance:\n"
        for e in sorted(public.ERRORS, key=lambda e: len(inspect.getmro(e)))
    ]
    out["errors.rst"] = "\n".join([_heading("Errors and warnings"), *errors])
    index.append(".. toctree::\n   :maxdepth: 1\n   :caption: Functions and errors\n\n   functions\n   errors\n")
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
