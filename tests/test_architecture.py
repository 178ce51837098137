"""Who may import whom, what import mse costs, and what the docstrings promise."""

from __future__ import annotations

import ast
import functools
import inspect
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import mse

PACKAGE = Path(mse.__file__).parent

# rooms from the ground up: a module imports from its own room and from those below; docs/architecture.md draws them
FLOORS = (
    "errors",
    "deprecation",
    "progress",
    "kernels",
    "numerics",
    "validation",
    "elsewhere",
    "display",
    "declared",
    "saved",
    "results",
    "pose",
    "spatial",
    "elements",
    "model",
    "statics",
    "linear",
    "analysis",
    "control",
    "dynamics",
    "",  # the names that users import
    "tools",
)

# the methods by which users reach a higher floor, or a module that needs theirs: one import and one call
UPWARD = {
    "results.Result.save",
    "results.Result.to_pandas",
    "results.Result.to_xarray",
    "analysis.frequency.response.FrequencyResponse.to_control",
    "analysis.time.state_space.StateSpace.control_names",
    "analysis.time.state_space.StateSpace.reduced",
    "analysis.time.state_space.StateSpace.to_control",
    "analysis.time.state_space.StateSpace.to_scipy",
    "display.Table._repr_html_",
    "elements.identity.Identified.equations",
    "model.searches.Searches.equations",
    "model.searches.Searches.find_instability",
    "model.searches.Searches.find_steady_motion",
    "model.searches.Searches.relaxation",
    "model.system.MSystem.save",
    "model.searches.Searches.simulate",
    "model.searches.Searches.step_loop",
    "model.searches.Searches.trace",
    "dynamics.showing.Showing.save_animation",
    "dynamics.showing.Showing.to_html",
    "statics.showing.Showing.save_animation",
    "statics.showing.Showing.to_html",
    "statics.showing.Showing.view",
    "statics.working_point.WorkingPoint.linearize",
    "statics.working_point.WorkingPoint.save",
    "statics.working_point.WorkingPoint.update",
    "linear.readings.Readings.compliance",
    "linear.readings.Readings.impedance",
    "linear.methods.Analyses.feedback",
    "linear.methods.Analyses.frequency_response",
    "linear.readings.Readings.stiffness",
    "linear.methods.Analyses.modes",
    "linear.methods.Analyses.noise",
    "linear.readings.Readings.modal_damping",
    "linear.readings.Readings.null_space",
    "linear.readings.Readings.rational",
    "linear.linear_model.LinearModel._allowed_motions",
    "linear.linear_model.LinearModel.growth",
    "linear.linear_model.LinearModel.reduced",
    "linear.methods.Analyses.resonance_grid",
    "linear.methods.Analyses.simulate",
    "linear.methods.Analyses.state_space",
    "linear.methods.Analyses.step_loop",
}


MOST_PARAMETERS = 7
# what has more: options by keyword, which read best where they are called
MANY_OPTIONS = {
    "elements.symbolic.SymbolicElement.__init__",  # laws by name
    "analysis.time.simulate.simulate",
    "linear.methods.Analyses.simulate",
    "dynamics.simulate.simulate",
    "model.searches.Searches.simulate",
}


class Import(NamedTuple):
    """One import of a module of mse: what is imported, and the function or class.method that does it, if any."""

    target: str
    names: tuple[str, ...]
    within: str
    typing: bool  # under TYPE_CHECKING, for annotations alone


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def modules() -> dict[str, Path]:
    out = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        out[name.removesuffix(".__init__") if name != "__init__" else ""] = path
    return out


MODULES = modules()


def imports_of(name: str, path: Path) -> Iterator[Import]:
    """All imports of mse that a module has, at any depth of its code, relative to the package."""
    parts = name.split(".") if name else []
    package = parts if path.name == "__init__.py" else parts[:-1]

    def walk(node: ast.AST, within: tuple[str, ...], typing: bool) -> Iterator[Import]:
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                base = package[: len(package) - node.level + 1] + (module.split(".") if module else [])
            elif module.split(".")[0] == "mse":
                base = module.split(".")[1:]
            else:
                return
            for alias in node.names:
                full = ".".join([*base, alias.name])
                target = full if full in MODULES else ".".join(base)
                yield Import(target, (alias.asname or alias.name,), ".".join(within), typing)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "mse":
                    yield Import(alias.name.partition(".")[2], (alias.name,), ".".join(within), typing)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in (
            "import_module",
            "__import__",
        ):
            target = node.args[0]
            if isinstance(target, ast.Constant) and str(target.value).split(".")[0] == "mse":
                yield Import(target.value.partition(".")[2], (), ".".join(within), typing)
        else:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                within = (*within, node.name)
            for child in ast.iter_child_nodes(node):
                yield from walk(
                    child, within, typing or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
                )

    yield from walk(tree_of(path), (), False)


