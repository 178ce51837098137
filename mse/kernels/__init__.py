"""Compiled loops over plain arrays, without objects, names or systems."""
