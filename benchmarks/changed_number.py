"""mse with another value of a number at the top of one of its modules, for scripts that ask what the number decides.

Modules make other values of their numbers when they are imported, and import them from each other by name.  So the module is
imported from a changed source, before anything else imports it; the file stays as it is.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any


def change(module: str, name: str, value: Any) -> None:
    """Import a module with another value of a number at its top, for the rest of the process."""
    if module in sys.modules:
        raise RuntimeError(f"{module} is imported already: change {name} before, in a process of its own")
    finder = _Finder(module, name, value)
    sys.meta_path.insert(0, finder)
    importlib.import_module(module)
    sys.meta_path.remove(finder)


def assigned(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a statement sets, and to what, one name after the other."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=True)
        else:
            yield target, node.value


class _Finder(MetaPathFinder):
    """Finds one module, as it would be found otherwise, with a number changed."""

    def __init__(self, module: str, name: str, value: Any) -> None:
        self.module, self.name, self.value = module, name, value

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != self.module or (found := PathFinder.find_spec(fullname, path, target)) is None:
            return None
        found.loader = _Loader(fullname, str(found.origin), self.name, self.value)
        return found


class _Loader(SourceFileLoader):
    def __init__(self, module: str, path: str, name: str, value: Any) -> None:
        super().__init__(module, path)
        self.number, self.value = name, value

    def get_code(self, fullname: str) -> CodeType:  # instead of what is kept in __pycache__
        tree = ast.parse(self.get_data(self.path), self.path)
        pairs = [pair for node in tree.body for pair in assigned(node)]
        at = next((old for target, old in pairs if isinstance(target, ast.Name) and target.id == self.number), None)
        if at is None:
            raise AttributeError(f"{fullname} sets no {self.number} at its top")
        new = ast.copy_location(ast.parse(repr(self.value), mode="eval").body, at)
        return compile(_Replaced(at, new).visit(tree), self.path, "exec")


class _Replaced(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return ast.fix_missing_locations(self.new) if node is self.old else self.generic_visit(node)
