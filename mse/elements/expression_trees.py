"""Expressions as trees of operators and names: ``["*", 0.5, "m", ["**", "q'", 2]]``.

A tree is a number, a name, or a list of an operator and trees.  Files hold these, and nothing in a file is run: each operator is
looked up here.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError, nearest_name
from ..validation.arguments import shown

Tree = float | str | list

# operators and how many operands each takes; None for any number
OPERATORS: dict[str, tuple[Callable, int | None]] = {
    "+": (lambda *x: functools.reduce(operator.add, x), None),
    "*": (lambda *x: functools.reduce(operator.mul, x), None),
    "**": (operator.pow, 2), "<": (operator.lt, 2), "<=": (operator.le, 2), ">": (operator.gt, 2), ">=": (operator.ge, 2),
    "where": (np.where, 3), "atan2": (np.arctan2, 2),
} | {name: (function, 1) for name, function in {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "Abs": np.abs, "sign": np.sign,
}.items()}  # fmt: skip


def evaluated(tree: Tree, names: Mapping[str, Any]) -> Any:
    """The value of a tree where names have values."""
    if isinstance(tree, str):
        return names[tree]
    if not isinstance(tree, list):
        return tree
    return OPERATORS[tree[0]][0](*(evaluated(x, names) for x in tree[1:]))


def checked(tree: Any, known: Sequence[str], who: str) -> Tree:
    """The tree; ModelError for operators and names that are not known."""
    if isinstance(tree, str):
        if tree not in known:
            raise ModelError(
                f"{who} has {tree}, which is neither a coordinate nor a parameter{nearest_name(tree, known)}; expected one of "
                f"{', '.join(known)}; give its value in parameters={{{tree}: ...}}"
            )
    elif isinstance(tree, list):
        rule = OPERATORS.get(tree[0]) if tree and isinstance(tree[0], str) else None
        if rule is None or (len(tree) < 2 if rule[1] is None else len(tree) != 1 + rule[1]):
            raise ModelError(
                f"{who} has {shown(tree[:1])} of {len(tree) - 1}; expected one of {', '.join(OPERATORS)} with its operands"
            )
        for x in tree[1:]:
            checked(x, known, who)
    elif isinstance(tree, bool) or not isinstance(tree, int | float) or not math.isfinite(tree):
        raise ModelError(f"{who} has {shown(tree)}; expected a finite number, a name or an operator with operands")
    return tree
