"""Quantities of rigid bodies as a whole: velocities, forces, momenta, inertias, and linear maps of these."""
