"""Values kept by objects: told apart by identity, dropped with them, and no more than so many."""

from __future__ import annotations

import gc

from mse.numerics.recent import Recent


class Owner:
    pass


def test_values_are_made_once_for_each_object_and_what_else_they_depend_on():
    kept, made = Recent(4), []
    one, other = Owner(), Owner()

    def value(of: object, *more: float) -> object:
        return kept(of, lambda: made.append((of, *more)) or object(), *more)

    first = value(one)
    assert value(one) is first and value(one, 0.1) is not first and value(other) is not first
    assert value(one, 0.1) is value(one, 0.1) and len(made) == 3


def test_the_one_used_longest_ago_goes_first():
    kept, owners = Recent(2), [Owner() for _ in range(3)]
    first, second = kept(owners[0], object), kept(owners[1], object)
    assert kept(owners[0], object) is first
    kept(owners[2], object)
    assert kept(owners[0], object) is first and kept(owners[1], object) is not second


def test_values_go_with_their_objects():
    kept, owner, held = Recent(4), Owner(), Owner()
    alive = []

    class Value:
        def __del__(self):
            alive.append("gone")

    kept(owner, Value)
    kept(held, Value)
    del owner
    gc.collect()
    assert alive == ["gone"]
