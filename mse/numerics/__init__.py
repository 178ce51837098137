"""Numerical methods that know nothing of mechanics: matrices, derivatives, steps in a trust region."""
