"""Frequency response: compiled sweeps, pivoted solutions for singular frequencies, interpolation."""
