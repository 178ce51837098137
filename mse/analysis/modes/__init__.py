"""Modes: dense ones, those of large models, those at zero, those of members exact in frequency."""
