"""Who may import whom, what import mse costs, and what the docstrings promise."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import mse

PACKAGE = Path(mse.__file__).parent

# module prefix -> what it may import of mse; docs/architecture.md draws this table
ALLOWED = {
    "errors": (),
    "arguments": ("errors", "reals"),
    "blas": (),
    "display": ("read_only",),
    "dense": (),
    "elimination": ("kernels",),
    "sparse": ("elimination", "kernels"),
    "lanczos": ("dense", "kernels"),
    "local_null": (),
    "kernels": ("kernels",),
    "pose": ("arguments", "errors", "kernels", "reals"),
    "read_only": (),
    "reals": (),
    "jets": ("errors",),
    "file_access": ("arguments", "errors"),
    "json_shapes": ("arguments", "errors", "file_access"),
    "matrices": ("arguments", "blas", "errors", "reals", "sparse"),
    "elements": (
        "elements",
        "arguments",
        "display",
        "errors",
        "jets",
        "kernels",
        "matrices",
        "pose",
        "read_only",
        "reals",
    ),
    "linear_model": ("analysis", "arguments", "display", "errors", "matrices", "read_only", "sparse"),
    "matrix_files": ("errors", "file_access"),
    "reduction": (
        "analysis",
        "arguments",
        "blas",
        "dense",
        "display",
        "elements",
        "errors",
        "linear_model",
        "matrices",
        "pose",
        "reals",
        "sparse",
    ),
    "model": (
        "model",
        "elements.base",
        "elements.laws",
        "elements.parameters",
        "arguments",
        "blas",
        "dense",
        "display",
        "errors",
        "file_access",
        "json_shapes",
        "kernels",
        "lanczos",
        "linear_model",
        "local_null",
        "pose",
        "read_only",
        "reals",
        "sparse",
    ),
    "analysis": (
        "analysis",
        "arguments",
        "blas",
        "dense",
        "display",
        "elimination",
        "errors",
        "file_access",
        "json_shapes",
        "kernels",
        "lanczos",
        "linear_model",
        "local_null",
        "reals",
        "sparse",
    ),
    "tools": ("",),
}


def modules() -> dict[str, Path]:
    out = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        out[name.removesuffix(".__init__") if name != "__init__" else ""] = path
    return out


def imports_of(name: str, path: Path) -> set[str]:
    """Modules of mse that a module imports, at any depth of its code, relative to the package."""
    parts = name.split(".") if name else []
    package = parts if path.name == "__init__.py" else parts[:-1]
    found = set()
    known = set(modules())
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
            for alias in node.names:
                full = ".".join([*base, alias.name])
                found.add(full if full in known else ".".join(base))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mse"):
            found.add(node.module.partition(".")[2])
        elif isinstance(node, ast.Import):
            found |= {a.name.partition(".")[2] for a in node.names if a.name.split(".")[0] == "mse"}
    return found


def within(module: str, prefix: str) -> bool:
    return prefix == "" or module == prefix or module.startswith(prefix + ".")


@pytest.mark.parametrize("name", [n for n in modules() if n])
def test_imports_follow_the_table(name):
    rules = [p for p in ALLOWED if within(name, p)]
    assert rules, f"{name} is in no row of the import table"
    for other in imports_of(name, modules()[name]):
        assert any(within(other, a) for a in ALLOWED[rules[0]]), f"mse.{name} may not import mse.{other}"


def test_the_walker_sees_forbidden_imports(tmp_path):
    bad = tmp_path / "modes.py"
    bad.write_text("def f():\n    from ..model.system import MSystem\n    return MSystem\n")
    assert imports_of("analysis.modes", bad) == {"model.system"}


def test_no_module_named_utils_and_none_too_long():
    for name, path in modules().items():
        assert "util" not in name
        assert len(path.read_text().splitlines()) <= 500, f"{path} is over 500 lines: look for the second thing in it"


def test_import_mse_needs_no_extra_and_little_of_scipy():
    code = (
        "import sys; import mse; "
        "heavy = ['matplotlib', 'scipy.signal', 'scipy.sparse.linalg', 'scipy.optimize', 'pandas', 'sympy']; "
        "print([m for m in heavy if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_public_names_are_documented():
    for name in [n for n in vars(mse) if not n.startswith("_") and n[0].isupper()] + [
        "LinearModel",
        "compose",
        "load",
        "read_matrices",
        "reduce_matrices",
    ]:
        thing = getattr(mse, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for attribute, value in vars(thing).items():
                if attribute.startswith("_") or not (inspect.isfunction(value) or isinstance(value, property)):
                    continue
                inherited = any(attribute in vars(base) for base in thing.__mro__[1:])
                assert inherited or inspect.getdoc(value), f"{name}.{attribute}"
