"""Numerical methods without mechanics: matrices, derivatives, steps in a trust region."""
