"""What surfaces of triangles enclose, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from mse.numerics.triangulations import enclosed, merged, open_edges

CORNERS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_tetrahedron_has_the_integrals_of_the_simplex(sign):
    """Integrals of monomials over the unit simplex are ``a! b! c!/(a + b + c + 3)!``."""
    rng = np.random.default_rng(0)
    a, shift = rng.standard_normal((3, 3)), 1e3 * rng.standard_normal(3)
    a *= np.sign(np.linalg.det(a))
    found = enclosed(CORNERS @ a.T + shift, FACES if sign > 0 else FACES[:, ::-1])
    size = np.linalg.det(a)
    second = (np.ones((3, 3)) + np.eye(3)) / 120.0 - np.full((3, 3), 1.0 / 96.0)
    assert found.volume == pytest.approx(sign * size / 6.0, rel=1e-10)
    np.testing.assert_allclose(found.center, a @ np.full(3, 0.25) + shift, rtol=1e-12)
    np.testing.assert_allclose(found.second, size * a @ second @ a.T, atol=1e-10)


def test_equal_corners_become_one_and_open_edges_are_counted():
    corners = CORNERS[FACES]
    vertices, triangles = merged(np.concatenate([corners, corners[:1, [0, 0, 1]]]))
    assert len(vertices) == 4 and len(triangles) == 4 and open_edges(triangles) == 0
    assert open_edges(triangles[:3]) == 3 and open_edges(triangles[:0]) == 0