def definitions(path: Path) -> dict[str, ast.FunctionDef]:
    """All functions of a module, methods as ``Class.method``."""
    out = {}
    for node in tree_of(path).body:
        for f in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(f, ast.FunctionDef):
                out[f"{node.name}.{f.name}" if f is not node else f.name] = f
    return out


def is_thin(function: ast.FunctionDef) -> bool:
    """Whether a function consists, beside its docstring, of one import and one call."""
    body = [x for x in function.body if not (isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant))]
    if len(body) != 2 or not isinstance(body[0], ast.ImportFrom) or not isinstance(body[1], ast.Return | ast.Expr):
        return False
    call = body[1].value
    return isinstance(call, ast.Call) and not any(isinstance(x, ast.Call) for a in call.args for x in ast.walk(a))


def floor(module: str) -> int:
    return FLOORS.index(module.split(".")[0])


def upward(name: str, one: Import) -> bool:
    return f"{name}.{one.within}" in UPWARD


@pytest.mark.slow
@pytest.mark.parametrize("name", list(MODULES))
def test_nothing_imports_upwards(name):
    assert not name or name.split(".")[0] in FLOORS, f"mse.{name} stands on no floor"
    for one in imports_of(name, MODULES[name]):
        if not one.typing and not upward(name, one):
            assert floor(one.target) <= floor(name), (
                f"mse.{name} may not import mse.{one.target}, which stands above it"
            )


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other, one after the other, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_imports_run_in_no_circle():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    graph = {}
    for name, path in MODULES.items():
        graph[name] = {one.target for one in imports_of(name, path) if not one.typing and not upward(name, one)}
        graph[name] -= {name}
    assert not circle(graph)


def test_the_ways_up_are_thin_and_typed():
    for path in UPWARD:
        room = max((m for m in MODULES if m and path.startswith(m + ".")), key=len)
        function = definitions(MODULES[room])[path.removeprefix(room + ".")]
        assert is_thin(function), f"{path} must consist of one import and one call"
        assert function.returns is not None, f"{path} must say what it returns"
        used = [
            one for one in imports_of(room, MODULES[room]) if upward(room, one) and one.within == path[len(room) + 1 :]
        ]
        assert used, f"{path} imports nothing: it is no way up"


@pytest.mark.slow
def test_types_from_above_stand_in_annotations_of_the_ways_up_alone():
    for name, path in MODULES.items():
        above = {
            n for one in imports_of(name, path) if one.typing and floor(one.target) > floor(name) for n in one.names
        }
        if not above:
            continue
        # what users import stands in mse itself, from wherever it comes
        allowed: set[str] = set() if name else above & {*mse._LATER, *mse._RESULTS}
        for where, function in definitions(path).items():
            signature = ast.unparse(function.args) + " " + (ast.unparse(function.returns) if function.returns else "")
            used = {n for n in above if n in signature.replace("[", " ").replace("]", " ").split() or n in signature}
            # who calls a way up, and nothing else, may tell its type as well
            if f"{name}.{where}" in UPWARD or where in ("Searches.find_working_point",):
                allowed |= used
            else:
                assert not used, f"mse.{name}: {where} takes or gives {used} from a higher floor"
        assert above == allowed, f"mse.{name} imports types from above that no way up has: {above - allowed}"


def test_the_walker_sees_forbidden_imports(tmp_path):
    bad = tmp_path / "modes.py"
    bad.write_text(
        "def f():\n    from ..model.system import MSystem\n    return MSystem\n"
        "class A:\n    def g(self):\n        import_module('mse.tools.plots')\n"
    )
    found = list(imports_of("analysis.modes", bad))
    assert [(x.target, x.within) for x in found] == [("model.system", "f"), ("tools.plots", "A.g")]
    assert not is_thin(definitions(bad)["f"])


