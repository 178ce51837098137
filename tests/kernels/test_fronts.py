"""Structure of eliminations, by Python code, which tells of places beyond an array where compiled code writes there."""

from __future__ import annotations

import numpy as np

from mse.kernels import fronts


def test_neighbors_may_be_border_rows_beyond_all_entries():
    """Two coordinates alone, the second coupled to the last of nine border rows."""
    first, rows = np.array([0, 1, 3]), np.array([0, 1, 2 + 8])
    nodes = fronts.nodes.__wrapped__(first, rows, np.array([0, 1]), 2, 9)
    np.testing.assert_array_equal(nodes[0], [0, 1, 3])
    np.testing.assert_array_equal(nodes[1], [0, 1, 2 + 8])
