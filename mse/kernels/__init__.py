"""Compiled loops over plain arrays. They know nothing of objects, names or systems."""