@pytest.mark.slow
def test_numba_is_configured_in_one_file_and_llvm_touched_in_two():
    # kernels and what takes them from users know numba's types; its options stand in jit.py alone
    of = {"llvmlite": set(), "numba": set()}
    for name, path in MODULES.items():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                first = node.names[0].name if isinstance(node, ast.Import) else (node.module or "")
                if first.split(".")[0] in of and not getattr(node, "level", 0):
                    of[first.split(".")[0]].add(name)
    assert of["llvmlite"] == {"kernels.straight_ir", "kernels.vector_ir"}
    assert of["numba"] <= {
        "kernels.straight_ir",
        "kernels.vector_ir",
        "kernels.jit",
        "kernels.code_cache",
        "kernels.first_use",
        "kernels.by_address",
        "kernels.control",
        "analysis.time.step_loop",
    }


def test_no_module_named_utils_and_none_too_long():
    for name, path in MODULES.items():
        assert "util" not in name
        assert len(path.read_text().splitlines()) <= 500, f"{path} is over 500 lines: look for the second thing in it"


def parameters_of(function: ast.FunctionDef, of_class: bool) -> tuple[int, int]:
    """How many parameters a function has, and how many of them may be given by place; without the object's own."""
    a = function.args
    static = any(ast.unparse(d) == "staticmethod" for d in function.decorator_list)
    by_place = len(a.posonlyargs) + len(a.args) - (of_class and not static)
    return by_place + len(a.kwonlyargs) + (a.vararg is not None) + (a.kwarg is not None), by_place


def counted(path: Path) -> dict[str, tuple[int, int]]:
    """The same for all functions of a module, those within others too."""

    def walk(node: ast.AST, within: tuple[str, ...], of_class: bool) -> Iterator[tuple[str, tuple[int, int]]]:
        for child in ast.iter_child_nodes(node):
            inner = within
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = (*within, child.name)
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield ".".join(inner), parameters_of(child, of_class)
            yield from walk(child, inner, isinstance(child, ast.ClassDef))

    return dict(walk(tree_of(path), (), False))


@pytest.mark.slow
def test_no_function_takes_more_than_seven_parameters():
    many = {}
    for name, path in MODULES.items():
        if not name.startswith("kernels"):  # compiled loops take arrays one by one
            many |= {f"{name}.{where}": n for where, n in counted(path).items() if n[0] > MOST_PARAMETERS}
    assert set(many) <= MANY_OPTIONS, (
        f"{set(many) - MANY_OPTIONS}: look for what belongs together among their parameters"
    )
    assert set(many) >= MANY_OPTIONS, f"{MANY_OPTIONS - set(many)} need no exception any more"
    assert all(by_place <= MOST_PARAMETERS for _, by_place in many.values())


def test_parameters_are_counted_in_methods_and_inner_functions(tmp_path):
    module = tmp_path / "m.py"
    module.write_text(
        "class A:\n    def f(self, a, *, b):\n        def g(x, *y, **z): ...\n    @staticmethod\n    def h(a, b): ...\n"
    )
    assert counted(module) == {"A.f": (2, 1), "A.f.g": (3, 1), "A.h": (2, 2)}


# functions of more than 60 lines beside their docstrings, and why they are not divided
LONG = {
    "kernels.beams.segment": "numba compiles one function sooner than several",
    "kernels.joints.put_joints": "numba compiles one function sooner than several",
    "kernels.rank._eliminate": "numba compiles one function sooner than several",
    "kernels.multibody.run": "numba compiles one function sooner than several",
    "numerics.trust_region._dense_step": "the cases of one subproblem, which share all they know",
    "numerics.trust_region._sparse_step": "the cases of one subproblem, which share all they know",
}


@pytest.mark.slow
def test_long_functions_are_few_and_said_why():
    found = set()
    for name, path in MODULES.items():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef):
                text = ast.get_docstring(node, clean=False)
                lines = node.end_lineno - node.lineno + 1 - (text.count("\n") + 1 if text else 0)
                if lines > 60:
                    found.add(f"{name}.{node.name}")
    assert found == set(LONG)


TESTS = Path(__file__).parent
# private names of others, and why nothing public leads there
OTHERS_PRIVATE = {
    "progress/test_interrupts.py: _get_wrapper_address": "what numba asks in Python while it takes a function, by no other name",
    "numerics/test_blas_threads.py: _umath_linalg": "the part of NumPy that is linked with BLAS has no other name",
    "tools/plots/reading.py: _unscaled_dash_pattern": "Matplotlib tells the dashes of a line in no other way",
    "tools/plots/test_geometry.py: _faces": "Matplotlib tells the corners of surfaces in space in no other way",
    "tools/plots/test_geometry.py: _vec": "the same in other versions of Matplotlib",
    "tools/plots/test_geometry.py: _vertical_axis": "Matplotlib tells the axis that points upwards in no other way",
    "progress/test_tasks.py: _exit": "Python documents os._exit under this name",
    "analysis/time/test_recording.py: _exit": "Python documents os._exit under this name",
}
BY_NAME = ("setattr", "delattr", "getattr", "hasattr")


