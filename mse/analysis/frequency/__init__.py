"""Frequency response: compiled sweeps, a careful way for singular frequencies, interpolation."""
