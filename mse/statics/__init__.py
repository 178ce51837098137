"""Equilibrium: the search for a working point, its stability, equilibria along a parameter, critical loads."""