def is_private(name: str) -> bool:
    """Whether a name begins with one underscore: no protocol (``_repr_html_``), nor what named tuples document."""
    return (
        name.startswith("_")
        and not name.endswith("_")
        and name[1] != "_"
        and name not in ("_replace", "_fields", "_asdict")
    )


def private_uses(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """All private names that a module uses, and whether they are of its own objects (``self``, ``cls``)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            yield node.attr, isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.name, False) for alias in node.names if is_private(alias.name))
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in BY_NAME:
            given = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            yield from ((part, False) for text in given for part in text.split(".") if is_private(part))


def private_definitions(tree: ast.Module) -> set[str]:
    """All private names that a module gives: functions, classes, variables, attributes."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return {name for name in found if is_private(name)}


def foreign_names(where: str, path: Path, owners: dict[str, set[str]]) -> set[str]:
    """Private names that a test file uses of modules it is not the mirror of: ``tests/statics/test_search.py`` may use those
    of ``mse/statics/search.py``, and files beside this one those of ``mse/__init__.py``.
    """
    tree = tree_of(path)
    room, _, name = where.rpartition("/")
    mirrored = (room.split("/")[0], name.removeprefix("test_").removesuffix(".py"))
    own, found = private_definitions(tree), set()
    for used, of_self in private_uses(tree):
        rooms = {(m.split(".")[0] if "." in m else "", m.split(".")[-1]) for m in owners.get(used, ())}
        of_package = not room and ("", "") in rooms
        if not (used in own and (of_self or not rooms)) and mirrored not in rooms and not of_package:
            found.add(f"{where}: {used}")
    return found


@pytest.mark.slow
def test_private_names_are_used_in_tests_of_their_module_alone():
    owners: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        for name in private_definitions(tree_of(path)):
            owners.setdefault(name, set()).add(module)
    found = set()
    for path in sorted(TESTS.rglob("*.py")):
        found |= foreign_names(path.relative_to(TESTS).as_posix(), path, owners)
    assert not found - set(OTHERS_PRIVATE), (
        "reach the same by public names, or move the test to the test file of the module"
    )
    assert not set(OTHERS_PRIVATE) - found, "needs no exception any more"


def test_the_walker_sees_private_names(tmp_path):
    path = tmp_path / "test_search.py"
    path.write_text(
        "from mse.statics.search import _a\nfrom models import _b\nimport os\n"
        "class A:\n    def f(self):\n        self._c = 1\n        return self._c, self._d, other._c, x._replace(y=1)\n"
        "monkeypatch.setattr('mse.statics.search._e', 1)\nmonkeypatch.setattr(thing, '_f', _repr_html_)\nos._exit()\n"
    )
    owners = {"_a": {"statics.search"}, "_c": {"linear.modes"}, "_d": {"model.search"}, "_e": {"statics.search"}}
    foreign = {x.rpartition(" ")[2] for x in foreign_names("statics/test_search.py", path, owners)}
    assert foreign == {"_b", "_c", "_d", "_f", "_exit"}
    assert "_a" in {x.rpartition(" ")[2] for x in foreign_names("linear/test_search.py", path, owners)}


def said_by(code: str) -> str:
    """What a fresh Python prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
def test_import_mse_needs_no_extra_and_little_of_scipy():
    code = (
        "import sys; import mse; "
        "heavy = ['matplotlib', 'scipy.signal', 'scipy.sparse', 'scipy.linalg', 'scipy.optimize', 'pandas', 'sympy']; "
        "print([m for m in heavy if m in sys.modules])"
    )
    assert said_by(code) == "[]"


@pytest.mark.slow
def test_a_motion_imports_of_scipy_matrices_and_linear_algebra():
    code = (
        "import sys; import mse.dynamics.simulate; "
        "of = {m.split('.')[1] for m in sys.modules if m.startswith('scipy.') and not m.startswith('scipy._')}; "
        "print(sorted(of - {'version'}))"
    )
    assert said_by(code) == "['linalg', 'sparse']"


def test_public_names_are_documented():
    for name in [n for n in vars(mse) if not n.startswith("_") and n[0].isupper()] + [
        "LinearModel",
        "compose",
        "read_matrices",
        "read_model",
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
